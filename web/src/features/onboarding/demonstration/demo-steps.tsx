import type { ReactNode } from 'react';
import { ProgressBar } from '#web/ui/feedback/progress-bar.tsx';
import { Status } from '#web/ui/feedback/status.tsx';
import { percent } from '#web/ui/text/figures.ts';
import { sampleSteps } from './sample.ts';
import type { DemoStep } from '#web/features/onboarding/words.ts';

/** The five steps, with the one that is reached. */
export function DemoSteps({
  reached,
  progress,
  label,
  details = false,
}: {
  /** Null before the first. */
  reached: DemoStep | null;
  /** 0–100. */
  progress: number;
  label: string;
  /** With a line about each step, which describes the sample. */
  details?: boolean;
}): ReactNode {
  const at = sampleSteps.findIndex(({ id }) => id === reached);
  const last = sampleSteps.length - 1;
  return (
    <div className="space-y-4">
      <div className="flex items-center gap-4">
        <div className="min-w-0 grow">
          <ProgressBar label={label} value={progress} />
        </div>
        <span className="w-12 text-end">{percent(progress)}</span>
      </div>
      <ol className="space-y-2">
        {sampleSteps.map(({ id, title, detail }, index) => {
          const isDone = index < at || (index === at && index === last);
          const isNow = index === at && !isDone;
          return (
            <li key={id} className="flex flex-wrap items-baseline gap-x-3">
              <Status tone={isDone ? 'ok' : isNow ? 'active' : 'neutral'}>
                {title}
                <span className="sr-only">
                  {isDone ? ', done' : isNow ? ', in progress' : ', waiting'}
                </span>
              </Status>
              {details ? <span className="text-sm text-ink-2">{detail}</span> : null}
            </li>
          );
        })}
      </ol>
    </div>
  );
}
