import { type ReactNode, useEffect, useRef, useState } from 'react';
import { announce } from './announcer.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { classNames } from '#web/ui/class-names.ts';
import { DismissButton } from './notice.tsx';

export type ToastType = 'success' | 'error' | 'warning' | 'info';
export type Toast = {
  readonly id: string;
  readonly type: ToastType;
  readonly title: string;
  readonly message?: string;
  /** Milliseconds on screen; null stays. */
  readonly duration: number | null;
  readonly action?: ToastAction;
};
/** An action offered while the toast is shown. */
export type ToastAction = {
  readonly label: string;
  /** The object of the action, for screen readers. */
  readonly about: string;
  /** Whether the button takes the focus when the toast appears. */
  readonly takesFocus: boolean;
  /** Resolves with null once done, else with what went wrong; the toast then stays for a retry. */
  readonly run: () => Promise<string | null>;
};

/** Milliseconds: into view, and out of it. */
const entryMs = 10;
const exitMs = 300;

const edges: Readonly<Record<ToastType, string>> = {
  success: 'border-s-ok',
  error: 'border-s-bad',
  warning: 'border-s-warn',
  info: 'border-s-info',
};

const words: Readonly<Record<ToastType, string>> = {
  success: 'Done',
  error: 'Error',
  warning: 'Warning',
  info: 'Note',
};

/** One toast, until it expires or is dismissed; `onGone` is called once it has faded. */
export function ToastCard({ toast, onGone }: { toast: Toast; onGone: () => void }): ReactNode {
  const gone = useRef(onGone);
  const card = useRef<HTMLDivElement>(null);
  const [hasPointer, setPointer] = useState(false);
  const [hasFocus, setFocus] = useState(false);
  const [isActing, setActing] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const [hasEntered, setEntered] = useState(false);
  const [leaving, setLeaving] = useState(false);
  const isHeld = hasPointer || hasFocus || isActing || failure !== null;
  useCountdown(toast.duration, isHeld || leaving, () => setLeaving(true));
  useEffect(() => {
    const timer = setTimeout(() => setEntered(true), entryMs);
    return () => clearTimeout(timer);
  }, []);
  useEffect(() => {
    if (!leaving) return undefined;
    // A toast that disappears must not take the focus with it.
    if (card.current?.contains(document.activeElement)) document.getElementById('main')?.focus();
    const timer = setTimeout(() => gone.current(), exitMs);
    return () => clearTimeout(timer);
  }, [leaving]);
  const act = async ({ run }: ToastAction): Promise<void> => {
    if (isActing) return;
    setActing(true);
    setFailure(null);
    const problem = await run();
    setActing(false);
    setFailure(problem);
    if (problem === null) setLeaving(true);
    else announce(problem, 'assertive');
  };
  return (
    <div
      ref={card}
      onPointerEnter={() => setPointer(true)}
      onPointerLeave={() => setPointer(false)}
      onFocus={() => setFocus(true)}
      onBlur={() => setFocus(false)}
      className={classNames(
        'pointer-events-auto flex w-full max-w-form gap-3 rounded-control border border-line border-s-4 bg-surface px-4 py-3 shadow-float transition-opacity duration-300 ease-out',
        edges[toast.type],
        (leaving || !hasEntered) && 'opacity-0',
      )}
    >
      <div className="min-w-0 grow">
        <p className="font-semibold">
          <span className="sr-only">{words[toast.type]}: </span>
          <span>{toast.title}</span>
        </p>
        {toast.message === undefined ? null : (
          <p className="break-words text-ink-2">{toast.message}</p>
        )}
        {failure === null ? null : <p className="text-bad">{failure}</p>}
      </div>
      {toast.action ? <ActionButton action={toast.action} busy={isActing} onPress={act} /> : null}
      <DismissButton onDismiss={() => setLeaving(true)} />
    </div>
  );
}

/** It keeps the focus while busy: a disabled button would lose it. */
function ActionButton({
  action,
  busy,
  onPress,
}: {
  action: ToastAction;
  busy: boolean;
  onPress: (action: ToastAction) => Promise<void>;
}): ReactNode {
  const { takesFocus } = action;
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (takesFocus) button.current?.focus();
  }, [takesFocus]);
  return (
    <Button
      ref={button}
      className="self-center"
      aria-busy={busy || undefined}
      onClick={() => void onPress(action)}
    >
      {action.label}
      <span className="sr-only"> {action.about}</span>
    </Button>
  );
}

/** Calls `done` after `durationMs` of visible, unheld time; null never ends. */
function useCountdown(durationMs: number | null, paused: boolean, done: () => void): void {
  const remaining = useRef(durationMs ?? 0);
  const latest = useRef(done);
  useEffect(() => {
    latest.current = done;
  });
  useEffect(() => {
    if (durationMs === null || paused) return undefined;
    let startedAt = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = (): void => {
      if (timer === undefined) return;
      clearTimeout(timer);
      timer = undefined;
      remaining.current -= performance.now() - startedAt;
    };
    const followVisibility = (): void => {
      if (document.hidden) {
        stop();
      } else if (timer === undefined) {
        startedAt = performance.now();
        timer = setTimeout(() => latest.current(), Math.max(0, remaining.current));
      }
    };
    followVisibility();
    document.addEventListener('visibilitychange', followVisibility);
    return () => {
      stop();
      document.removeEventListener('visibilitychange', followVisibility);
    };
  }, [durationMs, paused]);
}
