import type { Queryable } from '#db/connect.ts';
import type { UsageRecord } from '#services/models/model.ts';

/** Calls of models that no run pays for. A row holds no text and names no person. */
export type PlatformCall = {
  kind: 'question_check';
  model: string;
  usage: UsageRecord;
  /** Micro-dollars that it costs us: 0 for a simulated or local model, null while unknown. */
  costMicros: number | null;
  /** When it began, ISO 8601 UTC. */
  at: string;
};

export async function recordPlatformCall(
  client: Queryable,
  { kind, model, usage, costMicros, at }: PlatformCall,
): Promise<void> {
  await client.query(
    `insert into platform_call (kind, model, usage, cost_micros, at) values ($1, $2, $3, $4, $5)`,
    [kind, model, JSON.stringify(usage), costMicros, at],
  );
}

/** The known cost of calls that began at `since` (ISO 8601) or later, in micro-dollars. */
export async function platformCostSince(client: Queryable, since: string): Promise<number> {
  const { rows } = await client.query<{ cost: number }>(
    `select coalesce(sum(cost_micros), 0)::float8 as cost from platform_call where at >= $1`,
    [since],
  );
  return rows[0]?.cost ?? 0;
}
