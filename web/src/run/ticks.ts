import { useMutation, useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { type NextStep, TickReply } from '#services/optimizations/contract/result.ts';
import { type Optimization } from '#services/optimizations/contract/run.ts';
import { write } from '#web/api/api.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { queryClient } from '#web/api/query-client.ts';
import { runQuery } from '#web/features/runs/queries.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';

/** Ticks on a result's next steps are no events: they live in the cached copy of their run alone. */

/** The run with the ticks of its cached copy. */
export function useTicked(run: Optimization): Optimization {
  const { data: known } = useQuery(runQuery(run.id));
  return useMemo(() => withTicksOf(known, run), [known, run]);
}

export function useTick(runId: string): {
  /** Shows at once, and takes itself back when it could not be saved. */
  tick: (step: number, done: boolean) => void;
  /** The last tick that could not be saved. */
  failure: { step: number; sentence: string } | null;
} {
  const [failure, setFailure] = useState<{ step: number; sentence: string } | null>(null);
  const { mutate } = useMutation({
    // One after the other: the last tick of a step is the one that stays.
    scope: { id: `ticks of ${runId}` },
    mutationFn: ({ step, done: isDone }: Tick) =>
      write(
        'PUT',
        `/optimizations/${encodeURIComponent(runId)}/next-steps/${step}`,
        { done: isDone },
        TickReply,
      ),
    onMutate: async ({ step, done: isDone }) => {
      setFailure(null);
      // A copy that is still on its way was made before this tick.
      await queryClient.cancelQueries({ queryKey: runQuery(runId).queryKey });
      keep(runId, step, isDone);
    },
    onSuccess: ({ index, done: isDone }) => {
      const steps = keep(runId, index, isDone);
      announce(`Saved. ${doneWords(steps)}.`);
    },
    onError: (error, { step, done: isDone }) => {
      keep(runId, step, !isDone);
      const sentence = `We couldn't save step ${step + 1}. ${problemSentence(error)}`;
      setFailure({ step, sentence });
      announce(sentence, 'assertive');
    },
  });
  return { tick: (step, isDone) => mutate({ step, done: isDone }), failure };
}

type Tick = { readonly step: number; readonly done: boolean };

/** "2 of 4 done". */
export function doneWords(steps: readonly Pick<NextStep, 'done'>[]): string {
  return `${steps.filter(({ done }) => done).length} of ${steps.length} done`;
}

/** Returns the run's steps as they now are. */
function keep(runId: string, step: number, done: boolean): readonly NextStep[] {
  const run = queryClient.setQueryData(
    runQuery(runId).queryKey,
    (known) => known && withDone(known, (index) => (index === step ? done : undefined)),
  );
  return run?.result?.next_steps ?? [];
}

/** The run with the ticks of the copy that the server sent before. */
export function withTicksOf(known: Optimization | undefined, run: Optimization): Optimization {
  return withDone(run, (index) => known?.result?.next_steps[index]?.done);
}

function withDone(run: Optimization, doneAt: (step: number) => boolean | undefined): Optimization {
  if (!run.result) return run;
  const steps = run.result.next_steps.map((step, index) => ({
    ...step,
    done: doneAt(index) ?? step.done,
  }));
  return { ...run, result: { ...run.result, next_steps: steps } };
}
