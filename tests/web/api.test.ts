import * as v from 'valibot';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  ApiProblem,
  currentAccessToken,
  read,
  readPage,
  renewAccessTokenWith,
  setAccessToken,
  write,
} from '#web/api/api.ts';
import { upload } from '#web/api/files.ts';

type Answer = Response | Error;

const Balance = v.object({ available_credits: v.number() });
const Anything = v.unknown();
const question = { challenge: 'x', strategy: 'balanced' } as const;
const credentials = { email: 'a@example.com', password: 'Secret-1234' };
const person = { ...credentials, name: 'A Person' };
const soon = (seconds: number): string => new Date(Date.now() + seconds * 1000).toISOString();

function json(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return Response.json(body, { status, headers });
}

/** Answers the calls in turn, repeats the last reply, and records the calls. */
function network(...answers: Answer[]): Request[] {
  const requests: Request[] = [];
  vi.stubGlobal('fetch', async (input: string, init: RequestInit) => {
    requests.push(new Request(`http://localhost${input}`, init));
    const answer = answers[Math.min(requests.length, answers.length) - 1];
    if (answer === undefined || answer instanceof Error) throw answer ?? new TypeError('no answer');
    return answer.clone();
  });
  return requests;
}

async function failure(call: Promise<unknown>): Promise<ApiProblem> {
  const error: unknown = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApiProblem)) throw new Error('Expected an ApiProblem');
  return error;
}

