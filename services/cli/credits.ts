import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { verifyAnchors } from '#db/anchors.ts';
import { readEventsOfType, readStream } from '#db/streams.ts';
import { verifyEvents } from '#db/verify-events.ts';
import { readAccount, readAccountIds, readBalance } from '#projections/credit-account.ts';
import { readUnbalanced } from '#projections/credit-ledger.ts';
import { creditLimits } from '#services/credits/contract.ts';
import { addTrialBalances } from '#services/credits/account/movements.ts';
import {
  balanceDifferences,
  recordedCreditEvents,
  replay,
  settlementDifferences,
} from '#services/credits/audit/replay.ts';
import type { Cut, Difference, Replay } from '#services/credits/audit/replay.ts';
import { unfinished } from '#services/credits/audit/unfinished.ts';
import { identityProblem } from '#services/identity/problems.ts';
import type { Settlement } from '#services/optimizations/run/events.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import {
  operatorName,
  print,
  printResult,
  required,
  say,
  table,
  text,
  UsageError,
} from './command.ts';
import type { CliCall, CliCommand, ReadingCall } from './command.ts';
import { anchorReport, rootOf } from './credits/anchors.ts';
import { personNamed, userIdNamed } from './database.ts';
import type { Database, Reading } from './database.ts';
import { creditStream } from '#services/credits/account/events.ts';
import { runIdOf, streamOf } from '#services/optimizations/run/events.ts';

const grant: CliCommand = {
  noun: 'credits',
  verb: 'grant',
  arguments: '<email|user id> <credits>',
  summary: 'Grants free credits. Records the operator and the reason.',
  options: {
    reason: { type: 'string', help: 'Reason for the grant (encrypted; auditors can read it)' },
    type: { type: 'string', help: 'bonus or other (default other)' },
    key: {
      type: 'string',
      help: 'Idempotency key: repeating it grants only once (default: every call grants)',
    },
  },
  async run(call) {
    const { database } = call;
    const credits = amountOf(required(call, 1, 'number of credits'));
    const reason = text(call, 'reason')?.trim();
    if (!reason) throw new UsageError('Missing: --reason');
    const source = text(call, 'type') ?? 'other';
    if (source !== 'bonus' && source !== 'other')
      throw new UsageError('--type must be bonus or other');
    const person = await personNamed(database, required(call, 0, 'email address'));
    if (person.erasing_at !== null) throw identityProblem('account-erasing');
    const operator = operatorName();
    await database.sealer.createDataKey('account', person.id, person.id);
    const note = await database.sealer.seal(
      person.id,
      { stream: creditStream(person.id), field: 'note' },
      reason,
    );
    await database.ledger.give({
      userId: person.id,
      credits,
      source,
      reason: 'operator',
      actor: operator,
      commandId: text(call, 'key') === undefined ? randomUUID() : keyed(person.id, call),
      note,
    });
    await database.pool.query(
      `insert into audit_log (actor, action, subject, user_id, detail)
       values ($1, 'credits.grant', $2, $2, $3)`,
      [operator, person.id, JSON.stringify({ credits, source })],
    );
    return showBalance(call, person.id);
  },
};

/** Digits only: 1e3 and 0x10 are probably mistakes. */
export function amountOf(given: string): number {
  const credits = /^[1-9]\d{0,6}$/.test(given) ? Number(given) : 0;
  if (credits < 1 || credits > creditLimits.amount)
    throw new UsageError(`The credits must be a whole number from 1 to ${creditLimits.amount}`);
  return credits;
}

function keyed(userId: string, call: CliCall): string {
  return uuidV5(userId, 'operator-grant', text(call, 'key') ?? '');
}

const balance: CliCommand = {
  noun: 'credits',
  verb: 'balance',
  arguments: '<email|user id>',
  summary: "Shows one person's balance.",
  options: {},
  reads: true,
  async run(call) {
    const named = required(call, 0, 'email address or id');
    return showBalance(call, await userIdNamed(call.database, named));
  },
};

async function showBalance(call: ReadingCall, userId: string): Promise<number> {
  const found = await readBalance(call.database.pool, userId);
  printResult(
    call,
    { user_id: userId, ...found },
    table(
      Object.entries(found).map(([name, figure]) => [
        name.replaceAll('_', ' '),
        typeof figure === 'boolean' ? (figure ? 'yes' : 'no') : figure,
      ]),
    ),
  );
  return 0;
}

