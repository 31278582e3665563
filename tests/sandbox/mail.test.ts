import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { createTransport } from 'nodemailer';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { listen, stopListening } from '#services/platform/process/listen.ts';
import { startMailCatcher } from '#services/sandbox/mail/mail-catcher.ts';
import type { MailCatcher, MailTrouble } from '#services/sandbox/mail/mail-catcher.ts';
import { createMailbox } from '#services/sandbox/mail/mailbox.ts';
import type { CaughtMail, Mailbox } from '#services/sandbox/mail/mailbox.ts';
import { mailboxPages } from '#services/sandbox/mail/mailbox-pages.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';

/** The mail server of local mode and its mailbox, for clients and for people. */
let directory: string;
let mailbox: Mailbox;
let trouble: MailTrouble;
let catcher: MailCatcher;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sevenfold-mailbox-'));
  mailbox = createMailbox(join(directory, 'mail'));
  trouble = {};
  catcher = await startMailCatcher({ mailbox, trouble });
});

afterEach(async () => {
  await catcher.close();
  rmSync(directory, { recursive: true, force: true });
});

type Sent = {
  to: string | string[];
  subject?: string;
  text?: string;
  html?: string;
  from?: string;
};

async function send(mail: Sent): Promise<void> {
  const transport = createTransport(catcher.url);
  await transport.sendMail({ from: 'Shop <shop@example.com>', subject: 'Hi', text: 'Hi', ...mail });
}

describe('the mail catcher', () => {
  test('the mail catcher keeps every mail, newest first, and finds it by address in any case', async () => {
    await send({ to: 'ann@example.com', subject: 'First' });
    await send({
      to: ['Bob@Example.com', 'carl@example.com'],
      subject: 'Second',
      html: '<p>Hi</p>',
    });
    const all = await mailbox.list();
    expect(all).toMatchObject([
      { to: 'Bob@example.com, carl@example.com', subject: 'Second', html: '<p>Hi</p>\n' },
      { to: 'ann@example.com', from: 'Shop <shop@example.com>', subject: 'First', text: 'Hi\n' },
    ]);
    expect(await mailbox.list('bob@example.COM')).toEqual([all[0]]);
    expect(await mailbox.list('carl@example.com')).toEqual([all[0]]);
    expect(await mailbox.list('arl@example.com')).toEqual([]);
    expect(await mailbox.find(all[1]?.id ?? '')).toEqual(all[1]);
  });

  test('the mail catcher keeps its mail and its port over a restart', async () => {
    await send({ to: 'ann@example.com' });
    const { url } = catcher;
    await catcher.close();
    mailbox = createMailbox(join(directory, 'mail'));
    catcher = await startMailCatcher({ mailbox, trouble, port: Number(new URL(url).port) });
    expect(catcher.url).toBe(url);
    expect(await mailbox.list()).toHaveLength(1);
    await send({ to: 'ann@example.com' });
    expect(await mailbox.list()).toHaveLength(2);
  });

  test('the mail catcher keeps the last 500 mails, readable only by its own user', async () => {
    const mail = { to: 'a@example.com', from: '', subject: '', text: '', html: '', message_id: '' };
    for (let count = 0; count < 505; count += 1)
      await mailbox.keep({ ...mail, subject: String(count) });
    const kept = await mailbox.list();
    expect(kept).toHaveLength(500);
    expect([kept[0]?.subject, kept.at(-1)?.subject]).toEqual(['504', '5']);
    const folder = join(directory, 'mail');
    expect(readdirSync(folder)).toHaveLength(500);
    expect(statSync(folder).mode & 0o077).toBe(0);
    await mailbox.clear();
    expect(await mailbox.list()).toEqual([]);
  });

  test('the mailbox reads only its own files', async () => {
    for (const id of ['../keys/data.key', '..%2f', '', 'x'.repeat(5_000)])
      expect(await mailbox.find(id)).toBeNull();
  });

  test('the mail catcher fails in the ways that its settings name', async () => {
    trouble.greylist = 1;
    trouble.refuse = ['nobody@example.com'];
    await expect(send({ to: 'nobody@example.com' })).rejects.toMatchObject({ responseCode: 550 });
    await expect(send({ to: 'ann@example.com' })).rejects.toMatchObject({ responseCode: 450 });
    trouble.refuseContent = 1;
    await expect(send({ to: 'ann@example.com' })).rejects.toMatchObject({ responseCode: 451 });
    trouble.afterData = 'drop';
    await expect(send({ to: 'ann@example.com' })).rejects.toMatchObject({ code: 'ECONNECTION' });
    expect(await mailbox.list()).toHaveLength(1);
  });
});

