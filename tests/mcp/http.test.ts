import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Optimization } from '#services/optimizations/contract/run.ts';
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
  test('asks, follows, reads and refines a whole run', async () => {
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

    const reports: { progress: number; total?: number | undefined; message?: string | undefined }[] =
      [];
    const followed = await call<Followed>(
      client,
      'follow',
      { run_id: begun.run_id },
      { onprogress: (report) => void reports.push(report) },
    );
    expect(followed).toMatchObject({ ended: true, status: 'completed', progress: 100 });
    expect(reports.at(-1)).toMatchObject({ progress: 100, total: 100 });
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
    expect(read.simulated_notice).toMatch(/^Simulated/);
    expect(textOf(result)).toMatch(/^> Simulated/);
    expect(textOf(result)).toContain(shown.result?.decision);

    const again = await call<Begun>(client, 'refine', {
      run_id: begun.run_id,
      instruction: 'We cannot hire anyone.',
      price: read['refine_price'],
    });
    expect(again).toMatchObject({ price: 0, simulated: true });
    await call(client, 'follow', { run_id: again.run_id });
    const refined = await call<Read>(client, 'result', { run_id: again.run_id });
    expect(refined['changed']).toEqual(expect.any(String));

    const { available, held } = await call<{ available: number; held: number }>(client, 'balance');
    expect({ available, held }).toEqual({ available: 1_000 - price, held: 0 });
    await client.close();
  });

  test('that asks for no reports gets none, and a call that is over in time', async () => {
    const ann = await customer();
    const client = await overHttp(port.url, (await keyOf(app, ann)).key, era);
    const { id } = await draftOf(ann);
    const began = performance.now();
    const followed = await call<Followed>(client, 'follow', { run_id: id, seconds: 1 });
    expect(followed).toMatchObject({ ended: false, status: 'pending', progress: 0 });
    expect(performance.now() - began).toBeLessThan(5_000);
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
    expect(await following).toBe(
      'This API key has been revoked.\nCode: authentication-required',
    );
    expect(performance.now() - revokedAt).toBeLessThan(1_000);
    await expect(client.listTools()).rejects.toThrow();
    await client.close();
  });

  test('that disconnects stops the waiting, and not the run', async () => {
    const ann = await customer();
    const { key } = await keyOf(app, ann);
    const client = await overHttp(port.url, key, era);
    const { run_id: runId } = await call<Begun>(client, 'ask', question);
    const gone = new AbortController();
    const following = client.callTool(
      { name: 'follow', arguments: { run_id: (await draftOf(ann)).id, seconds: 600 } },
      { signal: gone.signal },
    );
    await sleep(500);
    gone.abort();
    await expect(following).rejects.toThrow();
    await client.close();
    expect((await app.ended(ann, runId)).status).toBe('completed');
  });
});
