import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join, matchesGlob } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { softwareVersion } from '#services/platform/process/software.ts';
import { freePort } from '#services/platform/process/listen.ts';
import { pdf } from '#tests/optimizations/files/made.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';
import { createTestMailbox } from '#tests/support/mail.ts';
import { testPassword } from '#tests/support/password.ts';
import { eventually, temporaryFolder } from '#tests/support/processes/processes.ts';
import { variablesOf } from '#tests/support/variables.ts';
import type { Settings } from '#tests/support/variables.ts';

/**
 * The files of the image without Docker: what the Dockerfile copies out of what .dockerignore leaves, with
 * the packages that it installs. They run as in the container: in production, as a user who may write none.
 */
const root = join(import.meta.dirname, '../..');
/** Root may write everything, so it starts them as nobody. */
const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

const started = new AsyncDisposableStack();
let image: string;
let node: string;
let database: TestDatabase;
let settings: Settings;
let url: string;

type Stage = { installs: string; copies: { from: string; files: string[]; to: string }[] };

/** The two stages of the Dockerfile, each with its `npm ci` and what it copies. */
function stagesOf(dockerfile: string): Stage[] {
  return dockerfile
    .split(/^FROM .*$/m)
    .slice(1)
    .map((text) => ({
      installs: /npm (ci(?: --[\w=-]+)+)/.exec(text)?.[1] ?? '',
      copies: [...text.matchAll(/^COPY (?:--from=(\w+) )?(.*) (\S+)$/gm)].map(
        ([, from = 'context', files = '', to = '']) => ({ from, files: files.split(' '), to }),
      ),
    }));
}

/** What Docker gets to see: the files of the repository that .dockerignore leaves. */
function contextFiles(): string[] {
  const rules = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n').filter(Boolean);
  const isIgnored = (file: string) =>
    rules.reduce((ignored, rule) => {
      const pattern = rule.replace(/^!/, '');
      const isMeant = matchesGlob(file, pattern) || matchesGlob(file, `${pattern}/**`);
      return isMeant ? !rule.startsWith('!') : ignored;
    }, false);
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  return listed
    .split('\n')
    .filter((file) => existsSync(join(root, file)) && !isIgnored(file) && file !== '');
}

function copyInto(folder: string, from: string, files: readonly string[], to: string): void {
  for (const file of files) {
    const isFolder = to.endsWith('/') || to === '.';
    const target = join(folder, to, isFolder ? file.split('/').at(-1)! : '');
    mkdirSync(dirname(target), { recursive: true });
    cpSync(join(from, file), target, { recursive: true });
  }
}

function install(folder: string, command: string): void {
  execFileSync('npm', [...command.split(' '), '--prefer-offline', '--loglevel=error'], {
    cwd: folder,
  });
}

/** As `docker build` does it. */
function build(folder: string): string {
  const [first, second] = stagesOf(readFileSync(join(root, 'Dockerfile'), 'utf8'));
  const places = { context: join(folder, 'context'), build: join(folder, 'build') };
  for (const file of contextFiles()) copyInto(places.context, root, [file], dirname(file) + '/');
  copyInto(places.build, places.context, ['package.json', 'package-lock.json', '.npmrc'], './');
  install(places.build, first!.installs);
  cpSync(places.context, places.build, { recursive: true });
  execFileSync(process.execPath, ['web/build.ts'], { cwd: places.build, env: variablesOf({}) });

  const app = join(folder, 'app');
  for (const { from, files, to } of second!.copies) {
    const place = from === 'build' ? places.build : places.context;
    const wanted = files
      .map((file) => file.replace('/app/', ''))
      .filter(
        (file) => !file.includes('[') || existsSync(join(place, file.replaceAll(/[[\]]/g, ''))),
      );
    copyInto(app, place, wanted, to);
  }
  // After the copies here, since npm would remove the package that is added by hand.
  const added = join(app, 'node_modules/@img');
  cpSync(added, join(folder, 'img'), { recursive: true });
  install(app, second!.installs);
  cpSync(join(folder, 'img'), added, { recursive: true });
  execFileSync('chmod', ['-R', 'a-w,a+rX', app]);
  return app;
}

