import type { ExportReply } from '#services/identity/contract.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { DueOutcomes, Outcome } from '#services/optimizations/contract/outcomes.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { runMarkdown } from '#services/optimizations/reading/markdown/run-markdown.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { testPassword } from '#tests/support/password.ts';

/** Outcomes over the real application, whose clock is set to a moment after a result. */
let council: TestCouncil;
let person: Person;
let moment: number | null = null;

const day = 86_400_000;
const minute = 60_000;
const question = 'Should I sell my course as a subscription, or keep the one-time price?';

beforeAll(async () => {
  council = await createTestCouncil({ replace: () => ({ clock: () => moment ?? Date.now() }) });
});
afterAll(async () => council.close());
beforeEach(async () => {
  moment = null;
  person = await personWithCredits();
});

async function personWithCredits(): Promise<Person> {
  const signedUp = await council.signUp();
  await council.core.ledger.give({
    userId: signedUp.userId,
    credits: 60,
    source: 'other',
    reason: 'operator',
    actor: 'test',
    commandId: uuidV5(signedUp.userId, 'outcomes'),
  });
  return signedUp;
}

/** The time is `ms` after the result; the person signs in again. */
async function after(run: Optimization, ms: number): Promise<void> {
  moment = Date.parse(run.ended_at!) + ms;
  person = await signedIn(person);
}

async function signedIn(one: Person): Promise<Person> {
  const { token } = await council.data<{ token: string }>('/auth/login', {
    body: { email: one.email, password: testPassword },
  });
  return { ...one, token };
}

const newResult = async () => council.ask(person, { challenge: question, strategy: 'fast' });

type Reply = { outcomes: Outcome[]; outcome_question: Optimization['outcome_question'] };

async function say(
  id: string,
  asked: number | string,
  body: object = { did: 'Raised the price', happened: 'better' },
  by: Person = person,
): Promise<[number, string | Reply]> {
  const response = await council.call(`/optimizations/${id}/outcomes/${asked}`, {
    method: 'PUT',
    token: by.token,
    body,
  });
  const reply = (await response.json()) as { code: string; data: Reply };
  return [response.status, response.ok ? reply.data : reply.code];
}

const read = async <Data>(path: string, by: Person = person) =>
  council.data<Data>(path, { token: by.token });
const due = async () => read<DueOutcomes>('/optimizations/outcomes/due');
const dueIds = async () => (await due()).due.map(({ id, asked }) => [id, asked]);
const dismiss = async (id: string, asked: number) =>
  council.call(`/optimizations/${id}/outcomes/${asked}/dismiss`, {
    method: 'POST',
    token: person.token,
  });
async function eventsOf(id: string): Promise<number> {
  const { rowCount } = await council.database.pool.query(
    `select from emt_messages where stream_id = $1 and message_type = 'OutcomeRecorded'`,
    [`optimization-${id}`],
  );
  return rowCount ?? 0;
}

