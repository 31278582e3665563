import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Profile } from '#services/identity/contract.ts';
import type {
  Brief,
  Community,
  CompetitiveReply,
} from '#services/optimizations/contract/dashboard.ts';
import type { DashboardStats } from '#services/optimizations/contract/panel.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { readContributors, weekOf } from '#services/optimizations/dashboard/community.ts';
import { newId, uuidV5 } from '#services/platform/ids.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';

let council: TestCouncil;
let person: Person;
let first: Optimization;
let second: Optimization;

const read = async <Data>(path: string, by: Person = person) =>
  council.data<Data>(path, { token: by.token });

beforeAll(async () => {
  council = await createTestCouncil();
  person = await council.signUp();
  await council.core.ledger.give({
    userId: person.userId,
    credits: 20,
    source: 'other',
    reason: 'operator',
    actor: 'test',
    commandId: uuidV5(person.userId, 'brief'),
  });
  const strategy = 'fast';
  first = await council.ask(person, {
    challenge: 'How should I answer a competitor who sells my course at half the price?',
    strategy,
  });
  second = await council.ask(person, {
    challenge: 'Should I sell my course as a subscription, or keep the one-time price?',
    strategy,
  });
});
afterAll(async () => council.close());

test('the brief lists the decisions of 30 days, newest first, with the steps that are still open', async () => {
  const steps = second.result!.next_steps;
  await council.data(`/optimizations/${second.id}/next-steps/0`, {
    method: 'PUT',
    token: person.token,
    body: { done: true },
  });
  const brief = await read<Brief>('/optimizations/brief');
  expect(brief.runs.map(({ id }) => id)).toEqual([second.id, first.id]);
  expect(brief).toMatchObject({
    completed: 2,
    failed: 0,
    cancelled: 0,
    left_out: 0,
    credits: (first.credits.charged ?? 0) + (second.credits.charged ?? 0),
  });
  const bias = second.evolution.bias!;
  expect(brief.runs[0]).toMatchObject({
    title: second.title,
    decision: second.result!.decision,
    outcome: second.outcome,
    agreement_score: bias.agreement_score,
    consensus: bias.consensus_points.slice(0, 3).map(({ text }) => text),
    consensus_total: bias.consensus_points.length,
    open_total: bias.disagreement_areas.filter(({ about }) => about !== 'decision').length,
  });
  expect(brief.runs[0]!.next_steps.map(({ action }) => action)).toEqual(
    steps.slice(1).map(({ action }) => action),
  );
});

test('competitive intelligence is the newest decision about competitors', async () => {
  const { run } = await read<CompetitiveReply>('/optimizations/competitive');
  expect(run?.id).toBe(first.id);
});

test('the brief of another person has nothing of it', async () => {
  const stranger = await council.signUp();
  expect(await read<Brief>('/optimizations/brief', stranger)).toMatchObject({
    runs: [],
    completed: 0,
    credits: 0,
  });
  expect(await read<CompetitiveReply>('/optimizations/competitive', stranger)).toEqual({
    run: null,
  });
});

test('the figures of the elite dashboard come from the runs', async () => {
  await expect
    .poll(async () => (await read<DashboardStats>('/users/me/stats')).completed_optimizations)
    .toBe(2);
  const minutes = [first, second].map(
    (run) => (Date.parse(run.ended_at!) - Date.parse(run.evolution.start_time!)) / 60_000,
  );
  const stats = await read<DashboardStats>('/users/me/stats');
  expect(stats).toMatchObject({
    timed_optimizations: 2,
    scored_optimizations: [first, second].filter((run) => run.agreement_score !== null).length,
    models_total: new Set([...first.models, ...second.models].map(({ name }) => name)).size,
  });
  expect(stats.average_minutes).toBeCloseTo((minutes[0]! + minutes[1]!) / 2, 5);
});

test('a deleted run is not in the brief, and its credits still count', async () => {
  const before = await read<Brief>('/optimizations/brief');
  await council.data(`/optimizations/${second.id}`, { method: 'DELETE', token: person.token });
  expect(await read<Brief>('/optimizations/brief')).toMatchObject({
    runs: [{ id: first.id }],
    completed: 2,
    credits: before.credits,
  });
  await council.data(`/optimizations/${second.id}/restore`, {
    method: 'POST',
    token: person.token,
  });
});

