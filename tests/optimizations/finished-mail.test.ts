import type { JobHelpers } from 'graphile-worker';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createLiveTextWriter } from '#services/live/live-text.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { finishedEmail } from '#services/optimizations/finished-email.ts';
import { createOpenCalls } from '#services/optimizations/open-calls.ts';
import { discardDraft, issue } from '#services/optimizations/commands.ts';
import { optimizationTasks } from '#services/optimizations/tasks.ts';
import { createLog } from '#services/platform/process/log.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';
import { createTestMailbox, deliverMails, linkIn } from '#tests/support/mail.ts';
import type { TestMailbox } from '#tests/support/mail.ts';
import { give } from '#tests/support/processes/service.ts';

/** The email about a run's end, from its last event to the mailbox. */
let app: TestApp;
let mailbox: TestMailbox;
let work: (task: string, runId: string) => Promise<void>;

beforeAll(async () => {
  mailbox = await createTestMailbox();
  app = await createTestApp();
  const log = createLog({ level: 'silent', process: 'test' });
  const { control } = optimizationTasks({
    ...app.core,
    liveText: createLiveTextWriter({ pool: app.core.pool, sealer: app.core.sealer, log }),
    openCalls: createOpenCalls(),
    log,
    callsPerProvider: 1,
  });
  work = async (task, runId) => {
    await control[task]?.({ runId }, {} as JobHelpers);
  };
});
afterAll(async () => {
  await app.close();
  await mailbox.close();
});
beforeEach(async () => mailbox.clear());

async function personWith(notify: boolean, confirmed = true): Promise<Person> {
  const person = await app.signUp();
  await give(app, person.userId, 50);
  await app.database.pool.query(
    'update users set notify_run_finished = $2, email_confirmed_at = $3 where id = $1',
    [person.userId, notify, confirmed ? new Date() : null],
  );
  return person;
}

/** Started, cancelled and settled, up to its last event. */
async function endedRun(person: Person): Promise<string> {
  const { id } = await app.data<Optimization>('/optimizations', {
    token: person.token,
    body: { challenge: 'Lease or buy <b>the</b> van?', strategy: 'balanced' },
  });
  const { token } = person;
  await app.data(`/optimizations/${id}/process`, { method: 'POST', token });
  await app.data(`/optimizations/${id}/cancel`, { method: 'POST', token });
  await work('settle-run', id);
  return id;
}

async function notifyJobs(runId: string): Promise<number> {
  const { rowCount } = await app.database.pool.query(
    `select from graphile_worker.jobs where task_identifier = 'notify-run' and key = $1`,
    [`${runId}:notify`],
  );
  return rowCount ?? 0;
}

const deliver = async () => deliverMails(app.core, mailbox);

describe('the end of a run', () => {
  test('the email about an ended run is sent once to a user who asked for it, however often the job runs', async () => {
    const person = await personWith(true);
    const runId = await endedRun(person);
    expect(await notifyJobs(runId)).toBe(1);
    await Promise.all([work('notify-run', runId), work('notify-run', runId)]);
    await deliver();
    await work('notify-run', runId);
    await deliver();
    const mails = await mailbox.all(person.email);
    expect(mails).toHaveLength(1);
    const [mail] = mails;
    expect(mail?.subject).toBe('Your optimization was canceled: Lease or buy <b>the</b> van?');
    expect(mail?.text).toContain('“Lease or buy <b>the</b> van?” was canceled.');
    expect(mail?.html).toContain('&#60;b&#62;the');
    expect(mail && linkIn(mail)).toBe(`${app.core.publicUrl}/optimizations/${runId}`);
  });

  test('no email is sent to a user who has not asked for it or has not confirmed the address', async () => {
    for (const person of [await personWith(false), await personWith(true, false)]) {
      await work('notify-run', await endedRun(person));
      await deliver();
      expect(await mailbox.all(person.email)).toEqual([]);
    }
  });

  test('no email is sent before the run has ended, or about one that was never started', async () => {
    const person = await personWith(true);
    const { id } = await app.data<Optimization>('/optimizations', {
      token: person.token,
      body: { challenge: 'Lease or buy?', strategy: 'balanced' },
    });
    await work('notify-run', id);
    await discardDraft(app.core, id);
    expect(await notifyJobs(id)).toBe(1);
    await work('notify-run', id);
    await deliver();
    expect(await mailbox.all(person.email)).toEqual([]);
  });

  test('no email is sent about a deleted or erased run, or to an erased account', async () => {
    const erasedRun = await personWith(true);
    const runId = await endedRun(erasedRun);
    await app.core.sealer.eraseKey(runId);
    const away = await personWith(true);
    const hidden = await endedRun(away);
    const now = new Date(app.core.clock()).toISOString();
    await issue(app.core, hidden, { type: 'Hide', now }, ['hide']);
    const erased = await personWith(true);
    const erasedPersons = await endedRun(erased);
    await app.core.sealer.createDataKey('account', erased.userId, erased.userId);
    await app.core.sealer.eraseKey(erased.userId);
    const erasing = await personWith(true);
    const erasingPersons = await endedRun(erasing);
    await app.database.pool.query('update users set erasing_at = now() where id = $1', [
      erasing.userId,
    ]);
    for (const id of [runId, hidden, erasedPersons, erasingPersons]) await work('notify-run', id);
    await deliver();
    expect(await mailbox.all()).toEqual([]);
  });
});

