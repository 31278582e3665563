import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { liveLimits } from '#services/live/limits.ts';
import type { Balance } from '#services/credits/contract.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { keyScopes } from '#services/platform/contract.ts';
import { openPort } from '#tests/live/sockets.ts';
import type { TestPort } from '#tests/live/sockets.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { give } from '#tests/support/processes/service.ts';
import { call, eras, keyOf, overHttp, refusal, textOf } from './clients.ts';

/** The official client over a socket, against the application with its worker. */
let app: TestCouncil;
let port: TestPort;

beforeAll(async () => {
  app = await createTestCouncil();
  port = await openPort(app);
});
afterAll(async () => {
  await port[Symbol.asyncDispose]();
  await app.close();
});

async function customer(): Promise<Person> {
  const person = await app.signUp();
  await give(app, person.userId, 1_000);
  return person;
}

/** A run that nothing starts, so that it can be followed for as long as a test likes. */
async function draftOf({ token }: Person): Promise<Optimization> {
  const body = { challenge: 'Should we move?', strategy: 'fast' };
  return app.data<Optimization>('/optimizations', { token, body });
}

const question = { question: 'Should we raise prices by 10%?', strategy: 'fast' };

type Begun = { run_id: string; price: number; simulated: boolean; page: string };
type Followed = { ended: boolean; status: string; progress: number };
type Read = Record<string, unknown> & { decision: string; simulated_notice: string };

describe.each(eras)('a client of the protocol (%s)', (era) => {
  test('asks, follows and reads a whole run', async () => {
    const ann = await customer();
    const { key } = await keyOf(app, ann);
    const client = await overHttp(port.url, key, era);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'strategies',
      'balance',
      'ask',
      'follow',
      'result',
      'refine',
    ]);
    const { strategies } = await call<{ strategies: { id: string; credits: number }[] }>(
      client,
      'strategies',
    );
    const price = strategies.find(({ id }) => id === 'fast')?.credits ?? 0;
    expect(tools.find(({ name }) => name === 'ask')?.description).toContain(`fast ${price}`);

    const begun = await call<Begun>(client, 'ask', question);
    expect(begun).toMatchObject({ price, simulated: true, status: 'processing' });
    expect(begun.page).toMatch(new RegExp(`/optimizations/${begun.run_id}$`));

    const reports: {
      progress: number;
      total?: number | undefined;
      message?: string | undefined;
    }[] = [];
    const followed = await call<Followed>(
      client,
      'follow',
      { run_id: begun.run_id },
      { onprogress: (report) => void reports.push(report) },
    );
    expect(followed).toMatchObject({ ended: true, status: 'completed', progress: 100 });
    // The end is the answer, and no report.
    expect(reports.length).toBeGreaterThan(0);
    expect(reports.every(({ progress, total }) => progress < 100 && total === 100)).toBe(true);
    const steps = reports.map(({ progress }) => progress);
    expect(steps).toEqual([...new Set(steps)].toSorted((one, other) => one - other));
    expect(reports.every(({ message }) => message !== undefined && message !== '')).toBe(true);

    const result = await client.callTool({ name: 'result', arguments: { run_id: begun.run_id } });
    const read = result.structuredContent as Read;
    const shown = await app.data<Optimization>(`/optimizations/${begun.run_id}`, ann);
    expect(read).toMatchObject({
      heading: shown.result?.heading,
      decision: shown.result?.decision,
      votes: { for: shown.votes_for, total: shown.votes_total },
      agreement_score: shown.agreement_score,
      simulated: true,
      credits: { price, charged: price, refunded: 0 },
    });
    const minority = shown.evolution.bias?.minority_report?.votes ?? [];
    expect(read['dissent']).toMatchObject(
      minority.map(({ text, argument }) => ({ option: text, reason: argument?.text ?? null })),
    );
    expect(read['flaws']).toHaveLength(shown.result?.flaws.length ?? 0);
    expect(read['next_steps']).toHaveLength(shown.result?.next_steps.length ?? 0);
    expect(read['confidence_note']).toContain('Agreement is not correctness.');
    expect(read['simulated_question']).toEqual(expect.any(String));
    expect(read.simulated_notice).toMatch(/^Simulated/);
    expect(textOf(result)).toMatch(/^> Simulated/);
    expect(textOf(result)).toContain(shown.result?.decision);

    const balance = await call<Balance>(client, 'balance');
    expect(balance).toMatchObject({ available_credits: 1_000 - price, reserved_credits: 0 });
    await client.close();
  });

  test('whose key is revoked hears so within a second', async () => {
    const ann = await customer();
    const { id, key } = await keyOf(app, ann);
    const client = await overHttp(port.url, key, era);
    const draft = await draftOf(ann);
    const following = refusal(client, 'follow', { run_id: draft.id, seconds: 40 });
    await sleep(1_000);
    await app.data(`/api-keys/${id}`, { method: 'DELETE', token: ann.token });
    const revokedAt = performance.now();
    expect(await following).toBe('This API key has been revoked.\nCode: authentication-required');
    expect(performance.now() - revokedAt).toBeLessThan(5_000);
    await expect(client.listTools()).rejects.toThrow(/401|Authentication/i);
    await client.close();
  });
});

