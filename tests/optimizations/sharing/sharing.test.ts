import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import type { Share, SharedReply } from '#services/optimizations/contract/sharing.ts';
import { shareLimits } from '#services/optimizations/contract/sharing.ts';
import { runMarkdown } from '#services/optimizations/reading/markdown/run-markdown.ts';
import { describeRun } from '#services/optimizations/reading/describe.ts';
import type { CallOptions, Person } from '#tests/support/app.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { testPassword } from '#tests/support/password.ts';
import { give } from '#tests/support/processes/service.ts';

const question = {
  challenge: 'Should I sell my course as a subscription, or keep the one-time price?',
  context: 'Canary context: we sell two hundred a year.',
  objectives: ['Canary objective: a steady income'],
  constraints: ['Canary constraint: five hours a week'],
  files: [{ name: 'canary-file.csv', text: 'Canary file: 4 refunds' }],
  challenge_type: 'product',
  strategy: 'fast',
};
const fact = 'Canary fact: half of them asked for a monthly plan.';

let council: TestCouncil;
let person: Person;
let run: Optimization;
/** Milliseconds that the clock is ahead. */
let ahead = 0;

beforeAll(async () => {
  council = await createTestCouncil({
    replace: () => ({ clock: () => Date.now() + ahead }),
  });
  person = await council.signUp();
  await give(council, person.userId, 200);
  run = await council.ask(person, question);
});
afterAll(async () => council.close());

async function owners(path: string, options: CallOptions = {}, by = person): Promise<Response> {
  return council.call(path, { token: by.token, ...options });
}

async function share(body: object = {}, runId = run.id): Promise<Share> {
  return council.data<Share>(`/optimizations/${runId}/shares`, { token: person.token, body });
}

async function revoke({ id }: Share, runId = run.id, by = person): Promise<number> {
  return (await owners(`/optimizations/${runId}/shares/${id}`, { method: 'DELETE' }, by)).status;
}

const sharesOf = async (runId = run.id) =>
  council.data<Share[]>(`/optimizations/${runId}/shares`, { token: person.token });

const tokenOf = ({ url }: Share): string => url.split('/').at(-1)!;

const read = async (of: Share): Promise<Response> => council.call(`/shared/${tokenOf(of)}`);

async function shown(of: Share): Promise<{ reply: SharedReply; text: string }> {
  const response = await read(of);
  expect(response.status).toBe(200);
  const text = await response.text();
  return { text, reply: (JSON.parse(text) as { data: SharedReply }).data };
}

/** Everything of a 404 but its own id. */
async function refusal(response: Response): Promise<unknown> {
  expect(response.status).toBe(404);
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(response.headers.get('x-robots-tag')).toBe('noindex');
  return { ...((await response.json()) as object), request_id: '' };
}

describe('a link', () => {
  test('a link shows the result to anyone, is not cached or indexed, and says when it expires', async () => {
    const made = await share({ expires_in_days: 7 });
    expect(made.url).toMatch(/\/shared\/[\w-]{43}$/);
    expect(Date.parse(made.expires_at) - Date.parse(made.created_at)).toBe(7 * 86_400_000);
    const response = await read(made);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('x-robots-tag')).toBe('noindex');
    expect(response.headers.get('referrer-policy')).toBe('no-referrer');
    const { reply } = await shown(made);
    expect(reply).toMatchObject({
      shows_context: false,
      expires_at: made.expires_at,
      newer_shared: false,
      run: {
        id: made.id,
        challenge: question.challenge,
        status: 'completed',
        simulated: true,
        outcome: run.outcome,
        votes_for: run.votes_for,
        agreement_score: run.agreement_score,
      },
    });
    const { next_steps: steps, ...result } = run.result!;
    expect(reply.run.result).toMatchObject(result);
    expect(reply.run.result?.next_steps).toHaveLength(steps.length);
    expect(reply.run.evolution.bias).toEqual(run.evolution.bias);
    expect(reply.run.models.map(({ name, rank }) => [name, rank])).toEqual(
      run.models.map(({ name, rank }) => [name, rank]),
    );
    expect(await revoke(made)).toBe(200);
  });

  test('only its owner lists, makes and revokes the links of a run', async () => {
    const made = await share();
    const stranger = await council.signUp();
    const path = `/optimizations/${run.id}/shares`;
    expect((await owners(path, {}, stranger)).status).toBe(404);
    expect((await owners(path, { body: {} }, stranger)).status).toBe(404);
    expect(await revoke(made, run.id, stranger)).toBe(404);
    for (const options of [{}, { body: {} }])
      expect((await council.call(path, options)).status).toBe(401);
    expect(await sharesOf()).toEqual([made]);
    expect(await revoke(made)).toBe(200);
    expect(await revoke(made)).toBe(200);
    expect(await sharesOf()).toEqual([]);
    expect(await revoke({ ...made, id: `shr_${'0'.repeat(26)}` })).toBe(404);
  });

  test('a link needs a run with a result, and a number of days from 1 to 365', async () => {
    const { id } = await council.data<Optimization>('/optimizations', {
      token: person.token,
      body: question,
    });
    const refused = await owners(`/optimizations/${id}/shares`, { body: {} });
    expect([refused.status, await refused.json()]).toMatchObject([409, { code: 'no-result' }]);
    for (const days of [0, 366, 1.5, '7'])
      expect(
        (await owners(`/optimizations/${run.id}/shares`, { body: { expires_in_days: days } }))
          .status,
      ).toBe(400);
  });

  test('a repeat with the same Idempotency-Key gives the same link', async () => {
    const path = `/optimizations/${run.id}/shares`;
    const options = { token: person.token, body: {}, key: 'one-link' };
    const once = await council.data<Share>(path, options);
    expect(await council.data<Share>(path, options)).toEqual(once);
    expect(await sharesOf()).toEqual([once]);
    const { rows } = await council.core.pool.query<{ body: unknown }>(
      `select body from idempotency_key where key = 'one-link'`,
    );
    expect(rows).toEqual([{ body: null }]);
    await revoke(once);
  });

  test('a run has a limited number of live links, also when they are made at once', async () => {
    const path = `/optimizations/${run.id}/shares`;
    const all = await Promise.all(
      Array.from({ length: shareLimits.live + 3 }, async () => owners(path, { body: {} })),
    );
    const codes = await Promise.all(
      all.map(async (one) => ((await one.json()) as { code?: string }).code ?? one.status),
    );
    expect(codes.filter((code) => code === 201)).toHaveLength(shareLimits.live);
    expect(codes.filter((code) => code === 'too-many-shares')).toHaveLength(3);
    const made = await sharesOf();
    expect(new Set(made.map(tokenOf)).size).toBe(shareLimits.live);
    await revoke(made[0]!);
    await share();
    for (const one of await sharesOf()) await revoke(one);
  });
});

