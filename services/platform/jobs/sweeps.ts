import { parseCronItems, type ParsedCronItem, type Task } from 'graphile-worker';

/**
 * Periodic work, once per period over all worker processes: the queue's cron adds one job, which replaces a
 * waiting or failed job of an earlier period. The last period that was missed while no worker ran is made up
 * for at the next start.
 */
export type Sweep = {
  every?: 'minute' | 'hour';
  /** It acts once a UTC day, in the first of its periods that succeeds. */
  daily?: true;
  /** Sweeps with the same name run one at a time. */
  queueName?: string;
  sweep: () => Promise<unknown>;
};

const periods = {
  minute: { match: '* * * * *', backfillPeriod: 60_000 },
  hour: { match: '17 * * * *', backfillPeriod: 3_600_000 },
} as const;

export function cronOf(sweeps: Readonly<Record<string, Sweep>>): ParsedCronItem[] {
  return parseCronItems(
    Object.entries(sweeps).map(([task, { every = 'minute', queueName }]) => {
      const { match, backfillPeriod } = periods[every];
      const options = { backfillPeriod, jobKey: task, ...(queueName ? { queueName } : {}) };
      return { task, match, options };
    }),
  );
}

export function tasksOf(sweeps: Readonly<Record<string, Sweep>>): Record<string, Task> {
  return Object.fromEntries(
    Object.entries(sweeps).map(([task, { sweep }]) => [task, async () => void (await sweep())]),
  );
}
