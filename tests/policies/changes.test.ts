import { afterAll, beforeAll, expect, test } from 'vitest';
import { UsageError } from '#services/cli/command.ts';
import { policyCommands } from '#services/cli/site/policies.ts';
import { createAnnouncement } from '#services/http/announcement.ts';
import { sweepAnnouncements } from '#services/policies/changes.ts';
import { runHere } from '#tests/cli/in-process.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';

let app: TestApp;
let now = Date.parse('2026-11-24T10:00:00Z');
beforeAll(async () => {
  app = await createTestApp({ clock: () => now });
});
afterAll(async () => app.close());

const announce = (effective: string, summary = 'Runs <b>cost</b> less.\nNothing else.') =>
  runHere(app, policyCommands, [
    'policies',
    'announce',
    '--effective',
    effective,
    '--summary',
    summary,
  ]);

const announcement = (): (() => Promise<string>) =>
  createAnnouncement({ ...app.core, clock: () => now, log: app.core.log });

test.each([
  ['2026-12-24', '--effective must be 2026-12-25 or later: 30 full days after today'],
  ['2026-02-30', '--effective must be a day such as 2026-12-31'],
  ['tomorrow', '--effective must be a day such as 2026-12-31'],
])('a change cannot be announced for %s', async (day, message) => {
  await expect(announce(day)).rejects.toThrow(new UsageError(message));
});

test('an announced change is on every page until it applies, and every user with a confirmed address is emailed once, however late it is confirmed', async () => {
  const people = await Promise.all([app.signUp(), app.signUp(), app.signUp()]);
  const [ann, bob, unconfirmed] = people;
  await app.core.pool.query(
    `update users set created_at = $2, email_confirmed_at = case when id <> $3 then $2::timestamptz end
     where id = any ($1)`,
    [people.map(({ userId }) => userId), new Date(now - 1_000), unconfirmed?.userId],
  );
  await announce('2026-12-31');
  const markup = await announcement()();
  expect(markup).toContain('change on December 31, 2026');
  expect(markup).toContain('<p>Runs &#60;b&#62;cost&#60;/b&#62; less.</p><p>Nothing else.</p>');

  expect(await sweepAnnouncements(app.core)).toBe(2);
  expect(await sweepAnnouncements(app.core)).toBe(0);
  // As after a worker that was killed before it noted how far it came.
  await app.core.pool.query(`update policy_change set mailed_to = '', mailed_at = null`);
  for (const _ of ['a page', 'its end']) await sweepAnnouncements(app.core);
  const { rows } = await app.core.pool.query<{ user_id: string }>(
    `select user_id from mail where kind = 'policy-change' order by user_id`,
  );
  expect(rows.map(({ user_id: id }) => id)).toEqual([ann?.userId, bob?.userId].toSorted());
  expect(rows.some(({ user_id: id }) => id === unconfirmed?.userId)).toBe(false);

  await app.core.pool.query('update users set email_confirmed_at = $2 where id = $1', [
    unconfirmed?.userId,
    new Date(now + 1_000),
  ]);
  now += 60_000;
  expect(await sweepAnnouncements(app.core)).toBe(1);
  expect(await sweepAnnouncements(app.core)).toBe(0);

  now = Date.parse('2026-12-31T00:00:00Z');
  expect(await announcement()()).toBe('');
});

test('a withdrawn announcement leaves the pages', async () => {
  now = Date.parse('2027-01-10T10:00:00Z');
  const { out } = await announce('2027-03-01');
  const id = out.split(' ')[0] ?? '';
  expect((await runHere(app, policyCommands, ['policies', 'list'])).out).toContain(id);
  expect(await announcement()()).not.toBe('');
  await runHere(app, policyCommands, ['policies', 'withdraw', id]);
  expect(await announcement()()).toBe('');
});
