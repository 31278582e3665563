import { expect } from 'vitest';
import type { Balance } from '#services/credits/contract.ts';
import type { Replay } from '#services/credits/audit/replay.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { describeRun } from '#services/optimizations/reading/describe.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import type { Person } from '#tests/support/app.ts';
import { operate, operateJson, type Outcome } from '#tests/support/processes/operator.ts';
import { type Client, eventually, type Settings } from '#tests/support/processes/processes.ts';
import { follow } from './follow.ts';
import type { Follower } from './follow.ts';

/** A run that is under way, and a client that watches it. */
export type Watched = AsyncDisposable & { person: Person; runId: string; follower: Follower };

/** Creates and processes a run of 14 credits, and begins to watch it in between. */
export async function beginRun(
  url: string,
  client: Client,
  options: { person?: Person; strategy?: string } = {},
): Promise<Watched> {
  const person = options.person ?? (await client.signUp());
  const { token } = person;
  const { id: runId } = await client.data<Optimization>('/optimizations', {
    token,
    body: { challenge: 'Rent or buy the workshop?', strategy: options.strategy ?? 'balanced' },
  });
  const follower = follow({ url: () => url, token: () => token, watching: runId });
  await follower.until('the draft', (run) => run.stage === 'draft');
  await client.data(`/optimizations/${runId}/process`, { method: 'POST', token });
  return {
    person,
    runId,
    follower,
    [Symbol.asyncDispose]: async () => follower[Symbol.asyncDispose](),
  };
}

/** Some calls of an unfinished run have been answered, and some are open. */
export function isInTheMiddle(run: RunView): boolean {
  const calls = Object.values(run.calls);
  return (
    run.conclusion === null &&
    calls.some((call) => call.outcome !== null) &&
    openCalls(run).length > 0
  );
}

function openCalls(run: RunView): string[] {
  return Object.entries(run.calls)
    .filter(([, call]) => Object.values(call.attempts).some(({ status }) => status === 'open'))
    .map(([slot]) => slot);
}

/**
 * Checks a run that ended, whatever happened during it: completed, charged once by the
 * command line's replay, equal to what its events give, and the same to the client that watched it
 * as to one that asks now.
 */
export async function expectWhole(
  client: Client,
  settings: Settings,
  { person, runId, follower }: Watched,
  price = 14,
): Promise<void> {
  const { token, email } = person;
  await follower.until('the end of the run', (run) => run.stage === 'closed', 180_000);
  // The cost of a lost call may arrive after the end, so both are read at the same position.
  const { run, heard } = await eventually('the same version read and heard', async () => {
    const read = await client.data<Optimization>(`/optimizations/${runId}`, { token });
    const view = follower.run();
    return view?.version === read.council.version && { run: read, heard: view };
  });
  expect(run).toMatchObject({
    status: 'completed',
    credits: { price, charged: price, refunded: 0, settlement: 'settled' },
  });
  expect(describeRun(ofEvents(heard), 0)).toEqual(describeRun(ofEvents(run.council), 0));
  // The client got every event of the run once and in order.
  expectEachOnce(follower, (fact) => fact.entity.id === run.id && fact.entity.kind === 'run');
  expect(await client.data<Balance>('/credits/balance', { token })).toMatchObject({
    reserved_credits: 0,
    total_consumed: price,
  });
  const [replay] = await Promise.all([
    operateJson<Replay>(settings, 'credits', 'replay', email),
    expectEndsWell(settings, 'optimizations', 'verify', runId),
  ]);
  expect(replay.verified).toBe(true);
  const ofRun = replay.entries.filter((entry) => entry.cause === runId);
  expect(ofRun.map(({ type, amount }) => ({ type, amount }))).toEqual([
    { type: 'CreditsReserved', amount: 0 },
    { type: 'CreditsCaptured', amount: -price },
  ]);
}

/** Whether a run can be refined, and when its newest result was there, stands in other streams, so only a read knows it. */
const ofEvents = (view: RunView): RunView => ({
  ...view,
  newer: null,
  refinable: null,
  refinements: [],
  resultAt: null,
});

/** Every account, every stream and every read model equals its events, as `run` reports. */
export async function expectVerified(settings: Settings, run = operate): Promise<void> {
  const commands = [
    ['credits', 'verify'],
    ['events', 'verify'],
    ['projections', 'verify', '--all'],
  ];
  await Promise.all(commands.map(async (args) => expectEnd(await run(settings, ...args), args)));
}

/** The command must exit with 0; otherwise its output is shown. */
export async function expectEndsWell(settings: Settings, ...args: string[]): Promise<void> {
  expectEnd(await operate(settings, ...args), args);
}

function expectEnd({ code, stdout, stderr }: Outcome, args: readonly string[]): void {
  const said = code === 0 ? '' : `${stdout}${stderr}`;
  expect({ command: args.join(' '), code, said }).toEqual({
    command: args.join(' '),
    code: 0,
    said: '',
  });
}

/** Versions of one stream follow each other without a gap and without a repeat. */
export function expectEachOnce(
  follower: Follower,
  of: (fact: ReturnType<Follower['facts']>[number]) => boolean,
): void {
  const versions = follower
    .facts()
    .filter(of)
    .map((fact) => fact.version);
  const first = versions[0] ?? 0;
  expect(versions).toEqual(versions.map((_, index) => first + index));
  expect(new Set(follower.ids()).size).toBe(follower.ids().length);
  expect(follower.snapshots()).toBe(1);
}
