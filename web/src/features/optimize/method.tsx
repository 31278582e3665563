import type { ReactNode } from 'react';
import { phases } from '#web/run/drawing/phases.ts';

export function FourSteps(): ReactNode {
  return (
    <section aria-labelledby="steps" className="space-y-4">
      <h2 id="steps" className="text-2xl">
        What happens next
      </h2>
      <ol className="grid grid-cols-1 gap-px overflow-hidden rounded-card border border-line bg-line sm:grid-cols-2 lg:grid-cols-4">
        {phases.map(({ name, fact }, index) => (
          <li key={name} className="space-y-2 bg-surface p-4 sm:p-6">
            <h3 className="font-semibold">
              <span className="text-ink-3">{index + 1}</span> {name}
            </h3>
            <p className="text-ink-2">{fact}</p>
          </li>
        ))}
      </ol>
    </section>
  );
}