/** A customer who shares one completed run, or what misses one of its conditions. */
async function addContributor({
  boughtDaysAgo = 60,
  paidMinor = 500,
  byBonus = false,
  sharesDaysAgo = 30,
  wentBack = 0,
}: {
  boughtDaysAgo?: number;
  paidMinor?: number;
  byBonus?: boolean;
  sharesDaysAgo?: number | null;
  /** Of the 10 credits that were bought. */
  wentBack?: number;
} = {}): Promise<string> {
  const { ownerPool } = council.database;
  const [userId, runId] = [newId('usr'), newId('opt')];
  await ownerPool.query(
    `insert into users (id, email, name, shares_statistics_since)
     values ($1, $1 || '@example.com', 'A Person', now() - make_interval(days => $2))`,
    [userId, sharesDaysAgo],
  );
  await ownerPool.query(
    `insert into paid_lot (lot_id, user_id, purchase_id, payment_key, package_id, credits, paid_minor,
       currency, granted_at)
     values ($1, $1, $1, $1, 'opportunity-finder', 10, $2, 'usd', now() - make_interval(days => $3))`,
    [userId, paidMinor, boughtDaysAgo],
  );
  await ownerPool.query(
    `insert into optimization_list
     select (jsonb_populate_record(run, jsonb_build_object('run_id', $2::text, 'user_id', $1::text,
       'agreement_score', 62, 'ended_at', '2020-01-01T00:00:00.000Z'))).*
     from optimization_list run where run.run_id = $3`,
    [userId, runId, first.id],
  );
  await ownerPool.query(
    `insert into run_usage (user_id, run_id, month, by_bonus, released)
     values ($1, $2, '2020-01', $3, false)`,
    [userId, runId, byBonus],
  );
  await ownerPool.query(
    `insert into credit_account (user_id, available, held, debt, purchased, bonus, other, consumed,
       refund_pending, refunded, revoked, freezes, version)
     values ($1, 10 - $2::int, 0, 0, 10, 0, 0, 0, 0, $2, 0, 0, 1)`,
    [userId, wentBack],
  );
  // The second run is none that counts: its models are other ones.
  await ownerPool.query(
    `insert into credit_analytics
     select (jsonb_populate_record(one, jsonb_build_object('user_id', $1::text,
       'run_id', case one.run_id when $3 then $2 else $1 end,
       'model', case one.run_id when $3 then one.model else 'other ' || one.model end))).*
     from credit_analytics one where one.run_id in ($3, $4)`,
    [userId, runId, first.id, second.id],
  );
  return userId;
}

test('the models of a contributor are those of the runs that count, and a refund in part leaves a customer', async () => {
  const userId = await addContributor({ wentBack: 4 });
  const all = await readContributors(council.database.pool, weekOf(Date.now()));
  const models = new Set(first.models.map(({ name }) => name)).size;
  expect(all.map((one) => [one.userId, one.models])).toEqual([[userId, models]]);
  await council.database.ownerPool.query('delete from users where id = $1', [userId]);
});

test('the community has figures from 20 customers who share paid runs, computed once a week', async () => {
  const { ownerPool } = council.database;
  const community = async (by: Person = person) => read<Community>('/community', by);
  expect(await community()).toMatchObject({
    shares: false,
    everyone: null,
    groups: [],
    standing: null,
  });
  const shared = await council.data<Profile>('/users/me', {
    method: 'PATCH',
    token: person.token,
    body: { shares_statistics: true },
  });
  expect(shared.shares_statistics).toBe(true);
  for (let number = 0; number < 20; number += 1) await addContributor();
  for (const change of [
    { boughtDaysAgo: 20 },
    { paidMinor: 0 },
    { byBonus: true },
    { sharesDaysAgo: null },
    { wentBack: 10 },
  ])
    for (let number = 0; number < 10; number += 1) await addContributor(change);
  // The figures of this week stay as they were first computed.
  expect(await community()).toMatchObject({ shares: true, everyone: null });
  await ownerPool.query(`update community_figures set figures = '{"everyone": null}'`);
  const group = { contributors: 20, agreement: 60, success_rate: 1 };
  expect(await community()).toMatchObject({
    everyone: group,
    groups: [{ challenge_type: first.challenge_type, ...group }],
    standing: null,
  });
  await ownerPool.query(`update community_figures set week = '2020-01-06'`);
  const readers = await Promise.all([community(), community(), community()]);
  expect(readers.map(({ everyone }) => everyone)).toEqual([group, group, group]);
  const { rows } = await ownerPool.query('select week::text from community_figures');
  expect(rows).toHaveLength(1);
  await council.data('/users/me', {
    method: 'PATCH',
    token: person.token,
    body: { shares_statistics: false },
  });
  expect((await community()).shares).toBe(false);
});
