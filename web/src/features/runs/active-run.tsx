import type { ReactNode } from 'react';
import type { OptimizationSummary } from '#services/optimizations/contract/summary.ts';
import { overallProgress } from '#services/optimizations/reading/describe.ts';
import { useRun, useRunPart } from '#web/live/live.ts';
import { LinkButton } from '#web/ui/form/button.tsx';
import { percent } from '#web/ui/text/figures.ts';
import { ProgressBar } from '#web/ui/feedback/progress-bar.tsx';

type Run = Pick<OptimizationSummary, 'id' | 'title' | 'progress'>;

/** A running run, first on the page, followed live. */
export function ActiveRun({ run }: { run: Run }): ReactNode {
  const phase = useRun(run.id);
  return phase.status === 'ready' ? <Followed run={run} /> : <Strip run={run} />;
}

function Followed({ run }: { run: Run }): ReactNode {
  const progress = useRunPart(run.id, progressOf);
  return <Strip run={{ ...run, progress }} />;
}

const progressOf = ({ view }: { view: Parameters<typeof overallProgress>[0] }): number =>
  overallProgress(view);

function Strip({ run: { id, title, progress } }: { run: Run }): ReactNode {
  return (
    <section
      aria-label="Running optimization"
      className="flex flex-col gap-3 rounded-card border border-accent bg-accent-soft p-4 sm:flex-row sm:items-center sm:gap-6"
    >
      <div className="min-w-0 grow space-y-2">
        <p className="font-medium break-words">
          Running: {title}, {percent(progress)}
        </p>
        <ProgressBar label={`Progress of ${title}`} value={progress} />
      </div>
      <LinkButton to="/evolution-chamber" search={{ id }} className="shrink-0">
        View Progress<span className="sr-only">: {title}</span>
      </LinkButton>
    </section>
  );
}