beforeEach(() => {
  setAccessToken(null);
  renewAccessTokenWith(async () => undefined);
  vi.spyOn(console, 'error').mockReturnValue(undefined);
  // Delays between attempts pass at once: only the number of attempts is tested.
  vi.stubGlobal('setTimeout', (callback: () => void) => {
    queueMicrotask(callback);
    return 0;
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

describe('reading', () => {
  it('a read sends the token and returns the data', async () => {
    setAccessToken({ token: 'abc', expires_at: soon(600) });
    const requests = network(json(200, { data: { available_credits: 10 } }));
    expect(await read('/credits/balance', Balance)).toEqual({ available_credits: 10 });
    expect(requests[0]?.headers.get('authorization')).toBe('Bearer abc');
    expect(requests[0]?.headers.get('idempotency-key')).toBeNull();
  });

  it('a read leaves undefined values out of the query', async () => {
    const requests = network(json(200, { data: { available_credits: 1 } }));
    await read('/credits/history', Anything, { query: { limit: 50, before: undefined } });
    expect(requests[0]?.url).toBe('http://localhost/api/credits/history?limit=50');
  });

  it('a read of a list keeps its pagination', async () => {
    const pagination = { page: 1, limit: 10, total: 1, total_pages: 1 };
    network(json(200, { data: [{ available_credits: 1 }], pagination }));
    expect(await readPage('/optimizations', Anything)).toEqual({
      data: [{ available_credits: 1 }],
      pagination,
    });
  });

  it('a read without a response is attempted three times and then has status 0', async () => {
    const requests = network(new TypeError('Failed to fetch'));
    const problem = await failure(read('/credits/balance', Balance));
    expect(problem).toMatchObject({
      status: 0,
      code: 'network',
      message: 'Network error occurred',
    });
    expect(requests).toHaveLength(3);
  });

  it('a read succeeds when its third attempt does', async () => {
    network(
      new TypeError('Failed to fetch'),
      json(503, { code: 'unavailable', message: 'Later' }),
      json(200, { data: { available_credits: 3 } }),
    );
    expect(await read('/credits/balance', Balance)).toEqual({ available_credits: 3 });
  });

  it('a read that the server refused is not repeated', async () => {
    const requests = network(json(404, { code: 'not-found', message: 'Not found' }));
    expect(await failure(read('/optimizations/opt_1', Anything))).toMatchObject({ status: 404 });
    expect(requests).toHaveLength(1);
  });

  it('a read refuses a reply that breaks its contract', async () => {
    network(json(200, { data: { available_credits: 'many' } }));
    expect(await failure(read('/credits/balance', Balance))).toMatchObject({
      status: 0,
      code: 'unreadable-reply',
    });
  });
});

describe('a refusal', () => {
  it('a refusal carries code, sentence, fields, request id and figures of the problem document', async () => {
    network(
      json(402, {
        type: 'about:blank',
        code: 'insufficient-credits',
        message: 'Insufficient credits',
        errors: [{ field: 'strategy', message: 'Costs 14' }],
        request_id: 'req_1',
        shortfall: 4,
      }),
    );
    const problem = await failure(write('POST', '/optimizations', question, Anything));
    expect(problem).toMatchObject({
      status: 402,
      code: 'insufficient-credits',
      message: 'Insufficient credits',
      errors: [{ field: 'strategy', message: 'Costs 14' }],
      request_id: 'req_1',
    });
    expect(problem.members['shortfall']).toBe(4);
  });

  it('a refusal uses the sentence for users where the message contains keywords for programs', async () => {
    network(
      json(409, {
        code: 'email-in-use',
        title: 'Email already in use',
        detail: 'An account with this email already exists. Try signing in instead.',
        message: 'This email is already registered. Try signing in instead.',
      }),
    );
    expect(await failure(write('POST', '/auth/signup', person, Anything))).toMatchObject({
      title: 'Email already in use',
      message: 'An account with this email already exists. Try signing in instead.',
    });
  });

  it('a refusal by a proxy that sends a page is still a refusal', async () => {
    network(new Response('<h1>Bad gateway</h1>', { status: 502 }));
    expect(await failure(write('POST', '/optimizations', question, Anything))).toMatchObject({
      status: 502,
      message: 'Request failed',
    });
  });

  it('a refusal carries the seconds to wait', async () => {
    network(json(429, { code: 'rate-limited', message: 'Wait' }, { 'retry-after': '42' }));
    expect(await failure(write('POST', '/auth/login', credentials, Anything))).toMatchObject({
      retryAfterSeconds: 42,
    });
  });
});

describe('writing', () => {
  it('a write sends JSON with a new key each time', async () => {
    const requests = network(json(201, { data: { available_credits: 1 } }));
    await write('POST', '/optimizations', question, Anything);
    await write('POST', '/optimizations', question, Anything);
    const keys = requests.map((request) => request.headers.get('idempotency-key'));
    expect(new Set(keys).size).toBe(2);
    expect(await requests[0]?.json()).toEqual(question);
  });

  it('a write uses the given key, so that the same intent happens once', async () => {
    const requests = network(json(201, { data: { available_credits: 1 } }));
    await write('POST', '/optimizations', question, Anything, { key: 'k1' });
    expect(requests[0]?.headers.get('idempotency-key')).toBe('k1');
  });

  it('an upload sends the file byte for byte', async () => {
    const requests = network(json(200, { data: { available_credits: 1 } }));
    const picture = new Blob([new Uint8Array([1, 2, 3])], { type: 'image/webp' });
    await upload('PUT', '/users/me/avatar', picture, Anything);
    expect(requests[0]?.method).toBe('PUT');
    expect(requests[0]?.headers.get('content-type')).toBe('image/webp');
    expect(new Uint8Array((await requests[0]?.arrayBuffer()) ?? [])).toEqual(
      new Uint8Array([1, 2, 3]),
    );
  });

  it('a write is never repeated automatically', async () => {
    const requests = network(new TypeError('Failed to fetch'));
    await failure(write('POST', '/optimizations', question, Anything));
    expect(requests).toHaveLength(1);
  });
});

describe('the access token', () => {
  it('the access token is renewed before it expires', async () => {
    setAccessToken({ token: 'old', expires_at: soon(10) });
    renewAccessTokenWith(async () => setAccessToken({ token: 'new', expires_at: soon(600) }));
    expect(await currentAccessToken()).toBe('new');
  });

  it('the access token is renewed once when the server refuses it', async () => {
    setAccessToken({ token: 'old', expires_at: soon(600) });
    renewAccessTokenWith(async () => setAccessToken({ token: 'new', expires_at: soon(600) }));
    const requests = network(
      json(401, { code: 'authentication-required', message: 'Authentication required' }),
      json(200, { data: { available_credits: 7 } }),
    );
    expect(await read('/credits/balance', Balance)).toEqual({ available_credits: 7 });
    expect(requests.map((request) => request.headers.get('authorization'))).toEqual([
      'Bearer old',
      'Bearer new',
    ]);
  });

  it('the access token is not requested in a loop when the session is over', async () => {
    setAccessToken({ token: 'old', expires_at: soon(600) });
    renewAccessTokenWith(async () => setAccessToken(null));
    const requests = network(
      json(401, { code: 'authentication-required', message: 'Authentication required' }),
    );
    expect(await failure(read('/credits/balance', Balance))).toMatchObject({ status: 401 });
    expect(requests).toHaveLength(1);
  });
});

it('a call that is not in the description does not compile', () => {
  // Never called: the compiler refuses these.
  const refused = async () => {
    // @ts-expect-error There is no such path.
    await read('/credits/balances', Balance);
    // @ts-expect-error The path does not take this method.
    await write('POST', '/credits/balance', {}, Anything);
    // @ts-expect-error The endpoint takes no such query.
    await read('/credits/history', Anything, { query: { page: 2 } });
    // @ts-expect-error The endpoint answers something else.
    await read('/credits/history', Balance);
    // @ts-expect-error The body lacks what the endpoint requires.
    await write('POST', '/optimizations', { challenge: 'x' }, Anything);
    // @ts-expect-error The items of the list are something else.
    await readPage('/recipes', v.object({ nothing: v.string() }));
  };
  expect(refused).toBeTypeOf('function');
});
