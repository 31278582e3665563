export type Outage = { from: number; to: number };

export const lengthOf = ({ from, to }: Outage): number => to - from;

/** When the simulated providers were unavailable to workers that were running, and since when they are up. */
export function outagesOf(log: string): { outages: Outage[]; upSince: number | null } {
  const outages: Outage[] = [];
  let from: number | null = null;
  let upSince: number | null = null;
  for (const line of log.split('\n')) {
    const time = Date.parse(/"time":"([^"]+)"/.exec(line)?.[1] ?? '');
    if (line.includes('"child":"sandbox"') && line.includes('Ended; restarting')) {
      from ??= time;
      upSince = null;
    }
    if (!line.includes('sandbox listening')) continue;
    upSince = time;
    if (from !== null) outages.push({ from, to: time });
    from = null;
  }
  return { outages, upSince };
}