describe('a link that does not work', () => {
  test('unknown, revoked, expired and hidden links get the same 404 at once, and a restored run its live links back', async () => {
    const [kept, revoked, short] = [
      await share(),
      await share(),
      await share({ expires_in_days: 1 }),
    ];
    const unknown = await refusal(await council.call(`/shared/${'x'.repeat(43)}`));
    for (const token of ['x', '%00', 'é', 'x'.repeat(3_000)])
      expect(await refusal(await council.call(`/shared/${encodeURIComponent(token)}`))).toEqual(
        unknown,
      );

    await revoke(revoked);
    expect(await refusal(await read(revoked))).toEqual(unknown);

    ahead = 86_400_000 - 60_000;
    expect((await read(short)).status).toBe(200);
    ahead = 86_400_000;
    expect(await refusal(await read(short))).toEqual(unknown);
    expect((await read(kept)).status).toBe(200);
    ahead = 0;

    expect((await owners(`/optimizations/${run.id}`, { method: 'DELETE' })).status).toBe(200);
    for (const one of [kept, revoked]) expect(await refusal(await read(one))).toEqual(unknown);
    expect((await owners(`/optimizations/${run.id}/shares`)).status).toBe(404);
    await owners(`/optimizations/${run.id}/restore`, { method: 'POST' });
    expect((await read(kept)).status).toBe(200);
    expect(await refusal(await read(revoked))).toEqual(unknown);
    for (const one of await sharesOf()) await revoke(one);
  });

  test('the erasure of an account ends its links with the request', async () => {
    const leaving = await council.signUp();
    await give(council, leaving.userId, 50);
    const theirs = await council.ask(leaving, question);
    const made = await council.data<Share>(`/optimizations/${theirs.id}/shares`, {
      token: leaving.token,
      body: {},
    });
    expect((await read(made)).status).toBe(200);
    const asked = await owners(
      '/users/me',
      { method: 'DELETE', body: { password: testPassword } },
      leaving,
    );
    expect(asked.status).toBe(200);
    expect((await read(made)).status).toBe(404);
    await expect
      .poll(async () => rowsOf(leaving.userId), { timeout: 30_000, interval: 100 })
      .toBe(0);
    expect((await read(made)).status).toBe(404);
  });
});

async function rowsOf(userId: string): Promise<number | null> {
  const { rowCount } = await council.core.pool.query('select from share_link where user_id = $1', [
    userId,
  ]);
  return rowCount;
}

