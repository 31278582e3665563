import type { ReactNode } from 'react';
import type { BiasAnalysis } from '#services/optimizations/contract/result.ts';
import { Minority } from '#web/run/divergence.tsx';
import type { Names } from '#services/optimizations/reading/words/names.ts';
import { minorityTitle } from '#services/optimizations/reading/words/doubts.ts';
import { useSeeAll } from '#web/ui/see-all.tsx';
import { Panel } from './panel.tsx';

/** Points of one kind shown in the panel; the rest are behind "See all". */
const shownAtOnce = 4;

/** What the models agree on, what is unknown, and who objects. */
export function Insights({
  bias,
  names,
  isRefinement,
  ended,
}: {
  bias: BiasAnalysis | null;
  names: Names;
  isRefinement: boolean;
  /** Of a run that ended before there was anything to show. */
  ended: string | null;
}): ReactNode {
  return (
    <Panel title="Real-time Insights">
      {bias ? (
        <div className="space-y-4">
          <Points
            title="Consensus points"
            none="None yet: no claim has a large enough majority."
            points={bias.consensus_points.map((point) => ({
              key: point.claim_id,
              text: point.text,
            }))}
          />
          <Points
            title="Uncertainty factors"
            none="None were raised by two or more models."
            points={bias.uncertainty_factors.map((factor) => ({
              key: `${factor.kind} ${factor.text}`,
              text: factor.text,
            }))}
          />
          {bias.minority_report ? (
            <div className="space-y-1 text-sm">
              <h3 className="text-base font-semibold">{minorityTitle}</h3>
              <Minority bias={bias} names={names} />
            </div>
          ) : null}
        </div>
      ) : (
        <p className="text-sm text-ink-2">
          {ended ??
            `Points of agreement and doubt appear here once the ${isRefinement ? 'votes' : 'reviews'} are counted.`}
        </p>
      )}
    </Panel>
  );
}

type Point = { readonly key: string; readonly text: string };

function Points({
  title,
  none,
  points,
}: {
  title: string;
  none: string;
  points: readonly Point[];
}): ReactNode {
  const { classOf, button } = useSeeAll(points.length, shownAtOnce);
  return (
    <div className="space-y-1">
      <h3 className="font-semibold">{title}</h3>
      {points.length === 0 ? (
        <p className="text-sm text-ink-2">{none}</p>
      ) : (
        <ul className="list-disc space-y-1 ps-5 text-sm marker:text-ink-3">
          {points.map((point, index) => (
            <li key={point.key} className={classOf(index)}>
              {point.text}
            </li>
          ))}
        </ul>
      )}
      {button}
    </div>
  );
}
