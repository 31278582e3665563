import { useState } from 'react';

export type Action = {
  /** Runs the work; a second one while it runs is ignored. Its answer is told as done. */
  run: (work: () => Promise<string | null>) => void;
  busy: boolean;
  done: string | null;
  failure: unknown;
};

/** Something that one press of a button does, and what became of it. */
export function useAction(): Action {
  const [busy, setBusy] = useState(false);
  const [done, setDone] = useState<string | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const perform = async (work: () => Promise<string | null>): Promise<void> => {
    setBusy(true);
    setDone(null);
    setFailure(null);
    try {
      setDone(await work());
    } catch (error) {
      setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  return {
    run: (work) => {
      if (!busy) void perform(work);
    },
    busy,
    done,
    failure,
  };
}
