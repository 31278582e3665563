import { type ReactNode, useEffect, useSyncExternalStore } from 'react';
import { ApiProblem } from '#web/api/api.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { ErrorState } from '#web/ui/feedback/error-state.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { Button } from '#web/ui/form/button.tsx';
import type { Saver, SaverState } from './saver.ts';

export function useSaver(saver: Saver): SaverState {
  return useSyncExternalStore(saver.subscribe, saver.state);
}

/** Whether the answers are saved; a conflict is for the person to decide. */
export function SaveNotice({
  saver,
  onReplaced,
}: {
  saver: Saver;
  /** The answers on screen were replaced. */
  onReplaced: () => void;
}): ReactNode {
  const { save } = useSaver(saver);
  switch (save.status) {
    case 'saved':
      return <p className="text-sm text-ink-3">Your answers are saved to your account.</p>;
    case 'saving':
      return <p className="text-sm text-ink-3">Saving…</p>;
    case 'failed':
      return (
        <ErrorState
          title="We couldn't save your answers"
          detail={problemSentence(save.error)}
          safe="They stay on this page. Keep it open until they are saved."
          reference={save.error instanceof ApiProblem ? save.error.request_id : null}
          onRetry={() => void saver.flush()}
        />
      );
    case 'conflict':
      return (
        <Notice
          tone="warn"
          title="Your answers were changed in another tab or on another device"
          announced="Your answers were changed in another tab or on another device."
          actions={
            <>
              <Button
                onClick={() => {
                  void saver.takeStored().then(onReplaced);
                }}
              >
                Use the other answers
              </Button>
              <Button onClick={() => void saver.keepOwn()}>Keep these</Button>
            </>
          }
        >
          What you see here is not saved.
        </Notice>
      );
  }
}

/** Sends what is unsaved; null when nothing is, or while the person must decide. */
export function sendUnsaved(saver: Saver): Promise<boolean> | null {
  const { status } = saver.state().save;
  return status === 'saving' || status === 'failed' ? saver.flush() : null;
}

/** What is unsaved is sent when the page is left or hidden. */
export function useSavedOnLeave(saver: Saver): void {
  useEffect(() => {
    const save = (): void => void sendUnsaved(saver);
    window.addEventListener('pagehide', save);
    return () => {
      window.removeEventListener('pagehide', save);
      save();
    };
  }, [saver]);
}
