import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { outcomeEmail } from '#services/optimizations/outcomes/email.ts';
import { sweepOutcomes } from '#services/optimizations/outcomes/sweep.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { createTestMailbox, deliverMails, linkIn } from '#tests/support/mail.ts';
import type { TestMailbox } from '#tests/support/mail.ts';
import { testPassword } from '#tests/support/password.ts';

/** The email that asks what came of a result, from the sweep to the mailbox. */
let council: TestCouncil;
let mailbox: TestMailbox;
let moment: number | null = null;

const day = 86_400_000;
const clock = () => moment ?? Date.now();

beforeAll(async () => {
  mailbox = await createTestMailbox();
  council = await createTestCouncil({ replace: () => ({ clock }) });
});
afterAll(async () => {
  await council.close();
  await mailbox.close();
});
beforeEach(async () => {
  moment = null;
  await mailbox.clear();
  // What earlier tests left open is not asked about again.
  await council.database.ownerPool.query(`update users set preferences = '{}'`);
});

async function personWith(wanted: boolean, confirmed = true): Promise<Person> {
  const person = await council.signUp();
  await council.core.ledger.give({
    userId: person.userId,
    credits: 10,
    source: 'other',
    reason: 'operator',
    actor: 'test',
    commandId: uuidV5(person.userId, 'emails'),
  });
  if (wanted)
    await council.data('/users/me', {
      method: 'PATCH',
      token: person.token,
      body: { preferences: { outcome_emails: true } },
    });
  await council.database.ownerPool.query('update users set email_confirmed_at = $2 where id = $1', [
    person.userId,
    confirmed ? new Date() : null,
  ]);
  return person;
}

const resultOf = async (person: Person) =>
  council.ask(person, { challenge: 'Lease or buy the van?', strategy: 'fast' });

async function mailsAt(run: Optimization, days: number, person: Person) {
  moment = Date.parse(run.ended_at!) + days * day;
  await sweepOutcomes(council.core);
  await deliverMails(council.core, mailbox);
  return mailbox.all(person.email);
}

describe('the email that asks for an outcome', () => {
  test('the email comes once on each day to a user who wants it, and leads to the form', async () => {
    const person = await personWith(true);
    const run = await resultOf(person);
    expect(await mailsAt(run, 29.99, person)).toEqual([]);
    const [first, ...more] = await mailsAt(run, 30, person);
    expect(more).toEqual([]);
    expect(first?.subject).toBe(`How did it turn out? ${run.title}`);
    expect(first?.text).toContain('at least 30 days ago');
    expect(first && linkIn(first)).toBe(
      `${council.core.publicUrl}/optimizations/${run.id}#outcome`,
    );
    await Promise.all([sweepOutcomes(council.core), sweepOutcomes(council.core)]);
    expect(await mailsAt(run, 31, person)).toHaveLength(1);
    expect(await mailsAt(run, 90, person)).toHaveLength(2);
    // The rows of sent emails are gone by then.
    await council.database.ownerPool.query('delete from mail');
    expect(await mailsAt(run, 92, person)).toHaveLength(2);
  });

  test('two sweeps at once send one email', async () => {
    const person = await personWith(true);
    const run = await resultOf(person);
    moment = Date.parse(run.ended_at!) + 30 * day;
    const queued = await Promise.all([sweepOutcomes(council.core), sweepOutcomes(council.core)]);
    expect(queued.toSorted((one, other) => one - other)).toEqual([0, 1]);
    await deliverMails(council.core, mailbox);
    expect(await mailbox.all(person.email)).toHaveLength(1);
  });

  test(
    'no email comes without the choice, to an unconfirmed address or to an account that is erased',
    { tags: ['long'] },
    async () => {
      const erasing = await personWith(true);
      const people = [await personWith(false), await personWith(true, false), erasing];
      for (const person of people) {
        const run = await resultOf(person);
        if (person === erasing)
          await council.database.ownerPool.query(
            'update users set erasing_at = now() where id = $1',
            [person.userId],
          );
        expect(await mailsAt(run, 30, person)).toEqual([]);
        moment = null;
      }
    },
  );

  test(
    'no email comes about a result that was answered for, put off, deleted or erased',
    { tags: ['long'] },
    async () => {
      const acts: ((run: Optimization, token: string) => Promise<unknown>)[] = [
        async ({ id }, token) =>
          council.data(`/optimizations/${id}/outcomes/30`, {
            method: 'PUT',
            token,
            body: { did: 'Leased it', happened: 'worse' },
          }),
        async ({ id }, token) =>
          council.data(`/optimizations/${id}/outcomes/30/dismiss`, { method: 'POST', token }),
        async ({ id }, token) => council.data(`/optimizations/${id}`, { method: 'DELETE', token }),
        async ({ id }) => council.core.sealer.eraseKey(id),
      ];
      for (const act of acts) {
        moment = null;
        const person = await personWith(true);
        const run = await resultOf(person);
        moment = Date.parse(run.ended_at!) + 30 * day;
        const { token } = await council.data<{ token: string }>('/auth/login', {
          body: { email: person.email, password: testPassword },
        });
        await act(run, token);
        expect(await mailsAt(run, 30, person)).toEqual([]);
      }
    },
  );

  test('a question that came more than a week ago is not emailed', async () => {
    const person = await personWith(true);
    const run = await resultOf(person);
    expect(await mailsAt(run, 37.01, person)).toEqual([]);
    expect(await mailsAt(run, 98, person)).toEqual([]);
  });

  test('the email says how to stop it and marks what was simulated', () => {
    const simulated = { seats: 7, simulatedSeats: 7, standIn: null };
    const { paragraphs, closing } = outcomeEmail(
      { resultId: 'opt_1', title: 'Buy?', simulated },
      90,
      'https://example.com',
    );
    expect(paragraphs[0]).toContain('“Buy?” was completed at least 90 days ago.');
    expect(paragraphs.at(-1)).toBe('Simulated. Example answers, no provider was called for them.');
    expect(closing).toEqual([
      'You asked for an email 30 and 90 days after a result. You can turn this off in your Account Settings.',
    ]);
  });
});