describe('the email about a run', () => {
  const run = {
    runId: 'opt_1',
    title: 'Buy?',
    status: 'completed',
    credits: { price: 14, reserved: 0, charged: 14, refunded: 0, settlement: 'settled' },
    heading: null,
    simulated: { seats: 7, simulatedSeats: 0, standIn: null },
  } as const;
  const standIn = {
    title: 'Should I raise my prices?',
    question: { challenge: 'From $240 to $290?', context: '34 customers.' },
    exact: false,
  };
  const words = (more: Partial<Parameters<typeof finishedEmail>[0]>) =>
    finishedEmail({ ...run, ...more }, 'https://example.com');

  test('the email about a run says how the run ended', () => {
    expect(words({}).subject).toBe('Your optimization is complete: Buy?');
    expect(words({ heading: 'Recommended by 5 of 7 models' }).paragraphs[0]).toBe(
      '“Buy?” is complete. Recommended by 5 of 7 models.',
    );
    expect(words({ status: 'failed' }).subject).toBe('Your optimization failed: Buy?');
    expect(words({ status: 'cancelled' }).paragraphs[0]).toBe('“Buy?” was canceled.');
    expect(words({}).action).toEqual({
      label: 'Read the result',
      url: 'https://example.com/optimizations/opt_1',
    });
  });

  test.each([
    [14, 14, 0, '14 credits were charged.'],
    [1, 1, 0, '1 credit was charged.'],
    [0, 0, 0, 'It was included, so nothing was charged.'],
    [14, 0, 0, "You weren't charged. 14 credits were returned."],
    [1, 0, 1, "You weren't charged. 1 credit was returned."],
    [14, 7, 7, '7 of 14 credits were charged, 7 returned.'],
    [1201, 1200, 1, '1,200 of 1,201 credits were charged, 1 returned.'],
  ])(
    'the email about a run of %i credits names %i charged and %i returned credits',
    (price, charged, refunded, sentence) => {
      const credits = { ...run.credits, price, charged, refunded };
      expect(words({ credits }).paragraphs[1]).toBe(sentence);
    },
  );

  test.each([
    [{ seats: 7, simulatedSeats: 0, standIn: null }, []],
    [
      { seats: 7, simulatedSeats: 7, standIn },
      [
        "Simulated. A prepared case, 'Should I raise my prices?', stands in for your question.",
        'The question of the recorded case: “From $240 to $290? 34 customers.”',
      ],
    ],
    [
      { seats: 7, simulatedSeats: 7, standIn: { ...standIn, exact: true } },
      ['Simulated. A prepared case answers this question.'],
    ],
    [
      { seats: 7, simulatedSeats: 2, standIn: { ...standIn, exact: true } },
      ['Simulated (2 of 7 models). A prepared case answers this question.'],
    ],
    [
      { seats: 7, simulatedSeats: 7, standIn: null },
      ['Simulated. Example answers, no provider was called for them.'],
    ],
  ])(
    'the email about a run marks what is simulated, and whose question it answers: %j',
    (simulated, marks) => {
      expect(words({ simulated }).paragraphs.slice(2)).toEqual(marks);
    },
  );
});
