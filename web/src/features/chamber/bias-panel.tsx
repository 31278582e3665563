import { type ReactNode, useState } from 'react';
import type { BiasAnalysis, Disagreement } from '#services/optimizations/contract/result.ts';
import type { Names } from '#services/optimizations/reading/words/names.ts';
import { keep, readKept } from '#web/consent/device.ts';
import { classNames } from '#web/ui/class-names.ts';
import { Ring } from '#web/ui/ring.tsx';
import { useSeeAll } from '#web/ui/see-all.tsx';
import { indicatorsTitle } from '#services/optimizations/reading/words/result.ts';
import { Indicators } from '#web/run/indicators.tsx';
import { Divergence } from '#web/run/divergence.tsx';
import { Panel } from './panel.tsx';

/** Divergences shown in the panel; the rest are behind "See all". */
const shownAtOnce = 2;

/**
 * The agreement of the models and their divergences. Hiding the panel changes nothing in the run.
 */
export function BiasPanel({
  bias,
  winner,
  names,
  userId,
  isRefinement,
  ended,
}: {
  bias: BiasAnalysis | null;
  /** Whether one answer is clearly first, in words. */
  winner: string | null;
  names: Names;
  userId: string;
  isRefinement: boolean;
  /** Of a run that ended before there was anything to measure. */
  ended: string | null;
}): ReactNode {
  const [isShown, show] = useRemembered(userId, true);
  return (
    <Panel
      title="Bias detection"
      part="findings"
      aside={
        <label className="-me-2 flex min-h-11 cursor-pointer items-center gap-2 rounded-control px-2 text-sm">
          <input
            type="checkbox"
            checked={isShown}
            onChange={(event) => show(event.currentTarget.checked)}
            className="size-4 accent-accent"
          />
          Show
        </label>
      }
    >
      {isShown ? (
        <Analysis
          bias={bias}
          winner={winner}
          names={names}
          isRefinement={isRefinement}
          ended={ended}
        />
      ) : (
        <p className="text-sm text-ink-2">Hidden from view. The run still measures it.</p>
      )}
    </Panel>
  );
}

function Analysis({
  bias,
  winner,
  names,
  isRefinement,
  ended,
}: Omit<Parameters<typeof BiasPanel>[0], 'userId'>): ReactNode {
  if (!bias) {
    return (
      <p className="text-sm text-ink-2">
        {ended ??
          (isRefinement
            ? 'Measured once the models have voted again.'
            : 'Measured once the models have reviewed each other blind.')}
      </p>
    );
  }
  return (
    <div className="space-y-4">
      <Ring
        score={bias.agreement_score}
        {...(bias.agreement_note === null ? {} : { note: bias.agreement_note })}
      />
      <p className="text-center text-sm text-ink-2">{winner}</p>
      <Divergences areas={bias.disagreement_areas} names={names} />
      <details>
        <summary className="min-h-11 cursor-pointer py-2 font-medium text-accent">
          {indicatorsTitle}
        </summary>
        <Indicators indicators={bias.indicators} />
      </details>
    </div>
  );
}

function Divergences({
  areas,
  names,
}: {
  areas: readonly Disagreement[];
  names: Names;
}): ReactNode {
  const { classOf, button } = useSeeAll(areas.length, shownAtOnce);
  if (areas.length === 0) return <p className="text-sm text-ink-2">No key divergences.</p>;
  return (
    <div className="space-y-2">
      <h3 className="font-semibold">Key divergences</h3>
      <ul className="divide-y divide-line">
        {areas.map((area, index) => (
          <li key={area.about} className={classNames('py-3 first:pt-0', classOf(index))}>
            <Divergence area={area} names={names} />
          </li>
        ))}
      </ul>
      {button}
    </div>
  );
}

/**
 * A switch that keeps its position on this device, per user. Signing out removes it with the
 * drafts.
 */
function useRemembered(userId: string, initially: boolean): [boolean, (next: boolean) => void] {
  const key = `sevenfold.draft.${userId}.chamber-bias` as const;
  const [value, setValue] = useState(() => {
    const kept = readKept(key);
    return kept === null ? initially : kept === 'true';
  });
  return [
    value,
    (next) => {
      setValue(next);
      keep(key, String(next));
    },
  ];
}
