import type { ReactNode } from 'react';
import type { Strategy } from '#services/optimizations/contract/panel.ts';
import { durationWords } from '#services/optimizations/reading/words/duration.ts';
import { PanelNote } from '#web/run/panel-note.tsx';
import { roleColours, roleWords } from '#web/run/drawing/roles.ts';
import { counted, verdictSentence } from './strategy-words.ts';

const roles = ['strategic', 'risk', 'implementation'] as const;

/** The panel that would sit now, how it differs from the design, and what its reviews can say. */
export function StrategyDetails({ strategy }: { strategy: Strategy }): ReactNode {
  const verdict = verdictSentence(strategy);
  return (
    <div className="space-y-2 text-sm text-ink-2">
      <dl className="space-y-1">
        {roles.map((role) => (
          <div key={role}>
            <dt className={`inline font-semibold ${roleColours[role]}`}>{roleWords[role]}</dt>{' '}
            <dd className="inline">{counted(strategy.models[role])}</dd>
          </div>
        ))}
      </dl>
      <PanelNote
        summary={strategy.summary}
        substitutions={strategy.substitutions}
        independence={strategy.independence}
      />
      {verdict === null ? null : <p>{verdict}</p>}
      <p>
        {[
          durationWords(strategy),
          strategy.biasDetection ? 'bias detection' : 'no bias detection',
          strategy.parallelExecution ? 'in parallel' : 'one at a time',
        ].join(' · ')}
      </p>
    </div>
  );
}
