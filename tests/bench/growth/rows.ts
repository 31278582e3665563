import type postgres from 'postgres';

/** Rows that wait to be copied, as lines of COPY's text format. */
export type Rows = {
  messages: string[];
  streams: string[];
  snapshots: string[];
  keys: string[];
  users: string[];
  purchases: string[];
};

export function emptyRows(): Rows {
  return { messages: [], streams: [], snapshots: [], keys: [], users: [], purchases: [] };
}

export function row(values: readonly (string | number | null)[]): string {
  return `${values.map(field).join('\t')}\n`;
}

function field(value: string | number | null): string {
  if (value === null) return '\\N';
  if (typeof value === 'number') return String(value);
  return /[\\\t\n\r]/.test(value)
    ? value.replaceAll(/[\\\t\n\r]/g, (letter) => escapes[letter]!)
    : value;
}

const escapes: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
};

/** The columns of each list, with the values that are the same in every row. */
const targets: Readonly<Record<Exclude<keyof Rows, 'messages'>, string>> = {
  streams: 'emt_streams (stream_id, stream_position, stream_type, partition, stream_metadata)',
  snapshots:
    'stream_snapshot (stream_id, version, decider, decider_version, hash, occurred_at, state)',
  keys: 'data_key (key_id, kind, user_id, wrapped)',
  users: 'users (id, email, name, created_at, updated_at, email_confirmed_at)',
  purchases: `purchase (id, user_id, package_id, kind, credits, amount_minor, currency, status, session_id,
    payment_intent_id, payment_key, lot_id, paid_minor, tax_minor, created_at, updated_at, paid_at)`,
};

/** All rows in one transaction, whose id the events carry, as when they are appended. */
export async function copyRows(sql: postgres.Sql, rows: Rows): Promise<void> {
  await sql.begin(async (transaction) => {
    await transaction`set local synchronous_commit = off`;
    const [{ xid }] = (await transaction`select pg_current_xact_id()::text as xid`) as [
      { xid: string },
    ];
    await copy(
      transaction,
      `emt_messages (stream_id, stream_position, message_data, message_metadata, message_type,
         message_id, created, partition, message_kind, message_schema_version, transaction_id)`,
      rows.messages.map((line) => line.replace(/\n$/, `\temt:default\tE\t1\t${xid}\n`)),
    );
    await copy(
      transaction,
      targets.streams,
      rows.streams.map((line) => line.replace(/\n$/, '\temt:default\t{}\n')),
    );
    for (const name of ['snapshots', 'keys', 'users', 'purchases'] as const)
      await copy(transaction, targets[name], rows[name]);
  });
}

async function copy(
  sql: postgres.TransactionSql,
  target: string,
  lines: readonly string[],
): Promise<void> {
  if (lines.length === 0) return;
  const stream = await sql.unsafe(`copy ${target} from stdin`).writable();
  await new Promise<void>((resolve, reject) => {
    stream.once('error', reject);
    stream.once('finish', resolve);
    stream.end(lines.join(''));
  });
}