describe('a client', () => {
  const [era] = eras;

  test('gets an answer when its time is up', async () => {
    const ann = await customer();
    const client = await overHttp(port.url, (await keyOf(app, ann)).key, era);
    const { id } = await draftOf(ann);
    const began = performance.now();
    const followed = await call<Followed>(client, 'follow', { run_id: id, seconds: 1 });
    expect(followed).toMatchObject({ ended: false, status: 'pending', progress: 0 });
    expect(performance.now() - began).toBeLessThan(5_000);
    await client.close();
  });

  test('that disconnects stops the waiting, and not the run', async () => {
    const ann = await customer();
    const { key } = await keyOf(app, ann);
    // The limit of open streams, of which keys have half, shows how many are open.
    const env = { ...app.context.env, rateLimits: {} };
    await using limited = await openPort({ ...app, context: { ...app.context, env } });
    const client = await overHttp(limited.url, key, era);
    const other = await overHttp(limited.url, key, era);
    const { run_id: runId } = await call<Begun>(client, 'ask', question);
    const draft = await draftOf(ann);
    const following = Array.from({ length: liveLimits.openPerPerson / 2 }, async () =>
      client.callTool({ name: 'follow', arguments: { run_id: draft.id, seconds: 600 } }),
    );
    for (const one of following) one.catch(() => undefined);
    const oneMore = async () =>
      textOf(await other.callTool({ name: 'follow', arguments: { run_id: draft.id, seconds: 0 } }));
    await expect.poll(oneMore, { interval: 100 }).toContain('Code: too-many-streams');
    await client.close();
    const ended = await Promise.allSettled(following);
    expect(ended.filter(({ status }) => status === 'fulfilled')).toEqual([]);
    await expect.poll(oneMore, { interval: 100, timeout: 2_000 }).not.toContain('Code:');
    expect((await app.ended(ann, runId)).status).toBe('completed');
    await other.close();
  });

  test('that waits when the process ends gets an answer first', async () => {
    const ann = await customer();
    const { key } = await keyOf(app, ann);
    const draft = await draftOf(ann);
    const ending = await openPort(app);
    const client = await overHttp(ending.url, key, era);
    const following = call<Followed>(client, 'follow', { run_id: draft.id, seconds: 600 });
    await sleep(1_000);
    const askedToEnd = performance.now();
    const closed = ending[Symbol.asyncDispose]();
    expect(await following).toMatchObject({ ended: false });
    expect(performance.now() - askedToEnd).toBeLessThan(5_000);
    await client.close();
    await closed;
  });
});

test('an identical call within minutes joins the run of the first', async () => {
  const ann = await customer();
  const { key } = await keyOf(app, ann);
  const [one, other] = [await overHttp(port.url, key), await overHttp(port.url, key, 'legacy')];
  const asked = { ...question, context: 'We sell bread.' };
  const [first, same] = await Promise.all([
    call<Begun>(one, 'ask', asked),
    call<Begun>(other, 'ask', asked),
  ]);
  expect(same.run_id).toBe(first.run_id);
  const { run_id: another } = await call<Begun>(one, 'ask', { ...asked, context: 'And cakes.' });
  expect(another).not.toBe(first.run_id);
  await Promise.all([one.close(), other.close()]);
});

test(
  'an identical refinement within minutes joins the first one and is charged once',
  { tags: ['long'] },
  async () => {
    const ann = await customer();
    const client = await overHttp(port.url, (await keyOf(app, ann)).key);
    const { run_id: runId } = await call<Begun>(client, 'ask', question);
    await app.ended(ann, runId);
    const input = { run_id: runId, instruction: 'We cannot hire anyone.' };
    const { refine_price: price } = await call<Read>(client, 'result', { run_id: runId });
    const asked = { ...input, price };
    const [first, atOnce] = await Promise.all([
      call<Begun>(client, 'refine', asked),
      call<Begun>(client, 'refine', asked),
    ]);
    expect(first).toMatchObject({ price: 0, simulated: true });
    expect(atOnce.run_id).toBe(first.run_id);
    const running = await call<Begun>(client, 'refine', asked);
    await app.ended(ann, first.run_id);
    const ended = await call<Begun>(client, 'refine', asked);
    expect([running.run_id, ended.run_id]).toEqual([first.run_id, first.run_id]);
    const { changed } = await call<Read>(client, 'result', { run_id: first.run_id });
    expect(changed).toEqual(expect.any(String));
    const paid = await call<Begun>(client, 'refine', { ...input, instruction: 'Nor rent.' });
    expect(paid.run_id).not.toBe(first.run_id);
    await client.close();
  },
);

test('a run that has not ended has no result yet', async () => {
  const ann = await customer();
  const client = await overHttp(port.url, (await keyOf(app, ann)).key);
  const { id } = await draftOf(ann);
  expect(await refusal(client, 'result', { run_id: id })).toMatch(
    /^This run has not ended; it is at 0%\..*\nCode: running$/,
  );
  await client.close();
});

