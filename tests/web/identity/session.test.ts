import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type * as apiModule from '#web/api/api.ts';
import type * as sessionModule from '#web/features/identity/sessions/session.ts';
import { sessionOf } from '#tests/web/support/site.ts';

/**
 * The session of one or two tabs against a server with one cookie, shared by all tabs as in a
 * browser. The locks and the channel between tabs are real; the clock is the test's.
 */
type Answer = Response | 'no answer';
type Tab = {
  session: typeof sessionModule;
  api: typeof apiModule;
  status: () => Promise<string>;
  focus: () => void;
};

let calls: string[] = [];
/** The server's replies, by method and path. */
let answers: Record<string, () => Answer | Promise<Answer>> = {};
let minted = 0;
let said: unknown[] = [];
let listener: BroadcastChannel;
const channels = new Set<BroadcastChannel>();

/** Remembers the channels, so that the tabs of one test do not reach the next. */
class ListedChannel extends BroadcastChannel {
  constructor(name: string) {
    super(name);
    channels.add(this);
  }
}

const reply = (data: unknown): Response => Response.json({ data });
const refused = (status: number): Response =>
  Response.json({ code: 'refused', message: 'Refused' }, { status });
const noSession = () => refused(401);

function signedIn(change: object = {}): Response {
  minted += 1;
  return reply({ ...sessionOf(), token: `secret-${minted}`, ...change });
}

/** A tab has its own modules and so its own state. */
async function openTab(): Promise<Tab> {
  const page = new EventTarget();
  vi.stubGlobal('addEventListener', page.addEventListener.bind(page));
  vi.stubGlobal('document', Object.assign(new EventTarget(), { visibilityState: 'visible' }));
  vi.resetModules();
  const api = await import('#web/api/api.ts');
  const session = await import('#web/features/identity/sessions/session.ts');
  session.connectSession();
  await session.restoreSession();
  return {
    api,
    session,
    status: async () => (await session.knownSession()).status,
    focus: () => page.dispatchEvent(new Event('focus')),
  };
}

const seconds = (count: number) => vi.advanceTimersByTimeAsync(count * 1_000);
const count = (call: string): number => calls.filter((one) => one === call).length;

