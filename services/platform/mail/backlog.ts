import type { Queryable } from '#db/connect.ts';

/** Mails that wait to be sent, and the age of the oldest. The index `mail_open` holds these rows alone. */
export async function readMailBacklog(
  client: Queryable,
): Promise<{ count: number; oldestSeconds: number }> {
  const { rows } = await client.query<{ count: number; oldestSeconds: number }>(
    `select count(*)::float8,
       coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as "oldestSeconds"
     from mail where status = 'queued'`,
  );
  return rows[0]!;
}
