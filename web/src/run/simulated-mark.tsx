import { FlaskConical } from 'lucide-react';
import type { ReactNode } from 'react';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { listed } from './words.ts';

/** Shown for as long as the run is on screen. */
export function SimulatedMark({ seats }: { seats: RunView['seats'] }): ReactNode {
  const simulated = seats.filter((seat) => seat.simulated);
  if (simulated.length === 0) return null;
  return (
    <p className="flex items-start gap-2 text-ink-2">
      <FlaskConical size={16} aria-hidden="true" className="mt-1 shrink-0" />
      {simulated.length === seats.length
        ? 'Simulated models: example answers, no provider was called'
        : `Simulated models (${listed(simulated.map((seat) => seat.seat))}): example answers, no provider was called for them`}
    </p>
  );
}