function start(file: string, more: Settings = {}): ChildProcess {
  const child = spawn(node, [join(image, file)], {
    cwd: image,
    env: { ...variablesOf({ ...settings, ...more }), NODE_COMPILE_CACHE: '' },
    stdio: ['ignore', 'inherit', 'inherit'],
    ...nobody,
  });
  started.defer(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  });
  return child;
}

async function codeOf(file: string, more: Settings = {}): Promise<number | null> {
  const [code] = (await once(start(file, more), 'exit')) as [number | null];
  return code;
}

beforeAll(async () => {
  const folder = temporaryFolder();
  started.defer(() => {
    execFileSync('chmod', ['-R', 'u+w', folder.path]);
    folder.remove();
  });
  image = build(folder.path);
  node = join(folder.path, 'node');
  copyFileSync(process.execPath, node);
  database = await createTestDatabase();
  started.defer(async () => database.drop());
  const mailbox = await createTestMailbox();
  started.defer(async () => mailbox.close());
  // The volume, which the user of the image may write.
  const erasures = join(folder.path, 'erasures');
  mkdirSync(erasures);
  chmodSync(erasures, 0o777);
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  settings = {
    NODE_ENV: 'production',
    PORT: String(port),
    HOST: '127.0.0.1',
    DATABASE_URL: database.appUrl,
    PUBLIC_URL: 'https://localhost',
    TRUSTED_PROXY_HOPS: '1',
    ERASURE_LOG: join(erasures, 'erasures.ndjson'),
    DATA_KEY: randomBytes(32).toString('base64'),
    JWT_KEYS: randomBytes(32).toString('base64'),
    MAIL_FROM: 'operator@example.com',
    CONTACT_EMAIL: 'operator@example.com',
    SMTP_URL: mailbox.smtpUrl,
    REQUIRE_EMAIL_CONFIRMATION: 'false',
  };
}, 1_800_000);
afterAll(async () => started.disposeAsync(), 120_000);

const page = async (path: string) => fetch(`${url}${path}`, { headers: { accept: 'text/html' } });

test('the files of the image migrate, serve every page and guide, take a file, and work', async () => {
  expect(await codeOf('services/migrate.ts', { MIGRATE_DATABASE_URL: database.ownerUrl })).toBe(0);
  // Before a worker runs there is none to be healthy.
  expect(await codeOf('services/worker-health.ts')).toBe(1);
  start('services/api.ts');
  start('services/worker.ts');
  await eventually('readiness', async () => (await fetch(`${url}/api/ready`)).status === 200);
  expect(await codeOf('services/worker-health.ts')).toBe(0);
  const health = (await (await fetch(`${url}/api/health`)).json()) as { data: { version: string } };
  expect(health.data.version).toBe(softwareVersion);

  for (const path of [
    '/',
    '/login',
    '/method',
    '/help',
    '/api-docs',
    '/api-docs/live',
    '/api-docs/programs',
  ]) {
    const response = await page(path);
    expect([path, response.status, await response.text()]).toEqual([
      path,
      200,
      expect.stringContaining('</html>'),
    ]);
  }
  const script = /(?:src|href)="(\/assets\/[^"]+\.(?:js|css))"/.exec(
    await (await page('/')).text(),
  )?.[1];
  expect((await fetch(`${url}${script}`)).status).toBe(200);
  for (const path of [
    '/api/openapi.json',
    '/api-docs/swagger-ui.css',
    '/api/optimizations/strategies',
  ])
    expect([path, (await fetch(`${url}${path}`)).status]).toEqual([path, 200]);

  const signedUp = await fetch(`${url}/api/auth/signup`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'A Person', email: 'person@example.com', password: testPassword }),
  });
  expect(signedUp.status).toBe(201);
  const { data } = (await signedUp.json()) as { data: { token: string } };
  const form = new FormData();
  form.set('file', new File([Uint8Array.from(pdf(['Rent: 2,250']))], 'rent.pdf'));
  const file = await fetch(`${url}/api/optimizations/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${data.token}` },
    body: form,
  });
  expect([file.status, await file.text()]).toEqual([200, expect.stringContaining('Rent: 2,250')]);
  expect(await codeOf('services/cli/main.ts')).toBe(0);
});
