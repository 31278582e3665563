import { setTimeout as sleep } from 'node:timers/promises';
import { verifyAnchors } from '#db/anchors.ts';
import { readEventsOfType, readStream } from '#db/streams.ts';
import { verifyEvents } from '#db/verify-events.ts';
import { readAccount, readAccountIds } from '#projections/credit-account.ts';
import { readUnbalanced } from '#projections/credit-ledger.ts';
import { creditStream } from '#services/credits/account/events.ts';
import { addTrialBalances } from '#services/credits/account/movements.ts';
import {
  balanceDifferences,
  recordedCreditEvents,
  replay,
  settlementDifferences,
} from '#services/credits/audit/replay.ts';
import type { Difference, Replay } from '#services/credits/audit/replay.ts';
import { unfinished } from '#services/credits/audit/unfinished.ts';
import { counted, printResult } from '#services/cli/command.ts';
import type { CliCommand } from '#services/cli/command.ts';
import { userIdNamed } from '#services/cli/database.ts';
import type { Reading } from '#services/cli/database.ts';
import type { Settlement } from '#services/optimizations/run/events.ts';
import { runIdOf, streamOf } from '#services/optimizations/run/events.ts';
import { anchorReport, rootOf } from './anchors.ts';

export const verifyCommand: CliCommand = {
  noun: 'credits',
  verb: 'verify',
  arguments: '[<email|user id>]',
  summary: 'Recomputes accounts from their events and checks them against what is stored.',
  options: {
    root: { type: 'string', help: "An anchor's root, from the log, to check that it still holds" },
  },
  reads: true,
  async run(call) {
    const { document, lines } = await verifyCredits(call.database, {
      named: call.positionals[0],
      root: rootOf(call),
    });
    printResult(call, document, lines);
    return document.verified ? 0 : 1;
  },
};

/** One account, or all of them with the ledger and the anchors. */
export async function verifyCredits(
  database: Reading,
  { named, root }: { named?: string | undefined; root?: string | undefined } = {},
) {
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
  const events = accounts.reduce((sum, account) => sum + account.events, 0);
  const verified =
    faulty.length === 0 &&
    unbalanced.length === 0 &&
    anchors.broken.length === 0 &&
    anchors.missing.length === 0 &&
    trial.balanced;
  return {
    document: {
      accounts: accounts.length,
      events,
      verified,
      differences: faulty.map(({ userId, differences }) => ({ user_id: userId, differences })),
      unbalanced_transactions: unbalanced,
      anchors: anchored.document,
      trial_balance: trial,
    },
    lines: [
      `${counted(accounts.length, 'account')}, ${counted(events, 'event')}`,
      ...faulty.flatMap(({ userId, differences }) =>
        differenceLines(differences).map((line) => `${userId}: ${line}`),
      ),
      ...unbalanced.map((id) => `transaction ${id} does not sum to 0`),
      ...anchored.lines,
      trialLine(trial),
      verified ? 'Verified.' : 'Differences were found.',
    ],
  };
}

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

async function historySum(pool: Reading['pool'], userId: string): Promise<number> {
  const { rows } = await pool.query<{ sum: number }>(
    'select coalesce(sum(amount), 0)::float8 as sum from credit_history where user_id = $1',
    [userId],
  );
  return rows[0]?.sum ?? 0;
}

/** The settlements that the concluded runs of an account carry. */
async function settlementsOf(
  pool: Reading['pool'],
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

export function differenceLines(differences: readonly Difference[]): string[] {
  return differences.map(
    ({ position, what, recorded, recomputed }) =>
      `${position === null ? '' : `position ${position}: `}${what} is ${recorded}, should be ${recomputed}`,
  );
}

export function trialLine(trial: Replay['trial_balance']): string {
  const { granted, available, held, consumed, refunded, revoked, balanced } = trial;
  const cash = `cash pending ${trial.cash_pending} + cash refunded ${trial.cash_refunded}`;
  return `granted ${granted} = available ${available} + held ${held} + consumed ${consumed} − refunded ${refunded} + ${cash} + revoked ${revoked}${balanced ? '' : '  DOES NOT BALANCE'}`;
}
