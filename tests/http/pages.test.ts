import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answerError, createRouter, requestLog } from '#services/platform/http/http.ts';
import { createLog } from '#services/platform/process/log.ts';
import { securityHeaders } from '#services/platform/http/security-headers.ts';
import { webPages } from '#services/http/pages.ts';
import { choicePattern } from '#web/consent/cookie.ts';

let folder: string;
let announced = '';
let app: ReturnType<typeof createRouter>;
let request: (path: string, headers?: Record<string, string>) => Promise<Response>;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sevenfold-pages-'));
  const dist = join(folder, 'dist');
  mkdirSync(join(dist, 'assets'), { recursive: true });
  const page =
    '<html lang="en"><body><!--announced--><!--ask-->May we?<!--/ask-->A page</body></html>';
  for (const name of ['index', 'app', 'not-found'])
    writeFileSync(join(dist, `${name}.html`), `<!-- ${name} -->${page}`);
  writeFileSync(join(dist, 'assets/main-1a2b.js'), 'export {};');
  writeFileSync(join(dist, 'mark.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
  writeFileSync(join(folder, 'secret.json'), '{"secret":true}');
  writeFileSync(
    join(dist, 'pages.json'),
    JSON.stringify({
      pages: { '/': { file: 'index.html', status: 200, styleHash: 'sha256-home' } },
      application: {
        file: 'app.html',
        status: 200,
        styleHash: 'sha256-app',
        paths: ['/optimizations/$id'],
      },
      notFound: { file: 'not-found.html', status: 404, styleHash: 'sha256-missing' },
      htmlTag: '<html lang="en">',
      announcementMark: '<!--announced-->',
      consent: { begin: '<!--ask-->', end: '<!--/ask-->', choice: choicePattern('1') },
      immutablePrefix: '/assets/',
    }),
  );
  app = createRouter()
    .use(
      requestLog(createLog({ level: 'silent', process: 'test' })),
      securityHeaders({ isHttps: false }),
    )
    .route(
      '/',
      webPages({
        dist,
        isLocal: true,
        publicUrl: 'http://localhost',
        analyticsUrl: 'https://stats.example:8443/a/script.js',
        announcement: async () => announced,
      }),
    );
  app.onError((error, context) => answerError(error, context));
  request = async (path, headers = {}) => app.request(`http://localhost${path}`, { headers });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a file is served under its own address, and cached for a year when its name holds a hash', async () => {
  const script = await request('/assets/main-1a2b.js');
  expect(script.status).toBe(200);
  expect(script.headers.get('cache-control')).toContain('immutable');
  const mark = await request('/mark.svg');
  expect(mark.headers.get('cache-control')).toBe('no-cache');
  expect(mark.headers.get('x-content-type-options')).toBe('nosniff');
  const etag = mark.headers.get('etag') ?? '';
  expect((await request('/mark.svg', { 'if-none-match': etag })).status).toBe(304);
});

test('the other name of this machine redirects to the name in links, with path and parameters', async () => {
  const other = await app.request('http://127.0.0.1/optimizations/opt_1?view=table');
  expect(other.status).toBe(302);
  expect(other.headers.get('location')).toBe('http://localhost/optimizations/opt_1?view=table');
  for (const elsewhere of ['http://127.0.0.1:4000/', 'http://sevenfold.example/'])
    expect((await app.request(elsewhere)).status).toBe(200);
});

test('a long run of slashes takes no longer than other addresses of its length', async () => {
  const slashes = '/'.repeat(100_000);
  for (const [path, status] of [
    [`${slashes}x`, 404],
    [`/optimizations/opt_1${slashes}`, 200],
    [slashes, 200],
  ] as const) {
    // Processor time of this thread, because the machine may be busy.
    const before = process.threadCpuUsage();
    expect((await request(path)).status).toBe(status);
    expect(process.threadCpuUsage(before).user / 1000).toBeLessThan(50);
  }
});

describe('a missing page', () => {
  test.each([
    ['with the character NUL', '/%00.js'],
    ['with a name longer than a file may have', `/${'a'.repeat(300)}.js`],
    ['with more folders than a path may have', `/${'a/'.repeat(3000)}x.js`],
    ['below a file', '/assets/main-1a2b.js/x.js'],
    ['that is a folder', '/assets'],
    ['outside the pages', '/..%2fsecret.json'],
    ['outside the pages by another way', '/assets/..%2f..%2fsecret.json'],
    ['with backslashes', '/..%5csecret.json'],
    ['with broken escapes', '/%E0%A4%A.js'],
    ['that is the list of pages', '/pages.json'],
    ['that is the list of pages, escaped', '/pages%2ejson'],
    ['that is the list of pages, with a second slash', '//pages.json'],
    ['that is the source of a page', '/index.html'],
    ['with a second slash', '/assets//main-1a2b.js'],
    ['by a detour', '/assets/..%2fassets/main-1a2b.js'],
    ['named like a part of every object', '/x.constructor'],
  ])('an address %s has no page', async (_what, path) => {
    const response = await request(path);
    expect(response.status).toBe(404);
    expect(await response.text()).toContain('<!-- not-found -->');
  });
});

test('the pages are sent in the chosen theme, motion and density', async () => {
  const cookie = 'sf_theme=dark; sf_motion=reduced; sf_density=compact';
  const page = await (await request('/', { cookie })).text();
  expect(page).toContain(' data-theme="dark" data-motion="reduced" data-density="compact"');
});

test('an unknown theme in the cookie leaves no trace in the page', async () => {
  const page = await (await request('/', { cookie: 'sf_theme=dark"><script>' })).text();
  expect(page).not.toContain('script');
  expect(page).toContain('data-mode="local"');
});

test.each([
  ['no choice', '', true],
  ['a choice', 'sf_consent=1.f', false],
  ['a choice among other cookies', 'sf_theme=dark; sf_consent=1.fa; sf_motion=full', false],
  ['a refusal', 'sf_consent=1.-', false],
  ['a choice about another version', 'sf_consent=1a.f', true],
  ['a choice in quotes', 'sf_consent="1.f"', true],
  ['an escaped choice', 'sf_consent=%31.f', true],
  ['an unknown letter', 'sf_consent=1.fm', true],
  ['nothing after the version', 'sf_consent=1.', true],
  ['the choice of another name', 'not_sf_consent=1.f', true],
])(
  'a visitor with %s in the cookie gets the page with or without the banner',
  async (_, cookie, asks) => {
    const page = await (await request('/', { cookie })).text();
    expect(page.includes('May we?')).toBe(asks);
    expect(page).toContain('A page</body>');
  },
);

test('the content policy allows the analytics of the operator by origin, and no other script', async () => {
  const policy = (await request('/')).headers.get('content-security-policy') ?? '';
  expect(policy).toContain("script-src 'self' https://stats.example:8443;");
  expect(policy).toContain("connect-src 'self' https://stats.example:8443;");
});

test.each([
  ['/', 'sha256-home'],
  ['/optimizations/opt_1', 'sha256-app'],
  ['/nowhere', 'sha256-missing'],
])('the content policy of %s allows the inlined style of this page alone', async (path, hash) => {
  const policy = (await request(path)).headers.get('content-security-policy') ?? '';
  expect(policy).toContain(`style-src 'self' '${hash}';`);
});

test('an announcement is part of every page', async () => {
  announced = '<aside>It changes for $& dollars</aside>';
  for (const path of ['/', '/optimizations/opt_1', '/nowhere'])
    expect(await (await request(path)).text()).toContain(`<body>${announced}`);
  announced = '';
});
