import { contentContext } from '#services/platform/mail/mail.ts';
import type { MailContent } from '#services/platform/mail/mail.ts';
import type { TestApp } from '#tests/support/app.ts';

/** A browser: it keeps cookies, names its page's origin, and comes from one address. */
export type TestBrowser = {
  cookies: Map<string, string>;
  post<Data>(path: string, body?: object, token?: string): Promise<Answer<Data>>;
  get<Data>(path: string, token?: string): Promise<Answer<Data>>;
};

export type Answer<Data> = {
  status: number;
  data: Data;
  /** What a refusal says, without the id that differs each time. */
  problem: Refusal;
  text: string;
  headers: Headers;
};

export type Refusal = {
  title: string;
  status: number;
  detail: string;
  message: string;
  code: string;
  errors: { field: string; message: string }[];
};

export function openBrowser(app: TestApp, address = '203.0.113.7'): TestBrowser {
  const cookies = new Map<string, string>();
  async function call<Data>(
    method: string,
    path: string,
    body?: object,
    token?: string,
  ): Promise<Answer<Data>> {
    const response = await app.call(path, {
      method,
      address,
      ...(body === undefined ? {} : { body }),
      ...(token === undefined ? {} : { token }),
      headers: {
        origin: app.core.publicUrl,
        'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
        ...(cookies.size === 0
          ? {}
          : { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') }),
      },
    });
    for (const line of response.headers.getSetCookie()) keep(cookies, line);
    const text = await response.text();
    const { data, request_id: _id, ...problem } = JSON.parse(text) as Record<string, unknown>;
    return {
      status: response.status,
      data: data as Data,
      problem: problem as Refusal,
      text,
      headers: response.headers,
    };
  }
  return {
    cookies,
    post: async (path, body = {}, token) => call('POST', path, body, token),
    get: async (path, token) => call('GET', path, undefined, token),
  };
}

function keep(cookies: Map<string, string>, line: string): void {
  const [pair = '', ...attributes] = line.split('; ');
  const at = pair.indexOf('=');
  const isOver = attributes.some((attribute) => attribute === 'Max-Age=0');
  if (isOver) cookies.delete(pair.slice(0, at));
  else cookies.set(pair.slice(0, at), pair.slice(at + 1));
}

export type ReadMail = MailContent & { notAfter: Date | null };

/** What waits to be sent to an address, oldest first; of one kind, if it is named. */
export async function mailsTo(app: TestApp, to: string, kind?: string): Promise<ReadMail[]> {
  const found: ReadMail[] = [];
  for await (const mail of newestMails(app))
    if (mail.to === to && (kind === undefined || mail.kind === kind)) found.unshift(mail);
  return found;
}

async function* newestMails(app: TestApp): AsyncGenerator<ReadMail> {
  await app.settled();
  const { rows } = await app.database.pool.query<{
    id: string;
    sealed: string;
    not_after: Date | null;
  }>(
    `select id, sealed, not_after from mail where sealed is not null
     order by created_at desc, id desc`,
  );
  for (const { id, sealed, not_after: notAfter } of rows) {
    const opened = await app.core.sealer.open(sealed, contentContext(id));
    if (!('erased' in opened)) yield { ...(JSON.parse(opened.text) as MailContent), notAfter };
  }
}

async function newestMail(app: TestApp, to: string, kind: string): Promise<ReadMail | null> {
  for await (const mail of newestMails(app)) if (mail.to === to && mail.kind === kind) return mail;
  return null;
}

/** The token of the newest mail of a kind, and the page that its link opens. */
export async function mailedLink(
  app: TestApp,
  to: string,
  kind: string,
): Promise<{ page: string; token: string }> {
  const mail = await newestMail(app, to, kind);
  const link = /https?:\/\/[^\s#]+(\/auth\/link\/[a-z]+)#([\w-]{43})/.exec(mail?.text ?? '');
  if (!link) throw new Error(`No link of kind ${kind} for ${to}`);
  return { page: link[1] ?? '', token: link[2] ?? '' };
}

export async function mailedToken(app: TestApp, to: string, kind: string): Promise<string> {
  return (await mailedLink(app, to, kind)).token;
}
