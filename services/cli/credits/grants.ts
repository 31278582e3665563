import { csvLine } from '#services/platform/csv.ts';
import { IntegrityError } from '#services/platform/seal.ts';
import {
  counted,
  operatorName,
  print,
  printResult,
  table,
  text,
  UsageError,
} from '#services/cli/command.ts';
import type { CliCommand } from '#services/cli/command.ts';
import { dayOf } from '#services/cli/time.ts';
import { asOperator } from '#services/cli/people/operator.ts';
import type { Database, Reading } from '#services/cli/database.ts';
import type { RecordedEvent } from '#db/recorded-event.ts';
import { userOf } from '#services/credits/account/events.ts';

/**
 * What operators gave, and who they were, from the events. The reason is sealed under the account's key;
 * `--open` opens it, and the audit log records that for every account.
 */
const grants: CliCommand = {
  noun: 'credits',
  verb: 'grants',
  arguments: '',
  summary: 'Lists grants and who made them, oldest first.',
  options: {
    since: { type: 'string', help: 'From this UTC day on, such as 2026-11-20' },
    open: { type: 'boolean', help: 'Decrypt the reasons (recorded in the audit log)' },
    csv: { type: 'boolean', help: 'Print comma-separated values' },
  },
  reads: true,
  async run(call) {
    const { database, options } = call;
    const since = text(call, 'since') ?? null;
    if (since !== null && dayOf(since) === null)
      throw new UsageError('--since must be a UTC day such as 2026-11-20');
    const open = options['open'] === true ? asOperator(database) : null;
    const events = await readGrants(database, since);
    if (open !== null) await recordOpening(open, events);
    const given = [];
    for (const event of events) given.push(await grantOf(event, open));
    if (options['csv'] === true) {
      for (const cells of [columns, ...given.map((grant) => columns.map((name) => grant[name]))])
        print(csvLine(cells).trimEnd());
      return 0;
    }
    const operators = byOperator(given);
    printResult(call, { since, grants: given, operators }, [
      ...table([columns, ...given.map((grant) => columns.map((name) => grant[name] ?? '--'))]),
      '',
      ...operators.map(
        ({ operator, grants: count, credits }) =>
          `${operator}: ${credits} credits in ${counted(count, 'grant')}`,
      ),
    ]);
    return 0;
  },
};

const columns = ['at', 'operator', 'user_id', 'credits', 'type', 'lot_id', 'reason'] as const;

type Grant = {
  at: string;
  operator: string;
  user_id: string;
  credits: number;
  type: string;
  lot_id: string;
  /** `[sealed]`, what the operator wrote, `[erased]` or `[damaged]`; null when nothing was written. */
  reason: string | null;
};

type EventRow = {
  stream_id: string;
  data: RecordedEvent['data'];
  actor: string;
  at: string;
};

async function readGrants({ pool }: Reading, since: string | null): Promise<EventRow[]> {
  const { rows } = await pool.query<EventRow>(
    `select m.stream_id, m.message_data as data, m.message_metadata ->> 'actor' as actor,
       m.message_metadata ->> 'occurredAt' as at
     from emt_messages m
     where m.message_type = 'CreditsGranted' and m.message_metadata ->> 'actor' like 'operator:%'
       and ($1::text is null or m.message_metadata ->> 'occurredAt' >= $1)
     order by m.message_metadata ->> 'occurredAt', m.global_position`,
    [since],
  );
  return rows;
}

async function recordOpening({ audit }: Database, events: readonly EventRow[]): Promise<void> {
  const actor = operatorName();
  for (const streamId of new Set(events.map((event) => event.stream_id)))
    await audit({ actor, action: 'events.open', subject: streamId });
}

async function grantOf(event: EventRow, open: Pick<Database, 'sealer'> | null): Promise<Grant> {
  const { data, stream_id: streamId, actor, at } = event;
  return {
    at,
    operator: actor.slice('operator:'.length),
    user_id: userOf(streamId),
    credits: Number(data['credits']),
    type: String(data['source']),
    lot_id: String(data['lotId']),
    reason: await reasonOf(streamId, data['sealed'], open),
  };
}

/** A damaged reason does not hide the others from an auditor. */
async function reasonOf(
  streamId: string,
  sealed: unknown,
  open: Pick<Database, 'sealer'> | null,
): Promise<string | null> {
  if (typeof sealed !== 'object' || sealed === null || !('note' in sealed)) return null;
  if (typeof sealed.note !== 'string') return null;
  if (open === null) return '[sealed]';
  try {
    const opened = await open.sealer.open(sealed.note, { stream: streamId, field: 'note' });
    return 'erased' in opened ? '[erased]' : opened.text;
  } catch (error) {
    if (error instanceof IntegrityError) return '[damaged]';
    throw error;
  }
}

function byOperator(given: readonly Grant[]) {
  return [...Map.groupBy(given, ({ operator }) => operator)].map(([operator, own]) => ({
    operator,
    grants: own.length,
    credits: own.reduce((sum, { credits }) => sum + credits, 0),
  }));
}

export const grantCommands: readonly CliCommand[] = [grants];