const replayCommand: CliCommand = {
  noun: 'credits',
  verb: 'replay',
  arguments: '<email|user id>',
  summary: 'Lists every event of an account with a recomputed running balance, and checks it.',
  options: {
    at: { type: 'string', help: 'Up to a time (ISO 8601) or a position in the log, inclusive' },
    csv: { type: 'boolean', help: 'Print comma-separated values' },
  },
  reads: true,
  async run(call) {
    const userId = await userIdNamed(call.database, required(call, 0, 'email address or id'));
    const result = await replayOf(call.database, userId, cutOf(text(call, 'at')));
    if (call.options['csv'] === true) for (const line of csvOf(result)) print(line);
    else printResult(call, result, replayLines(result));
    for (const line of differenceLines(result.differences)) say(line);
    return result.verified ? 0 : 1;
  },
};

export function cutOf(at: string | undefined): Cut | undefined {
  if (at === undefined) return undefined;
  if (/^\d{1,15}$/.test(at)) return { position: Number(at) };
  const time = timeOf(at);
  if (time === null)
    throw new UsageError('--at must be a position or a time (ISO 8601, UTC unless it says so)');
  return { at: time };
}

/** `Date.parse` also takes -1, and reads the 30th of February as a day in March. */
function timeOf(given: string): string | null {
  const match =
    /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?)?$/.exec(
      given,
    );
  const day = Date.parse(`${match?.[1]}T00:00:00Z`);
  if (!match || Number.isNaN(day) || !new Date(day).toISOString().startsWith(match[1] ?? ''))
    return null;
  const isUtc = given.includes('T') && match[2] === undefined;
  const time = Date.parse(isUtc ? `${given}Z` : given);
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}

async function replayOf(database: Reading, userId: string, cut?: Cut): Promise<Replay> {
  const { events } = await readStream(database.pool, creditStream(userId));
  return replay(userId, recordedCreditEvents(events), cut);
}

function replayLines({ entries, balance: end, trial_balance: trial }: Replay): string[] {
  return [
    ...table([
      ['position', 'at', 'event', 'amount', 'available', 'held', 'debt', 'cause'],
      ...entries.map((entry) => [
        entry.position,
        entry.at,
        entry.type,
        signed(entry.amount),
        entry.available,
        entry.held,
        entry.debt,
        entry.cause,
      ]),
    ]),
    '',
    `available ${end.available}, held ${end.held}, debt ${end.debt}`,
    trialLine(trial),
  ];
}

function csvOf({ entries }: Replay): string[] {
  return [
    'position,at,type,amount,available,held,debt,cause',
    ...entries.map((entry) =>
      [
        entry.position,
        entry.at,
        entry.type,
        entry.amount,
        entry.available,
        entry.held,
        entry.debt,
        entry.cause,
      ].join(','),
    ),
  ];
}

const verify: CliCommand = {
  noun: 'credits',
  verb: 'verify',
  arguments: '[<email|user id>]',
  summary: 'Recomputes accounts from their events and checks them against what is stored.',
  options: {
    root: { type: 'string', help: "An anchor's root, from the log, to check that it still holds" },
  },
  reads: true,
  async run(call) {
    const { database } = call;
    const root = rootOf(call);
    const named = call.positionals[0];
    const ids =
      named === undefined ? await everyAccount(database) : [await userIdNamed(database, named)];
    const accounts = [];
    for (const userId of ids) accounts.push(await verifyAccount(database, userId));
    // A minute, the limit of the application's connections, is too short for a long log.
    const unbalanced =
      named === undefined ? await readUnbalanced(database.ownerPool ?? database.pool) : [];
    const trial = addTrialBalances(accounts.map((account) => account.trial));
    const faulty = accounts.filter((account) => account.differences.length > 0);
    const anchors = await verifyAnchors(database.pool, {
      ...(named === undefined ? {} : { streamId: creditStream(ids[0] ?? '') }),
      ...(root === undefined ? {} : { root }),
    });
    const anchored = anchorReport(anchors);
    const verified =
      faulty.length === 0 &&
      unbalanced.length === 0 &&
      anchors.broken.length === 0 &&
      anchors.missing.length === 0 &&
      trial.balanced;
    printResult(
      call,
      {
        accounts: accounts.length,
        events: accounts.reduce((sum, account) => sum + account.events, 0),
        verified,
        differences: faulty.map(({ userId, differences }) => ({ user_id: userId, differences })),
        unbalanced_transactions: unbalanced,
        anchors: anchored.document,
        trial_balance: trial,
      },
      [
        `${accounts.length} accounts, ${accounts.reduce((sum, one) => sum + one.events, 0)} events`,
        ...faulty.flatMap(({ userId, differences }) =>
          differenceLines(differences).map((line) => `${userId}: ${line}`),
        ),
        ...unbalanced.map((id) => `transaction ${id} does not sum to 0`),
        ...anchored.lines,
        trialLine(trial),
        verified ? 'Verified.' : 'Differences were found.',
      ],
    );
    return verified ? 0 : 1;
  },
};

