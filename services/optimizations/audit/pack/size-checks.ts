import { failed } from '#services/optimizations/audit/check.ts';
import type { Check } from '#services/optimizations/audit/check.ts';
import type { AuditedRun, Evidence } from '#services/optimizations/audit/evidence.ts';

/**
 * Of one run in a file. A run of seven models has about 60 events and 25 calls; only the outage of a
 * provider makes many more, because each try of a call is an event. The history is read once for each slot,
 * so without limits a small file would take hours.
 */
const mostOf = { events: 2_000, calls: 1_000, slots: 60 } as const;

/** Before anything else, because every other check takes its time from them. */
export function sizeChecks({ runs }: Evidence): Check[] {
  return runs.flatMap((run) =>
    Object.entries(sizeOf(run)).flatMap(([what, size]) => {
      const most = mostOf[what as keyof typeof mostOf];
      return size <= most
        ? []
        : [
            failed(
              'size of the run',
              `${run.runId} has ${size} ${what}, and a file with more than ${most} is not checked`,
            ),
          ];
    }),
  );
}

function sizeOf({ events }: AuditedRun): { [Name in keyof typeof mostOf]: number } {
  const calls = events.filter(({ type }) => type === 'CallStarted');
  const slots = new Set(calls.map(({ data }) => data['slot']));
  return { events: events.length, calls: calls.length, slots: slots.size };
}