describe('the question about a result', () => {
  test('the question about a result is open from day 30 on, to the minute, then from day 90 to day 180', async () => {
    const run = await newResult();
    await after(run, 30 * day - minute);
    expect(await due()).toEqual({ due: [], total: 0 });
    expect((await read<Optimization>(`/optimizations/${run.id}`)).outcome_question).toBeNull();
    expect(await say(run.id, 30)).toEqual([409, 'too-soon']);
    expect((await dismiss(run.id, 30)).status).toBe(409);

    await after(run, 30 * day);
    const since = new Date(moment!).toISOString();
    expect(await due()).toEqual({
      due: [
        {
          id: run.id,
          result_id: run.id,
          asked: 30,
          since,
          title: run.title,
          decision: run.result!.decision,
          agreement_score: run.agreement_score,
          agreement_band: run.evolution.bias!.agreement_band,
          simulated: run.simulated,
        },
      ],
      total: 1,
    });
    expect((await read<Optimization>(`/optimizations/${run.id}`)).outcome_question).toEqual({
      asked: 30,
      since,
    });
    expect(await say(run.id, 90)).toEqual([409, 'too-soon']);

    await after(run, 90 * day - minute);
    expect(await dueIds()).toEqual([[run.id, 30]]);
    await after(run, 90 * day);
    expect(await dueIds()).toEqual([[run.id, 90]]);
    await after(run, 180 * day - minute);
    expect(await dueIds()).toEqual([[run.id, 90]]);
    // The page of the run still asks.
    await after(run, 180 * day);
    expect(await due()).toEqual({ due: [], total: 0 });
    const old = await read<Optimization>(`/optimizations/${run.id}`);
    expect(old.outcome_question?.asked).toBe(90);
    expect((await say(run.id, 90))[0]).toBe(200);
  });

  test('the question about a result is closed by its answer; that of day 90 comes even so, and closes both', async () => {
    const run = await newResult();
    await after(run, 31 * day);
    const [status, reply] = await say(run.id, 30);
    expect([status, reply]).toEqual([
      200,
      {
        outcomes: [
          {
            asked: 30,
            happened: 'better',
            did: 'Raised the price',
            at: new Date(moment!).toISOString(),
            result_id: run.id,
          },
        ],
        outcome_question: null,
      },
    ]);
    expect(await dueIds()).toEqual([]);
    await after(run, 90 * day);
    expect(await dueIds()).toEqual([[run.id, 90]]);
    await say(run.id, 90, { did: '', happened: 'too_early' });
    expect(await dueIds()).toEqual([]);
    const { outcomes } = await read<Optimization>(`/optimizations/${run.id}`);
    expect(outcomes.map(({ asked, happened }) => [asked, happened])).toEqual([
      [30, 'better'],
      [90, 'too_early'],
    ]);
  });

  test('the question about a result is put off by "Not now" until day 90, and can still be answered', async () => {
    const run = await newResult();
    await after(run, 30 * day);
    for (let times = 0; times < 2; times += 1) {
      const response = await dismiss(run.id, 30);
      expect([response.status, await response.json()]).toMatchObject([
        200,
        { data: { id: run.id, asked: 30, dismissed: true } },
      ]);
      expect(await dueIds()).toEqual([]);
    }
    await after(run, 90 * day);
    expect(await dueIds()).toEqual([[run.id, 90]]);
    expect((await say(run.id, 30))[0]).toBe(200);
    expect(await dueIds()).toEqual([[run.id, 90]]);
    await say(run.id, 90);
  });

  test('the question about a result is asked once for a run and its refinements, from the newest result on', async () => {
    const run = await newResult();
    const { id } = await council.data<Optimization>(`/optimizations/${run.id}/refine`, {
      token: person.token,
      body: { changed_fact: 'Most students already pay for two other subscriptions.' },
    });
    const refined = await council.ended(person, id);
    expect(refined.status).toBe('completed');
    await after(run, 30 * day);
    expect(await dueIds()).toEqual([]);
    await after(refined, 30 * day);
    expect(await due()).toMatchObject({
      due: [{ id: run.id, result_id: refined.id, decision: refined.result!.decision }],
      total: 1,
    });
    const [status] = await say(refined.id, 30);
    expect(status).toBe(200);
    for (const one of [run, refined]) {
      const { outcomes, outcome_question } = await read<Optimization>(`/optimizations/${one.id}`);
      expect(outcomes).toMatchObject([{ asked: 30, result_id: refined.id }]);
      expect(outcome_question).toBeNull();
    }
    expect([await eventsOf(run.id), await eventsOf(refined.id)]).toEqual([1, 0]);
    expect(await dueIds()).toEqual([]);
  });

  test('the question about a result is not asked about a run that was deleted', async () => {
    const run = await newResult();
    await after(run, 30 * day);
    await council.data(`/optimizations/${run.id}`, { method: 'DELETE', token: person.token });
    expect(await dueIds()).toEqual([]);
    expect(await say(run.id, 30)).toEqual([404, 'not-found']);
  });
});