type VerifiedAccount = {
  userId: string;
  events: number;
  differences: readonly Difference[];
  trial: Replay['trial_balance'];
};

/** Compares everything that is stored about one account with its events. */
async function verifyAccount(database: Reading, userId: string): Promise<VerifiedAccount> {
  for (let tries = 0; ; tries += 1) {
    const verified = await verifyOnce(database, userId);
    // A command may have committed between two of the reads, so a difference is read again.
    if (verified.differences.length === 0 || verified.settled || tries >= 20) return verified;
    await sleep(50);
  }
}

async function verifyOnce(
  database: Reading,
  userId: string,
): Promise<VerifiedAccount & { settled: boolean }> {
  const { pool } = database;
  const streamId = creditStream(userId);
  const { events } = await readStream(pool, streamId);
  const recorded = recordedCreditEvents(events);
  const replayed = replay(userId, recorded);
  const history = await historySum(pool, userId);
  const chain = await verifyEvents(pool, { streamId });
  const settlements = await settlementsOf(pool, recorded);
  const row = await readAccount(pool, userId);
  const { available, held, debt } = replayed.balance;
  const sum = available + held - debt;
  const differences: Difference[] = [
    ...replayed.differences,
    ...balanceDifferences(null, row, replayed.balance).map((one) => ({
      ...one,
      what: `account row: ${one.what}`,
    })),
    ...settlementDifferences(recorded, settlements),
    ...unfinished(recorded, database.clock()),
    ...chain.faults.map((fault) => ({
      position: fault.streamPosition,
      what: `${fault.kind} of the stream`,
      recorded: 'broken',
      recomputed: 'whole',
    })),
    ...(history === sum
      ? []
      : [{ position: null, what: 'sum of the history', recorded: history, recomputed: sum }]),
  ];
  const after = await readStream(pool, streamId, { from: events.length + 1 });
  return {
    userId,
    events: events.length,
    differences,
    trial: replayed.trial_balance,
    settled: after.events.length === 0,
  };
}

async function historySum(pool: Database['pool'], userId: string): Promise<number> {
  const { rows } = await pool.query<{ sum: number }>(
    'select coalesce(sum(amount), 0)::float8 as sum from credit_history where user_id = $1',
    [userId],
  );
  return rows[0]?.sum ?? 0;
}

/** The settlements that the concluded runs of an account carry. */
async function settlementsOf(
  pool: Database['pool'],
  recorded: ReturnType<typeof recordedCreditEvents>,
): Promise<Map<string, Settlement>> {
  const runs = recorded.flatMap(({ event }) =>
    event.type === 'CreditsReserved' ? [event.data.runId] : [],
  );
  const concluded = await readEventsOfType(pool, [...new Set(runs)].map(streamOf), 'RunConcluded');
  return new Map(
    concluded.map(({ streamId, data }) => [runIdOf(streamId), data['settlement'] as Settlement]),
  );
}

async function everyAccount({ pool }: Reading): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const page = await readAccountIds(pool, { after: ids.at(-1) ?? '', limit: 1000 });
    ids.push(...page);
    if (page.length < 1000) return ids;
  }
}

function differenceLines(differences: readonly Difference[]): string[] {
  return differences.map(
    ({ position, what, recorded, recomputed }) =>
      `${position === null ? '' : `position ${position}: `}${what} is ${recorded}, should be ${recomputed}`,
  );
}

function trialLine(trial: Replay['trial_balance']): string {
  const { granted, available, held, consumed, refunded, revoked, balanced } = trial;
  const cash = `cash pending ${trial.cash_pending} + cash refunded ${trial.cash_refunded}`;
  return `granted ${granted} = available ${available} + held ${held} + consumed ${consumed} − refunded ${refunded} + ${cash} + revoked ${revoked}${balanced ? '' : '  DOES NOT BALANCE'}`;
}

function signed(amount: number): string {
  return amount > 0 ? `+${amount}` : String(amount);
}

export const creditCommands: readonly CliCommand[] = [grant, balance, replayCommand, verify];
