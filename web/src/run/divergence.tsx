import type { ReactNode } from 'react';
import type { BiasAnalysis, Disagreement } from '#services/optimizations/contract.ts';
import { listed } from './words.ts';

/** One question the models disagree on: each side, its seats and its best words. */
export function Divergence({ area }: { area: Disagreement }): ReactNode {
  return (
    <div className="space-y-2">
      <p className="font-medium">{area.text}</p>
      <ul className="space-y-2">
        {area.sides.map((side) => (
          <li key={side.stance} className="border-s-2 border-line-strong ps-3 text-sm">
            <p>
              <span className="font-semibold">{stanceWord(side.stance)}</span>
              <span className="text-ink-2"> · {listed(side.seats)}</span>
            </p>
            {side.quote ? (
              <blockquote className="text-ink-2">
                {side.quote.text} <span className="whitespace-nowrap">({side.quote.seat})</span>
              </blockquote>
            ) : null}
          </li>
        ))}
      </ul>
      {area.settled_by === null ? null : (
        <p className="text-sm text-ink-2">
          <span className="font-medium text-ink">Both sides, and what would settle it: </span>
          {area.settled_by}
        </p>
      )}
    </div>
  );
}

/** What the minority has against the first answer. */
export function Flaws({
  report,
}: {
  report: NonNullable<BiasAnalysis['minority_report']>;
}): ReactNode {
  if (report.flaws.length === 0 && report.against.length > 0) {
    return (
      <p className="text-ink-2">
        {listed(report.against)} raised a fatal flaw against the first answer.
      </p>
    );
  }
  return report.flaws.map((flaw) => (
    <p key={flaw.seat + flaw.text} className="text-ink-2">
      Against the first answer, {flaw.seat}: {flaw.text}
    </p>
  ));
}

/** Stances on a claim are three fixed words; on the decision they are the options. */
function stanceWord(stance: string): string {
  const words: Readonly<Record<string, string>> = {
    agree: 'Agree',
    disagree: 'Disagree',
    unsure: 'Unsure',
  };
  return words[stance] ?? stance;
}