describe('an answer', () => {
  test('an answer can be corrected, and the same one again changes nothing', async () => {
    const run = await newResult();
    await after(run, 30 * day);
    const body = { did: ' Kept the one-time price. ', happened: 'as_expected' };
    for (let times = 0; times < 2; times += 1) {
      const [, reply] = await say(run.id, 30, body);
      expect(reply).toMatchObject({ outcomes: [{ did: 'Kept the one-time price.' }] });
      expect(await eventsOf(run.id)).toBe(1);
    }
    await say(run.id, 30, { ...body, happened: 'worse' });
    const changed = await read<Optimization>(`/optimizations/${run.id}`);
    expect(changed.outcomes).toMatchObject([{ happened: 'worse' }]);
    expect(await eventsOf(run.id)).toBe(2);
    const { rows } = await council.database.pool.query(
      'select asked, happened, result_id from run_outcome where run_id = $1',
      [run.id],
    );
    expect(rows).toEqual([{ asked: 30, happened: 'worse', result_id: run.id }]);
  });

  test('an answer says what was done, unless it is too early', async () => {
    const run = await newResult();
    await after(run, 30 * day);
    for (const body of [
      { did: '', happened: 'better' },
      { did: '\u200b ', happened: 'worse' },
      { did: 'Much', happened: 'great' },
      { did: 'x'.repeat(1001), happened: 'better' },
      { happened: 'better' },
    ])
      expect(await say(run.id, 30, body)).toEqual([400, 'validation']);
    for (const asked of ['31', '0', 'thirty'])
      expect(await say(run.id, asked)).toEqual([400, 'validation']);
    expect((await say(run.id, 30, { did: '', happened: 'too_early' }))[0]).toBe(200);
  });

  test("an answer is its owner's alone, and needs a result", async () => {
    const run = await newResult();
    const stranger = await personWithCredits();
    await after(run, 30 * day);
    const other = await signedIn(stranger);
    expect(await say(run.id, 30, undefined, other)).toEqual([404, 'not-found']);
    const draft = await council.data<Optimization>('/optimizations', {
      token: person.token,
      body: { challenge: question, strategy: 'fast' },
    });
    expect(await say(draft.id, 30)).toEqual([409, 'no-result']);
  });

  test('an answer is sealed, in the export and in the Markdown of the run, and erased with its texts', async () => {
    const run = await newResult();
    await after(run, 30 * day);
    const did = 'Raised it to $290 for <b>new</b> students';
    await say(run.id, 30, { did, happened: 'better' });
    const { rows } = await council.database.pool.query<{ data: { sealed: { did: string } } }>(
      `select message_data as data from emt_messages
       where stream_id = $1 and message_type = 'OutcomeRecorded'`,
      [`optimization-${run.id}`],
    );
    expect(rows[0]?.data.sealed.did).toMatch(/^v2\./);
    await dismiss(run.id, 30);
    const { tables } = await read<ExportReply>('/users/me/export');
    expect(tables['run_texts']).toContainEqual(
      expect.objectContaining({ run_id: run.id, field: 'did', text: did }),
    );
    expect(tables['runs']).toMatchObject([{ outcomes: [{ happened: 'better', did }] }]);
    expect(tables['outcome_questions']).toMatchObject([{ run_id: run.id, asked: 30 }]);
    const markdown = runMarkdown(await read<Optimization>(`/optimizations/${run.id}`));
    expect(markdown).toContain('## How it turned out');
    expect(markdown).toContain('Better than expected');
    expect(markdown).not.toContain('<b>');
    await council.core.sealer.eraseKey(run.id);
    const erased = await read<Optimization>(`/optimizations/${run.id}`);
    expect(erased.outcomes).toMatchObject([{ happened: 'better', did: 'Deleted' }]);
    expect(await say(run.id, 30, { did: 'More', happened: 'better' })).toEqual([404, 'not-found']);
  });
});
