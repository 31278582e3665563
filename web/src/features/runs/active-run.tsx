import { type ReactNode, useState } from 'react';
import type { ListedRun } from '#services/optimizations/contract/run.ts';
import type { OptimizationSummary } from '#services/optimizations/contract/summary.ts';
import { overallProgress } from '#services/optimizations/reading/describe.ts';
import { useRun, useRunPart } from '#web/live/live.ts';
import { LinkButton } from '#web/ui/form/button.tsx';
import { percent } from '#web/ui/text/figures.ts';
import { ProgressBar } from '#web/ui/feedback/progress-bar.tsx';
import { runningId } from './words.ts';

type Run = Pick<OptimizationSummary, 'id' | 'title' | 'progress'>;

/** The runs in progress. One that ends keeps its place, so that nothing below it moves. */
export function ActiveRuns({ runs }: { runs: readonly ListedRun[] }): ReactNode {
  /** What was watched here, and the listed run that it belongs to. */
  const [watched, setWatched] = useState<readonly { id: string; runId: string }[]>([]);
  const fresh = runs.flatMap((run) => {
    const id = runningId(run);
    return id === null || watched.some((known) => known.id === id) ? [] : [{ id, runId: run.id }];
  });
  if (fresh.length > 0) setWatched([...watched, ...fresh]);
  return watched.map(({ id, runId }) => {
    const run = runs.find((one) => one.id === runId);
    if (run === undefined) return null;
    if (runningId(run) !== id) return <Ended key={id} run={run} />;
    // How far a refinement is, the list does not say.
    return (
      <ActiveRun
        key={id}
        run={{ id, title: run.title, progress: id === runId ? run.progress : 0 }}
      />
    );
  });
}

/** Followed live. */
function ActiveRun({ run }: { run: Run }): ReactNode {
  const phase = useRun(run.id);
  return phase.status === 'ready' ? <Followed run={run} /> : <Strip run={run} />;
}

function Followed({ run }: { run: Run }): ReactNode {
  const progress = useRunPart(run.id, progressOf);
  return <Strip run={{ ...run, progress }} />;
}

const progressOf = ({ view }: { view: Parameters<typeof overallProgress>[0] }): number =>
  overallProgress(view);

const strip = 'flex flex-col gap-3 rounded-card border p-4 sm:flex-row sm:items-center sm:gap-6';

function Strip({ run: { id, title, progress } }: { run: Run }): ReactNode {
  return (
    <section aria-label="Running optimization" className={`${strip} border-accent bg-accent-soft`}>
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

function Ended({ run: { id, title, status } }: { run: ListedRun }): ReactNode {
  return (
    <section aria-label="Ended optimization" className={`${strip} border-line bg-surface`}>
      {/* As tall as the words and the bar that stood here. */}
      <p className="min-h-10 min-w-0 grow content-center font-medium break-words">Ended: {title}</p>
      <LinkButton to="/optimizations/$id" params={{ id }} className="shrink-0">
        {status === 'completed' ? 'View Results' : 'View run'}
        <span className="sr-only">: {title}</span>
      </LinkButton>
    </section>
  );
}