describe('the mailbox', () => {
  let app: TestApp;
  let server: ReturnType<typeof createServer>;
  let folder: string;
  let shown: Mailbox;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sevenfold-shown-'));
    shown = createMailbox(folder);
    const show = getRequestListener(mailboxPages(shown, 'Sevenfold').fetch);
    server = createServer((request, response) => void show(request, response));
    const url = await listen(server, { host: '127.0.0.1', port: 0 });
    app = await createTestApp({ env: { SANDBOX_URL: url } });
  });
  afterAll(async () => {
    await app.close();
    await stopListening(server);
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(async () => shown.clear());

  const keep = async (mail: Partial<CaughtMail> = {}) =>
    shown.keep({
      to: 'ann@example.com',
      from: 'Sevenfold <no-reply@localhost>',
      subject: 'Confirm your address',
      text: 'Hello\n\nhttp://localhost:3000/auth/link/confirm#token\n',
      html: '<h1>Hello</h1><a href="http://localhost:3000/auth/link/confirm#token">Go</a>',
      message_id: '<mai_1@localhost>',
      ...mail,
    });
  const open = async (path: string, init: RequestInit) =>
    app.app.request(`http://localhost${path}`, init);
  const json = { accept: 'application/json' };
  const page = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

  test('the mailbox answers in JSON when the request asks for JSON', async () => {
    const first = await keep();
    const second = await keep({ to: 'bob@example.com' });
    const all = await open('/dev/mail', { headers: json });
    expect(all.headers.get('content-type')).toMatch(/^application\/json/);
    expect(all.headers.get('cache-control')).toBe('no-store');
    expect(await all.json()).toEqual([second, first]);
    const some = await open('/dev/mail?to=ANN@example.com', { headers: json });
    expect(await some.json()).toEqual([first]);
    const none = await open('/dev/mail?to=nn@example.com', { headers: json });
    expect(await none.json()).toEqual([]);
  });

  test('the mailbox answers a browser with a page, which says so when it is empty', async () => {
    const empty = await open('/dev/mail', { headers: page });
    expect(empty.headers.get('content-type')).toMatch(/^text\/html/);
    expect(await empty.text()).toContain('No emails yet.');
    const mail = await keep();
    const list = await (await open('/dev/mail', { headers: page })).text();
    expect(list).toContain(`<a href="/dev/mail/${mail.id}">Confirm your address</a>`);
    const other = await open('/dev/mail?to=bob@example.com', { headers: page });
    expect(await other.text()).toContain('No emails to bob@example.com.');
  });

  test('the mailbox shows one mail with its text, its links, and its HTML in a frame', async () => {
    const mail = await keep();
    const html = await (await open(`/dev/mail/${mail.id}`, { headers: page })).text();
    expect(html).toContain('href="http://localhost:3000/auth/link/confirm#token"');
    expect(html).toContain(`src="/dev/mail/${mail.id}/html"`);
    expect(html).toContain('sandbox="allow-popups allow-popups-to-escape-sandbox"');
    const frame = await open(`/dev/mail/${mail.id}/html`, { headers: page });
    expect(await frame.text()).toBe(`<base target="_blank">${mail.html}`);
    expect(frame.headers.get('content-security-policy')).toMatch(
      /^sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'/,
    );
  });

  test("the mailbox answers 404 on the sandbox's own port to a request with a foreign host name", async () => {
    await keep();
    const direct = mailboxPages(shown, 'Sevenfold');
    const ask = async (host: string, method: string) =>
      (await direct.request(`http://${host}/dev/mail`, { method, headers: json })).status;
    for (const host of ['evil.example', '127.0.0.1.evil.example:41234', '192.0.2.1'])
      expect([await ask(host, 'GET'), await ask(host, 'DELETE')]).toEqual([404, 404]);
    expect(await shown.list()).toHaveLength(1);
    for (const host of ['127.0.0.1:41234', 'localhost', '[::1]:41234'])
      expect(await ask(host, 'GET')).toBe(200);
  });

  test('the mailbox runs no script from a mail', async () => {
    const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>'`;
    const mail = await keep({
      subject: evil,
      from: evil,
      to: evil,
      message_id: evil,
      text: `${evil} javascript:alert(1) https://example.com/"onclick="x`,
      html: '<script>parent.location="https://evil.example"</script>',
    });
    for (const path of [
      '/dev/mail',
      `/dev/mail?to=${encodeURIComponent(evil)}`,
      `/dev/mail/${mail.id}`,
    ]) {
      const response = await open(path, { headers: page });
      const policy = response.headers.get('content-security-policy');
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toContain('unsafe-inline');
      expect(policy).not.toContain('script-src');
      const html = await response.text();
      expect(html).not.toMatch(/<script|<img|javascript:[^<]*"|onclick="x/);
    }
    const frame = await open(`/dev/mail/${mail.id}/html`, { headers: page });
    expect(frame.headers.get('content-security-policy')).not.toMatch(
      /allow-scripts|allow-same-origin|script-src/,
    );
  });

  test('the mailbox answers 404 under other addresses', async () => {
    for (const path of ['/dev/mail/nothing', '/dev/mail/%2e%2e', '/dev/other', '/dev'])
      expect((await open(path, { headers: page })).status).toBe(404);
  });

  test('the mailbox is emptied by DELETE', async () => {
    await keep();
    const response = await open('/dev/mail', { method: 'DELETE', headers: json });
    expect(response.status).toBe(200);
    expect(await shown.list()).toEqual([]);
  });

  test("the mailbox is shown under the product's own host names, and not to pages of other sites", async () => {
    await keep();
    const rebound = await app.app.request('http://evil.example/dev/mail', { headers: json });
    expect(rebound.status).toBe(404);
    const framed = { ...json, 'sec-fetch-site': 'cross-site' };
    expect((await open('/dev/mail', { headers: framed })).status).toBe(404);
  });

  test('the mailbox does not exist in production', async () => {
    const production = await createTestApp({
      env: {
        MODE: 'production',
        SANDBOX_URL: '',
        DATA_KEY: Buffer.alloc(32, 1).toString('base64'),
        JWT_KEYS: Buffer.alloc(32, 2).toString('base64'),
        MAIL_FROM: 'Sevenfold <no-reply@example.com>',
        CONTACT_EMAIL: 'help@example.com',
        PUBLIC_URL: 'https://example.com',
        ERASURE_LOG: '/none/erasures.ndjson',
      },
    });
    for (const path of ['/dev/mail', '/dev/mail/1', '/dev/mail/1/html']) {
      const response = await production.app.request(`https://example.com${path}`, {
        headers: json,
      });
      expect(response.status).toBe(404);
    }
    expect(production.app.routes.some(({ path }) => path.startsWith('/dev'))).toBe(false);
    await production.close();
  });

  test('the mailbox answers 503 while the sandbox is unavailable', async () => {
    const alone = await createTestApp();
    const response = await alone.app.request('http://localhost/dev/mail', { headers: json });
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('1');
    await alone.close();
  });
});