test('a canceled run says why it has no result', async () => {
  const ann = await customer();
  const client = await overHttp(port.url, (await keyOf(app, ann)).key);
  const { id } = await draftOf(ann);
  await app.data(`/optimizations/${id}/cancel`, { method: 'POST', token: ann.token });
  const result = await client.callTool({ name: 'result', arguments: { run_id: id } });
  expect(result.structuredContent).toMatchObject({
    status: 'cancelled',
    heading: null,
    decision: null,
    ended_because: expect.any(String),
    simulated: true,
    refine_price: null,
  });
  expect(textOf(result)).toMatch(/^> Simulated/);
  expect(textOf(result)).toContain('Canceled');
  await client.close();
});

describe('a tool', () => {
  test('needs the scope of what it does, and names it', async () => {
    const ann = await customer();
    const { id } = await draftOf(ann);
    const needed = {
      balance: ['credits:read', {}],
      ask: ['run', question],
      refine: ['run', { run_id: id }],
      follow: ['read', { run_id: id, seconds: 0 }],
      result: ['read', { run_id: id }],
    } as const;
    for (const [name, [scope, input]] of Object.entries(needed)) {
      const others = keyScopes.filter((one) => one !== scope);
      const client = await overHttp(port.url, (await keyOf(app, ann, others)).key);
      expect(await refusal(client, name, input)).toBe(
        `This API key doesn't have the scope ${scope}.\nCode: scope-missing`,
      );
      await call(client, 'strategies');
      await client.close();
    }
    expect(await app.data('/optimizations', ann)).toHaveLength(1);
  });

  test('says the same of an unknown run, a deleted one and one of another user', async () => {
    const [ann, bob] = [await customer(), await customer()];
    const client = await overHttp(port.url, (await keyOf(app, ann)).key);
    const deleted = await draftOf(ann);
    await app.data(`/optimizations/${deleted.id}/cancel`, { method: 'POST', token: ann.token });
    await app.data(`/optimizations/${deleted.id}`, { method: 'DELETE', token: ann.token });
    const unknown = `opt_${'0'.repeat(26)}`;
    for (const runId of [unknown, deleted.id, (await draftOf(bob)).id])
      for (const name of ['follow', 'result', 'refine'])
        expect(await refusal(client, name, { run_id: runId })).toBe(
          'There is no run of this id in this account.\nCode: not-found',
        );
    await client.close();
  });

  test('refuses input with the sentences of the form, and starts nothing', async () => {
    const ann = await customer();
    const client = await overHttp(port.url, (await keyOf(app, ann)).key);
    const faults = [
      ['ask', { question: ' ' }, 'What business challenge are you facing?'],
      ['ask', { question: 'x'.repeat(4_001) }, 'up to 4000 characters'],
      ['ask', { ...question, strategy: 'best' }, 'Choose one of the listed strategies'],
      ['ask', { ...question, price: 1 }, 'price'],
      ['follow', { run_id: 'opt_1' }, 'Not a run id'],
      ['follow', { run_id: `opt_${'0'.repeat(26)}`, seconds: 601 }, 'from 0 to 600'],
      ['refine', { run_id: `opt_${'0'.repeat(26)}`, instruction: '' }, 'Write what is new'],
    ] as const;
    for (const [name, input, sentence] of faults) {
      const words = await refusal(client, name, input);
      expect(words).toContain(sentence);
      expect(words).not.toMatch(/\n\s+at /);
    }
    expect(await app.data('/optimizations', ann)).toEqual([]);
    await client.close();
  });

  test('passes a refusal of the ledger on with its code', async () => {
    const poor = await app.signUp();
    const client = await overHttp(port.url, (await keyOf(app, poor)).key);
    expect(await refusal(client, 'ask', question)).toMatch(/\nCode: insufficient-credits$/);
    await client.close();
    const { key } = await keyOf(app, await customer(), keyScopes, 1);
    const capped = await overHttp(port.url, key);
    expect(await refusal(capped, 'ask', question)).toMatch(/\nCode: monthly-cap-reached$/);
    await capped.close();
  });

  test('describes what its input must be to the model', async () => {
    const ann = await app.signUp();
    const client = await overHttp(port.url, (await keyOf(app, ann)).key);
    const { tools } = await client.listTools();
    const ask = tools.find(({ name }) => name === 'ask');
    expect(ask?.inputSchema).toMatchObject({
      type: 'object',
      required: ['question'],
      additionalProperties: false,
      properties: {
        question: { type: 'string', maxLength: 4_000 },
        strategy: { default: 'balanced', enum: expect.arrayContaining(['fast']) },
        objectives: { type: 'array', maxItems: 20 },
      },
    });
    for (const { annotations, outputSchema, description } of tools) {
      expect(annotations).toMatchObject({ readOnlyHint: expect.any(Boolean) });
      expect(outputSchema).toMatchObject({ type: 'object' });
      expect(description).toMatch(/costs? (nothing|credits)/i);
    }
    await client.close();
  });
});
