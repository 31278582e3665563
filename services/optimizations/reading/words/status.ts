import type { RunStatus } from '#services/optimizations/contract/summary.ts';

/** A run's status in words: the same in lists, on its page, in files and in emails. */
export const runStatusWords: Readonly<Record<RunStatus, string>> = {
  pending: 'Pending',
  processing: 'Processing',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Canceled',
};