describe('what a reader gets', () => {
  /** What must be nowhere in a reply. */
  const owned = (): string[] => [run.id, person.userId, person.email, 'Canary file', 'canary-file'];
  const besides = ['Canary context', 'Canary objective', 'Canary constraint', 'Canary fact'];

  /** Keys of figures that are the owner's, with their values, wherever they are. */
  function amountsIn(value: unknown): [string, unknown][] {
    if (typeof value !== 'object' || value === null) return [];
    return Object.entries(value).flatMap(([key, inner]): [string, unknown][] => [
      ...(/^(?:cost|credit|price|charged|refunded|captured|usage|reserved)/i.test(key)
        ? [[key, inner] as [string, unknown]]
        : []),
      ...amountsIn(inner),
    ]);
  }

  test('a reader gets no context, file, amount, tick, or id of the owner or the run', async () => {
    await council.call(`/optimizations/${run.id}/next-steps/0`, {
      method: 'PUT',
      token: person.token,
      body: { done: true },
    });
    expect(amountsIn(run).some(([, amount]) => typeof amount === 'number' && amount > 0)).toBe(
      true,
    );
    const made = await share();
    const { text, reply } = await shown(made);
    for (const canary of [...owned(), ...besides]) expect(text).not.toContain(canary);
    for (const [key, amount] of amountsIn(reply))
      expect([0, null, ''], `${key}: ${JSON.stringify(amount)}`).toContain(amount);
    expect(text).not.toContain('"done"');
    for (const key of ['refinable', 'newer', 'files', 'credits', 'root_id'])
      expect(Object.keys(reply.run)).not.toContain(key);
    expect(reply.run.council.schedule.prices).toBeUndefined();
    await revoke(made);
  });

  test('a link that shows the context shows all but the files', async () => {
    const made = await share({ shows_context: true });
    const { text, reply } = await shown(made);
    expect(reply.run).toMatchObject({
      context: question.context,
      objectives: question.objectives,
      constraints: question.constraints,
    });
    for (const canary of owned()) expect(text).not.toContain(canary);
    await revoke(made);
  });

  test('the Markdown of a reader has the result and no cost', async () => {
    const made = await share();
    const { reply } = await shown(made);
    const markdown = runMarkdown(describeRun(reply.run.council, 0));
    const own = runMarkdown(run);
    const costs = /Cost, time and tokens|The models (?:would have )?cost|credits? (?:was|were) /;
    expect(markdown).toContain(run.result!.decision.slice(0, 20));
    expect(markdown).toMatch(/The run took \d+ seconds?\./);
    expect(own).toMatch(costs);
    expect(markdown).not.toMatch(costs);
    await revoke(made);
  });
});

describe('a refinement', () => {
  test('a refinement is shared on its own, hides what was given, and marks the earlier result only when it is shared', async () => {
    const claim = Object.keys(run.council.ledger?.claims ?? {})[0]!;
    const first = await share();
    const begun = await council.data<Optimization>(`/optimizations/${run.id}/refine`, {
      token: person.token,
      body: { changed_fact: fact, claim_id: claim },
    });
    const refined = await council.ended(person, begun.id);
    expect(refined.status).toBe('completed');
    expect((await shown(first)).reply.newer_shared).toBe(false);

    const [closed, open] = [
      await share({}, refined.id),
      await share({ shows_context: true }, refined.id),
    ];
    expect(await sharesOf()).toEqual([first]);
    const { text, reply } = await shown(closed);
    for (const canary of ['Canary', run.id, refined.id]) expect(text).not.toContain(canary);
    expect(reply.run.refines).toMatchObject({
      number: 1,
      about: 'fact',
      text: '',
      claim_id: claim,
    });
    const markdown = runMarkdown(describeRun(reply.run.council, 0));
    expect(markdown).toContain('The changed fact: Not shared');
    expect(markdown).not.toContain('words from the changed fact');
    expect(runMarkdown(describeRun((await shown(open)).reply.run.council, 0))).toContain(fact);

    expect((await shown(first)).reply.newer_shared).toBe(true);
    expect((await shown(closed)).reply.newer_shared).toBe(false);

    // It is deleted and restored with its root.
    await owners(`/optimizations/${run.id}`, { method: 'DELETE' });
    for (const one of [first, closed, open]) expect((await read(one)).status).toBe(404);
    await owners(`/optimizations/${run.id}/restore`, { method: 'POST' });
    expect((await read(closed)).status).toBe(200);

    for (const one of [closed, open]) await revoke(one, refined.id);
    expect((await shown(first)).reply.newer_shared).toBe(false);
    await revoke(first);
  });
});

test('making and revoking a link are in the audit log, and neither log has a token', async () => {
  const made = await share({ expires_in_days: 3, shows_context: true });
  await read(made);
  await revoke(made);
  const { rows } = await council.core.pool.query<{ action: string; detail: unknown }>(
    `select action, detail from audit_log where subject = $1 and user_id = $2 order by entry_id`,
    [made.id, person.userId],
  );
  expect(rows).toEqual([
    {
      action: 'share.created',
      detail: { run_id: run.id, shows_context: true, expires_in_days: 3 },
    },
    { action: 'share.revoked', detail: { run_id: run.id } },
  ]);
  expect(council.logged.join('')).toContain('/shared/:token');
  expect(council.logged.join('')).not.toContain(tokenOf(made));
});

test('the export lists all links without their tokens', async () => {
  const made = await share();
  const response = await owners('/users/me/export');
  const text = await response.text();
  const {
    data: { tables },
  } = JSON.parse(text) as { data: { tables: { share_links: object[] } } };
  expect(tables.share_links).toContainEqual({
    id: made.id,
    run_id: run.id,
    shows_context: false,
    created_at: made.created_at,
    expires_at: made.expires_at,
    revoked_at: null,
  });
  expect(text).not.toContain(tokenOf(made));
  await revoke(made);
});
