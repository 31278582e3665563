import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { answerError, createRouter } from '#services/platform/http/http.ts';
import { answerOnce } from '#services/platform/http/idempotency.ts';
import { createLog } from '#services/platform/process/log.ts';
import { Problem } from '#services/platform/problem.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';

let app: TestApp;
let ann: Person;

beforeAll(async () => {
  app = await createTestApp();
  ann = await app.signUp();
});
afterAll(async () => app.close());

const question = {
  challenge: 'Should the Canarychallenge shop raise its prices?',
  context: 'Canarycontext',
  strategy: 'balanced',
};

type Row = { fingerprint: string; status: number | null; text: string };

async function rowsOf(key: string): Promise<Row[]> {
  const { rows } = await app.database.ownerPool.query<Row>(
    'select fingerprint, status, k::text as text from idempotency_key k where key = $1',
    [key],
  );
  return rows;
}

/** As if the attempt of this key had begun so many seconds ago. */
async function age(key: string, seconds: number): Promise<void> {
  await app.database.ownerPool.query(
    'update idempotency_key set created_at = now() - make_interval(secs => $2) where key = $1',
    [key, seconds],
  );
}

describe('the response that is kept for a repeat', () => {
  const create = async (key: string) =>
    app.call('/optimizations', { token: ann.token, body: question, key });

  test('a kept response holds no text of a user, and no hash from which a text can be guessed', async () => {
    const first = await create('sealed-1');
    await create('sealed-2');
    const [one, other] = [await rowsOf('sealed-1'), await rowsOf('sealed-2')].flat();
    expect(one?.text).not.toContain('Canary');
    expect(one?.fingerprint).not.toBe(other?.fingerprint);
    const repeated = await create('sealed-1');
    expect(repeated.status).toBe(201);
    expect(await repeated.json()).toEqual(await first.json());
  });

  test('a kept response is erased with its run', async () => {
    const { data } = (await (await create('erased')).json()) as { data: Optimization };
    await app.core.sealer.eraseKey(data.id);
    const repeated = (await (await create('erased')).json()) as { data: Optimization };
    expect(repeated.data).toMatchObject({ id: data.id, challenge: 'Deleted', title: 'Deleted' });
  });

  test('an expired response is deleted when another key is used', async () => {
    await create('old');
    await app.database.ownerPool.query(
      `update idempotency_key set expires_at = now() - interval '1 second' where key = 'old'`,
    );
    await create('new');
    expect(await rowsOf('old')).toEqual([]);
  });
});

describe('an attempt', () => {
  /** One route whose work the test controls. */
  function routeOf(work: (resourceId: string) => Promise<unknown>) {
    let made = 0;
    const log = createLog({ level: 'silent', process: 'test' });
    const router = createRouter()
      .use(async (context, next) => {
        context.set('log', log);
        await next();
      })
      .post('/things', async (context) =>
        answerOnce(
          context,
          {
            pool: app.core.pool,
            owner: 'usr_of_the_route',
            route: 'POST /things',
            body: {},
            status: 201,
          },
          {
            newResourceId: () => `thing ${(made += 1)}`,
            work: async ({ resourceId }) => work(resourceId),
          },
        ),
      );
    router.onError((error, context) => answerError(error, context));
    return async (key: string) => {
      const response = await router.request('/things', {
        method: 'POST',
        headers: { 'idempotency-key': key },
      });
      const { data, code } = (await response.json()) as { data?: string; code?: string };
      return `${response.status} ${data ?? code}`;
    };
  }

  test('an attempt that crashed counts as in progress until its time is over, then is taken over once', async () => {
    const hanging = routeOf(async () => new Promise(() => undefined));
    void hanging('crashed');
    await expect.poll(async () => rowsOf('crashed')).toHaveLength(1);
    const post = routeOf(async (resourceId) => resourceId);
    await age('crashed', 29);
    expect(await post('crashed')).toBe('409 in-progress');
    await age('crashed', 31);
    const answers = await Promise.all([post('crashed'), post('crashed'), post('crashed')]);
    expect(answers.filter((answer) => answer === '201 thing 1')).not.toEqual([]);
    expect(new Set([...answers, '409 in-progress'])).toEqual(
      new Set(['201 thing 1', '409 in-progress']),
    );
    expect(await post('crashed')).toBe('201 thing 1');
  });

  test('an attempt that ended with an internal error can be repeated at once, for the same object', async () => {
    let tries = 0;
    const post = routeOf(async (resourceId) => {
      tries += 1;
      if (tries === 1) throw new Problem('busy', 'Busy');
      return resourceId;
    });
    expect(await post('busy')).toBe('503 busy');
    expect(await post('busy')).toBe('201 thing 1');
  });

  test('an attempt that was refused leaves no row', async () => {
    const post = routeOf(async () => {
      throw new Problem('debt', 'Poor');
    });
    expect(await post('refused')).toBe('402 debt');
    expect(await rowsOf('refused')).toEqual([]);
  });

  test('an attempt that was taken over and is refused later leaves the row to its successor', async () => {
    const refusal = Promise.withResolvers<never>();
    const late = routeOf(async () => refusal.promise)('inherited');
    await expect.poll(async () => rowsOf('inherited')).toHaveLength(1);
    await age('inherited', 31);
    const heir = Promise.withResolvers<string>();
    const begun = Promise.withResolvers<string>();
    const post = routeOf(async (resourceId) => {
      begun.resolve(resourceId);
      return heir.promise;
    });
    const inherited = post('inherited');
    expect(await begun.promise).toBe('thing 1');
    refusal.reject(new Problem('debt', 'Poor'));
    expect(await late).toBe('402 debt');
    expect(await post('inherited')).toBe('409 in-progress');
    heir.resolve('done');
    expect(await inherited).toBe('201 done');
  });
});
