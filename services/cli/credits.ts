import { randomUUID } from 'node:crypto';
import { readStream } from '#db/streams.ts';
import { readBalance } from '#projections/credit-account.ts';
import { creditLimits } from '#services/credits/contract.ts';
import { recordedCreditEvents, replay } from '#services/credits/audit/replay.ts';
import type { Cut, Replay } from '#services/credits/audit/replay.ts';
import { identityProblem } from '#services/identity/problems.ts';
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
import { differenceLines, trialLine, verifyCommand } from './credits/verify.ts';
import { personNamed, userIdNamed } from './database.ts';
import { timeOf } from './time.ts';
import type { Reading } from './database.ts';
import { creditStream } from '#services/credits/account/events.ts';

const grant: CliCommand = {
  noun: 'credits',
  verb: 'grant',
  arguments: '<email|user id> <credits>',
  summary: 'Grants free credits. Records the operator and the reason.',
  options: {
    reason: {
      type: 'string',
      help: 'Reason for the grant (encrypted; `credits grants --open` shows it)',
    },
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
    await database.audit({
      actor: operator,
      action: 'credits.grant',
      subject: person.id,
      userId: person.id,
      detail: { credits, source },
    });
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

function signed(amount: number): string {
  return amount > 0 ? `+${amount}` : String(amount);
}

export const creditCommands: readonly CliCommand[] = [grant, balance, replayCommand, verifyCommand];
