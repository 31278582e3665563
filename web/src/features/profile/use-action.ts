import { useState } from 'react';

export type Action = {
  /** Runs the work unless it is already running. Its result is shown as done. */
  run: (work: () => Promise<string | null>) => void;
  busy: boolean;
  done: string | null;
  failure: unknown;
};

/** The action of one button and its outcome. */
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
