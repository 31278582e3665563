import type pg from 'pg';

/**
 * Our indexes on every leaf of emmett's partitioned table: those of the readers, the one that makes a
 * message id unique in its stream, which emmett lacks, and one for the few events that move money or that
 * an operator caused. The books and lists over those read every account, and would read the whole log.
 */
const indexes = [
  { ending: 'by_transaction', on: '(transaction_id, global_position)' },
  { ending: 'by_position', on: '(global_position)' },
  { ending: 'message_id_once', on: '(stream_id, message_id)', isUnique: true },
  {
    ending: 'of_money',
    on: `(message_type, global_position) where message_type in ('CreditsGranted', 'ClawbackSet',
      'CashRefundRequested', 'CashRefundConfirmed', 'CashRefundFailed')`,
  },
];

/** Creates what is missing. Beside events already written it takes no lock that a command waits for. */
export async function indexMessages(client: pg.PoolClient): Promise<void> {
  const { rows: leaves } = await client.query<{ leaf: string }>(
    `select relid::regclass::text as leaf from pg_partition_tree('emt_messages') where isleaf`,
  );
  for (const { leaf } of leaves) {
    const { rows } = await client.query(`select from ${leaf} limit 1`);
    const concurrently = rows.length > 0 ? 'concurrently' : '';
    for (const { ending, on, isUnique } of indexes) {
      const name = `${leaf}_${ending}`;
      if (await isValid(client, name)) continue;
      // What an interrupted build has left behind.
      await client.query(`drop index ${concurrently} if exists ${name}`);
      await client.query(
        `create ${isUnique ? 'unique' : ''} index ${concurrently} ${name} on ${leaf} ${on}`,
      );
    }
  }
}

async function isValid(client: pg.PoolClient, name: string): Promise<boolean> {
  const { rows } = await client.query(
    'select from pg_index where indexrelid = to_regclass($1) and indisvalid',
    [name],
  );
  return rows.length > 0;
}
