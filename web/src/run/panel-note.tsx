import type { ReactNode } from 'react';
import type { RunView } from '#services/optimizations/reading/view.ts';

type Facts = Pick<NonNullable<RunView['seating']>, 'substitutions' | 'independence'>;

/** How a panel differs from the strategy's design; nothing where it does not. */
export function PanelNote({
  summary,
  substitutions,
  independence,
}: Facts & { summary: string | null }): ReactNode {
  const [first, ...others] = independence;
  if (substitutions.length === 0 && first === undefined) return null;
  return (
    <div className="space-y-2 text-sm text-ink-2">
      {first === undefined ? null : <p className="font-medium text-warn">{first}</p>}
      <details>
        <summary className="cursor-pointer">
          {summary ?? 'The panel differs from the design'}
        </summary>
        <ul className="mt-2 list-disc space-y-1 ps-5">
          {substitutions.map(({ seat, reason }) => (
            <li key={seat}>
              <span className="font-medium">{seat}</span>: {reason}
            </li>
          ))}
          {others.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      </details>
    </div>
  );
}

/** The same of a run, from what it stores. */
export function RunPanelNote({ view }: { view: Pick<RunView, 'seating'> }): ReactNode {
  if (view.seating === null) return null;
  const count = view.seating.substitutions.length;
  const summary = `${count} ${count === 1 ? 'place has' : 'places have'} a substitute`;
  return <PanelNote {...view.seating} summary={count === 0 ? null : summary} />;
}
