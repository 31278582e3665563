import { useCallback, useEffect, useRef, useState } from 'react';
import { type Draft, removeDraft, writeDraft } from './draft.ts';
import { hasText } from './fields.ts';

/** Milliseconds between two saves while the user types. */
const saveEveryMs = 1_000;

export type DraftState = 'untouched' | 'saved' | 'unsaved';

/** Calls back at sign-out; returns the function that stops it. */
export type OnSessionEnd = (listener: () => void) => () => void;

/**
 * Saves the form on the device each second while it changes, and when the page is left. The end of
 * the session removes it, and nothing is saved afterwards.
 */
export function useDraft(
  { userId, onSessionEnd }: { userId: string; onSessionEnd: OnSessionEnd },
  draft: Draft,
  isTouched: boolean,
): { state: DraftState; saveNow: (draft: Draft) => void; discard: () => void } {
  const [state, setState] = useState<DraftState>('untouched');
  const latest = useRef(draft);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const isClosed = useRef(false);

  const save = useCallback(() => {
    clearTimeout(timer.current);
    timer.current = undefined;
    if (isClosed.current) return;
    if (!hasText(latest.current.fields)) {
      removeDraft(userId);
      setState('untouched');
    } else {
      setState(writeDraft(userId, latest.current) ? 'saved' : 'unsaved');
    }
  }, [userId]);

  useEffect(() => {
    latest.current = draft;
    if (isTouched) timer.current ??= setTimeout(save, saveEveryMs);
  }, [draft, isTouched, save]);

  useEffect(
    () =>
      onSessionEnd(() => {
        isClosed.current = true;
      }),
    [onSessionEnd],
  );

  useEffect(() => {
    const flush = (): void => {
      if (timer.current !== undefined) save();
    };
    addEventListener('pagehide', flush);
    document.addEventListener('visibilitychange', flush);
    return () => {
      flush();
      removeEventListener('pagehide', flush);
      document.removeEventListener('visibilitychange', flush);
    };
  }, [save]);

  return {
    state,
    saveNow: (next) => {
      latest.current = next;
      save();
    },
    discard: () => {
      isClosed.current = true;
      clearTimeout(timer.current);
      timer.current = undefined;
      removeDraft(userId);
    },
  };
}