/** Messages and locks use the event loop, which the test's clock does not move. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

beforeEach(() => {
  calls = [];
  minted = 0;
  said = [];
  answers = {
    'GET /api/auth/session': () => signedIn(),
    'POST /api/auth/refresh': () => signedIn(),
    'POST /api/auth/logout': () => reply({ ok: true }),
  };
  vi.spyOn(console, 'debug').mockReturnValue(undefined);
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'],
  });
  vi.stubGlobal('fetch', async (path: string, { method }: RequestInit) => {
    const call = `${method} ${path}`;
    calls.push(call);
    const answer = await (answers[call] ?? noSession)();
    if (answer === 'no answer') throw new TypeError('Failed to fetch');
    return answer.clone();
  });
  vi.stubGlobal('BroadcastChannel', ListedChannel);
  listener = new ListedChannel('sevenfold');
  listener.addEventListener('message', ({ data }: MessageEvent<unknown>) => said.push(data));
});

afterEach(() => {
  for (const channel of channels) channel.close();
  channels.clear();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

describe('a token that is about to end', () => {
  it('a token with 300 s or more is left alone and renewed at the next check after that', async () => {
    const tab = await openTab();
    await seconds(300);
    expect(count('POST /api/auth/refresh')).toBe(0);
    await seconds(30);
    await settled();
    expect(count('POST /api/auth/refresh')).toBe(1);
    expect(await tab.api.currentAccessToken()).toBe('secret-2');
    await seconds(270);
    expect(count('POST /api/auth/refresh')).toBe(1);
  });

  it('a token is renewed once when the page is shown again, however many events report it', async () => {
    const tab = await openTab();
    vi.setSystemTime(Date.now() + 400_000);
    tab.focus();
    tab.focus();
    await settled();
    expect(count('POST /api/auth/refresh')).toBe(1);
  });

  it('a token without a stated lifetime lasts 3600 s', async () => {
    answers['GET /api/auth/session'] = () =>
      signedIn({ expires_at: undefined, expires_in: undefined });
    await openTab();
    await seconds(3_300);
    expect(count('POST /api/auth/refresh')).toBe(0);
    await seconds(30);
    await settled();
    expect(count('POST /api/auth/refresh')).toBe(1);
  });

  it("a token's lifetime is counted from its arrival, whatever the machine's clock says", async () => {
    const { expires_at } = sessionOf();
    vi.setSystemTime(Date.now() + 86_400_000);
    answers['GET /api/auth/session'] = () => signedIn({ expires_at });
    await openTab();
    await seconds(290);
    expect(count('POST /api/auth/refresh')).toBe(0);
  });

  it('a failed renewal does not end the session, and the next check retries it', async () => {
    const tab = await openTab();
    answers['POST /api/auth/refresh'] = () => 'no answer';
    await seconds(340);
    await settled();
    await seconds(10);
    await settled();
    // A lost reply is requested again at once, while the server still recognises the repeat.
    expect(count('POST /api/auth/refresh')).toBeGreaterThanOrEqual(3);
    expect(await tab.status()).toBe('authenticated');
    answers['POST /api/auth/refresh'] = () => signedIn();
    await seconds(60);
    await settled();
    expect(await tab.api.currentAccessToken()).toBe('secret-2');
  });

  it('a refused renewal ends the session here', async () => {
    const tab = await openTab();
    answers['POST /api/auth/refresh'] = noSession;
    await seconds(330);
    await settled();
    expect(await tab.status()).toBe('expired');
    expect(await tab.api.currentAccessToken()).toBeNull();
    await seconds(600);
    expect(count('POST /api/auth/refresh')).toBe(1);
  });
});

describe('two tabs', () => {
  it('two tabs that renew at once rotate the cookie once, and the other mints its own token', async () => {
    const [first, second] = [await openTab(), await openTab()];
    expect(count('GET /api/auth/session')).toBe(2);
    const slow = Promise.withResolvers<Response>();
    answers['POST /api/auth/refresh'] = () => slow.promise;
    await seconds(330);
    await settled();
    slow.resolve(signedIn());
    await settled();
    expect(count('POST /api/auth/refresh')).toBe(1);
    expect(count('GET /api/auth/session')).toBe(3);
    expect([await first.status(), await second.status()]).toEqual([
      'authenticated',
      'authenticated',
    ]);
    expect(await first.api.currentAccessToken()).not.toBe(await second.api.currentAccessToken());
  });

  it('two tabs wait for each other before they renew', async () => {
    await openTab();
    const { promise, resolve: release } = Promise.withResolvers<void>();
    void navigator.locks.request('sevenfold.session', () => promise);
    await settled();
    await seconds(330);
    await settled();
    expect(calls).toEqual(['GET /api/auth/session']);
    release();
    await settled();
    expect(calls).toEqual(['GET /api/auth/session', 'GET /api/auth/session']);
  });

  it('two tabs never publish a token', async () => {
    const [first, second] = [await openTab(), await openTab()];
    answers['POST /api/auth/login'] = () => signedIn();
    await first.session.login({ email: 'a@b.example', password: 'x', remember_me: false });
    first.session.updateUser({ ...sessionOf().user, name: 'Ada' });
    await settled();
    second.session.logout();
    await settled();
    expect(await first.status()).toBe('anonymous');
    expect(said).toEqual(['signed-in', 'user-updated', 'signed-out']);
  });

  it("a tab drops the first user's data when another user signs in in another tab", async () => {
    const tab = await openTab();
    const emptied = vi.fn<() => void>();
    tab.session.onSessionEnd(emptied);
    answers['GET /api/auth/session'] = () =>
      signedIn({ user: { ...sessionOf().user, id: 'usr_01J00000000000000000000009' } });
    listener.postMessage('signed-in');
    await settled();
    expect(emptied).toHaveBeenCalledOnce();
  });
});

describe('another user signs in over the first', () => {
  const other = { user: { ...sessionOf().user, id: 'usr_01J00000000000000000000009' } };

  it("the first user's drafts leave the device, and the other's stay", async () => {
    const own = `sevenfold.draft.${other.user.id}.optimization`;
    vi.stubGlobal('navigator', { locks: navigator.locks, cookieEnabled: true });
    vi.stubGlobal('localStorage', {
      [`sevenfold.draft.${sessionOf().user.id}.optimization`]: 'secret',
      [own]: 'own',
      'sevenfold.consent': 'choice',
    });
    Object.defineProperty(localStorage, 'removeItem', {
      value: (key: string) => Reflect.deleteProperty(localStorage, key),
    });
    const tab = await openTab();
    expect(Object.keys(localStorage)).toHaveLength(3);
    answers['POST /api/auth/login'] = () => signedIn(other);
    await tab.session.login({ email: 'a@b.example', password: 'x', remember_me: false });
    expect(Object.keys(localStorage)).toEqual([own, 'sevenfold.consent']);
  });

  it.each([
    ['after the server refused the token', 0],
    ['before the token expires', 590],
  ])("a call of the first is not sent with the other's token, %s", async (_when, age) => {
    const tab = await openTab();
    vi.setSystemTime(Date.now() + age * 1_000);
    answers['GET /api/auth/session'] = () => signedIn(other);
    answers['PUT /api/onboarding'] = () => refused(401);
    const put = tab.api.send({ method: 'PUT', path: '/onboarding' });
    await expect(put).rejects.toMatchObject({ status: 401 });
    expect(count('PUT /api/onboarding')).toBe(age === 0 ? 1 : 0);
    expect(tab.session.sessionUserId()).toBe(other.user.id);
  });
});

describe('a logout with unsaved changes', () => {
  it('a logout waits until they are saved, and no longer than 2 s', async () => {
    const tab = await openTab();
    const saving = Promise.withResolvers<void>();
    const stop = tab.session.beforeLogout(() => saving.promise);
    tab.session.logout();
    expect(await tab.status()).toBe('authenticated');
    expect(await tab.api.currentAccessToken()).toBe('secret-1');
    saving.resolve();
    await settled();
    expect(await tab.status()).toBe('anonymous');
    stop();

    answers['POST /api/auth/login'] = () => signedIn();
    await tab.session.login({ email: 'a@b.example', password: 'x', remember_me: false });
    tab.session.beforeLogout(() => new Promise(() => {}));
    tab.session.logout();
    tab.session.logout();
    await seconds(1);
    expect(await tab.status()).toBe('authenticated');
    await seconds(1);
    expect(await tab.status()).toBe('anonymous');
    await settled();
    expect(count('POST /api/auth/logout')).toBe(2);
  });
});

describe('who is there', () => {
  it('concurrent reads of the session share one request', async () => {
    const tab = await openTab();
    calls = [];
    await Promise.all([tab.session.restoreSession(), tab.session.restoreSession()]);
    expect(calls).toHaveLength(1);
  });

  it('a visitor without a session renews nothing', async () => {
    answers['GET /api/auth/session'] = () => reply(null);
    const tab = await openTab();
    expect(await tab.status()).toBe('anonymous');
    await seconds(4_000);
    expect(calls).toEqual(['GET /api/auth/session']);
  });

  it('a reply that arrives after the logout does not restore the session', async () => {
    const tab = await openTab();
    const late = Promise.withResolvers<Response>();
    answers['GET /api/auth/session'] = () => late.promise;
    const asked = tab.session.restoreSession();
    tab.session.logout();
    late.resolve(signedIn());
    expect((await asked).status).toBe('anonymous');
    expect(await tab.api.currentAccessToken()).toBeNull();
  });

  it('a sign-in wins over an older request that is still open', async () => {
    answers['GET /api/auth/session'] = () => reply(null);
    const tab = await openTab();
    const late = Promise.withResolvers<Response>();
    answers['GET /api/auth/session'] = () => late.promise;
    const asked = tab.session.restoreSession();
    answers['POST /api/auth/login'] = () => signedIn();
    await tab.session.login({ email: 'a@b.example', password: 'x', remember_me: false });
    late.resolve(reply(null));
    expect((await asked).status).toBe('authenticated');
  });

  it('a logout takes effect at once, and the server is notified until it responds', async () => {
    const tab = await openTab();
    answers['POST /api/auth/logout'] = () => 'no answer';
    tab.session.logout();
    expect(await tab.status()).toBe('anonymous');
    await seconds(3);
    answers['POST /api/auth/logout'] = () => reply({ ok: true });
    await seconds(10);
    const notified = count('POST /api/auth/logout');
    expect(notified).toBeGreaterThanOrEqual(2);
    await seconds(300);
    expect(count('POST /api/auth/logout')).toBe(notified);
  });

  it('a session that resumes repeats what had failed meanwhile', async () => {
    const tab = await openTab();
    const resumed = vi.fn<() => void>();
    tab.session.onSessionResume(resumed);
    answers['GET /api/auth/session'] = () => reply(null);
    await tab.session.restoreSession();
    expect(await tab.status()).toBe('expired');
    answers['POST /api/auth/login'] = () => signedIn();
    await tab.session.login({ email: 'a@b.example', password: 'x', remember_me: false });
    expect(await tab.status()).toBe('authenticated');
    expect(resumed).toHaveBeenCalledOnce();
  });

  it('the console shows session events without a name or a token', async () => {
    const lines: string[] = [];
    vi.spyOn(console, 'debug').mockImplementation((line: string) => lines.push(line));
    const tab = await openTab();
    await seconds(330);
    await settled();
    tab.session.updateUser(sessionOf().user);
    tab.session.updateUser({ ...sessionOf().user, name: 'Grace Example' });
    answers['POST /api/auth/password/reset'] = () => signedIn();
    const { resetPassword } = await import('#web/features/identity/links/link-calls.ts');
    await resetPassword({ token: 'a'.repeat(43), password: 'Correct1horse' });
    tab.session.logout();
    expect(lines).toEqual([
      'Session: signed in',
      'Session: token refreshed',
      'Session: user updated',
      'Session: password recovery',
      'Session: token refreshed',
      'Session: signed out',
    ]);
  });
});
