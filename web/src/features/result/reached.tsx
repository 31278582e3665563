import type { ReactNode } from 'react';
import type { Optimization } from '#services/optimizations/contract.ts';
import { opinionOf } from '#services/optimizations/reading/texts.ts';
import { Answer } from '#web/run/answer.tsx';
import { Braid } from '#web/run/braid.tsx';
import { braidOf } from '#web/run/braid-view.ts';
import { roleColours } from '#web/run/words.ts';
import { Claims } from './claims.tsx';
import { Costs } from './costs.tsx';
import { Part } from './section.tsx';

/** The votes, the answers and the costs behind a result. */
export function Reached({ run }: { run: Optimization }): ReactNode {
  return (
    <div className="space-y-8">
      <Part title="The panel">
        <Braid view={braidOf(run.council)} />
      </Part>
      <Claims view={run.council} />
      <Answers run={run} />
      <Costs run={run} />
    </div>
  );
}

function Answers({ run }: { run: Optimization }): ReactNode {
  return (
    <Part title="Each model's answer">
      <ul className="divide-y divide-line border-y border-line">
        {run.models.map((model) => (
          <li key={model.seat}>
            <details className="group">
              <summary className="flex min-h-12 cursor-pointer flex-wrap items-baseline gap-x-3 py-3">
                <span className={`font-semibold ${roleColours[model.role]}`}>{model.seat}</span>
                <span className="font-medium">{model.name}</span>
                <span className="min-w-0 text-ink-2">
                  {model.reason ??
                    opinionOf(run.council, model.seat)?.recommendation.option_label ??
                    ''}
                </span>
              </summary>
              <div className="pb-6">
                <Answer view={run.council} seat={model.seat} heading="h4" />
              </div>
            </details>
          </li>
        ))}
      </ul>
    </Part>
  );
}
