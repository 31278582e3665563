import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type Optimization, TickReply } from '#services/optimizations/contract.ts';
import { write } from '#web/api/api.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { queryClient } from '#web/api/query-client.ts';
import { runQuery } from '#web/features/runs/queries.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';

/** The ticks on a result's next steps. They are no events, so they live in the cache beside a run. */
export type Ticks = {
  /** By step; undefined until they are read. */
  readonly done: readonly boolean[] | undefined;
  /** Shows at once, and takes itself back when it could not be saved. */
  readonly tick: (step: number, done: boolean) => void;
  /** The last tick that could not be saved. */
  readonly failure: { readonly step: number; readonly sentence: string } | null;
};

export function useTicks(runId: string): Ticks {
  const { data: done } = useQuery({ ...runQuery(runId), select: doneOf });
  const [failure, setFailure] = useState<Ticks['failure']>(null);
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
    onMutate: ({ step, done: isDone }) => {
      setFailure(null);
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
  return { done, tick: (step, isDone) => mutate({ step, done: isDone }), failure };
}

type Tick = { readonly step: number; readonly done: boolean };

/** "2 of 4 done". */
export function doneWords(done: readonly boolean[]): string {
  return `${done.filter(Boolean).length} of ${done.length} done`;
}

function doneOf({ result }: Optimization): boolean[] {
  return (result?.next_steps ?? []).map(({ done }) => done);
}

/** Returns all ticks of the run as they now are. */
function keep(runId: string, step: number, done: boolean): boolean[] {
  const run = queryClient.setQueryData(
    runQuery(runId).queryKey,
    (known) => known && withDone(known, (index) => (index === step ? done : undefined)),
  );
  return run ? doneOf(run) : [];
}

/** A run that was described here, with the ticks of the copy that the server sent before. */
export function withTicksOf(known: Optimization | undefined, run: Optimization): Optimization {
  return known ? withDone(run, (index) => doneOf(known)[index]) : run;
}

function withDone(run: Optimization, doneAt: (index: number) => boolean | undefined): Optimization {
  if (!run.result) return run;
  const steps = run.result.next_steps.map((step, index) => ({
    ...step,
    done: doneAt(index) ?? step.done,
  }));
  return { ...run, result: { ...run.result, next_steps: steps } };
}
