import type { ReactNode } from 'react';
import type { BiasAnalysis, Disagreement } from '#services/optimizations/contract/result.ts';
import { type Names, seatNames } from '#services/optimizations/reading/words/names.ts';
import {
  firmWords,
  minorityCount,
  minorityVotes,
  settledTitle,
  sideWords,
  stanceWord,
} from '#services/optimizations/reading/words/doubts.ts';

/** One question the models disagree on: each side, its models and what one of them says about it. */
export function Divergence({ area, names }: { area: Disagreement; names: Names }): ReactNode {
  const firm = firmWords(names, area);
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
              <SideQuote side={side} about={area.about} names={names} />
            </p>
          </li>
        ))}
      </ul>
      {firm === null ? null : <p className="text-sm text-ink-2">{firm}</p>}
      {area.settled_by === null ? null : (
        <p className="text-sm text-ink-2">
          <span className="font-medium text-ink">{settledTitle}: </span>
          {area.settled_by}
        </p>
      )}
    </div>
  );
}

/** What one of a side wrote, or that none of them gave a reason. */
export function SideQuote({
  side,
  about,
  names,
}: {
  side: Disagreement['sides'][number];
  about: string;
  names: Names;
}): ReactNode {
  return (
    <>
      {sideWords(names, about, side)}
      {side.quote === null ? null : (
        <>
          {' '}
          <span className="text-ink">“{side.quote.text}”</span>
        </>
      )}
    </>
  );
}

/** Who voted otherwise, for what, and the best case for it. */
export function Minority({
  bias: { minority_report: report, disagreement_areas: areas },
  names,
}: {
  bias: BiasAnalysis;
  names: Names;
}): ReactNode {
  if (report === null) return null;
  return (
    <>
      <p>{minorityCount(report)}</p>
      <ul className="list-disc space-y-1 ps-5 marker:text-ink-3">
        {minorityVotes(names, report, areas).map(({ votes, argument }) => (
          <li key={votes}>
            {votes}
            <p className="text-ink-2">{argument}</p>
          </li>
        ))}
      </ul>
    </>
  );
}
