import type { ReactNode } from 'react';
import type { BiasAnalysis, Disagreement } from '#services/optimizations/contract.ts';
import {
  type Names,
  seatName,
  seatNames,
  settledTitle,
  sideWords,
  stanceWord,
} from '#services/optimizations/reading/result-words.ts';

/** One question the models disagree on: each side, its models and what one of them says about it. */
export function Divergence({ area, names }: { area: Disagreement; names: Names }): ReactNode {
  return (
    <div className="space-y-2">
      <p className="font-medium">{area.text}</p>
      <ul className="space-y-2">
        {area.sides.map((side) => (
          <li key={side.stance} className="border-s-2 border-line-strong ps-3 text-sm">
            <p>
              <span className="font-semibold">{stanceWord(side.stance)}</span>
              <span className="text-ink-2"> · {seatNames(names, side.seats)}</span>
            </p>
            <p className="text-ink-2">
              {sideWords(names, area.about, side)}
              {side.quote === null ? null : (
                <>
                  {' '}
                  <span className="text-ink">“{side.quote.text}”</span>
                </>
              )}
            </p>
          </li>
        ))}
      </ul>
      {area.settled_by === null ? null : (
        <p className="text-sm text-ink-2">
          <span className="font-medium text-ink">{settledTitle}: </span>
          {area.settled_by}
        </p>
      )}
    </div>
  );
}

/** What the minority has against the top answer. */
export function Objections({
  report,
  names,
}: {
  report: NonNullable<BiasAnalysis['minority_report']>;
  names: Names;
}): ReactNode {
  if (report.flaws.length === 0 && report.against.length > 0) {
    return (
      <p className="text-ink-2">
        {seatNames(names, report.against)} found a fatal flaw in the top answer.
      </p>
    );
  }
  return report.flaws.map((flaw) => (
    <p key={flaw.seat + flaw.text} className="text-ink-2">
      Objection to the top answer, from {seatName(names, flaw.seat)}: {flaw.text}
    </p>
  ));
}
