import { type ReactNode, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { announce } from './announcer.tsx';
import { classNames } from './class-names.ts';
import { DismissButton } from './notice.tsx';

/**
 * News whose cause is elsewhere on the page. At most three show at once; each leaves after its time,
 * which does not run while the pointer or the focus is on it or the page is hidden. Errors stay
 * until they are dismissed.
 */
export type ToastType = 'success' | 'error' | 'warning' | 'info';
export type Toast = {
  readonly id: string;
  readonly type: ToastType;
  readonly title: string;
  readonly message?: string;
  /** Milliseconds on screen; null stays. */
  readonly duration: number | null;
};

const visibleAtMost = 3;
const defaultDurationMs = 5_000;
const exitMs = 300;

let toasts: readonly Toast[] = [];
const listeners = new Set<() => void>();

function publish(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

/** Shows a toast and says it aloud. Answers its id. */
export function showToast(
  type: ToastType,
  title: string,
  options: { message?: string; duration?: number } = {},
): string {
  const id = crypto.randomUUID();
  const duration = type === 'error' ? null : (options.duration ?? defaultDurationMs);
  const toast: Toast = {
    id,
    type,
    title,
    duration,
    ...(options.message === undefined ? {} : { message: options.message }),
  };
  // The oldest that may leave makes room first; errors only when nothing else is left.
  const crowded = toasts.length >= visibleAtMost;
  const leaving = crowded
    ? (toasts.find((shown) => shown.duration !== null) ?? toasts[0])
    : undefined;
  publish([...toasts.filter((shown) => shown !== leaving), toast]);
  announce(
    [title, options.message].filter(Boolean).join('. '),
    type === 'error' ? 'assertive' : 'polite',
  );
  return id;
}

function dismissToast(id: string): void {
  publish(toasts.filter((toast) => toast.id !== id));
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const none: readonly Toast[] = [];

/** The corner where toasts stand. The root of the page renders it once. */
export function Toasts(): ReactNode {
  const shown = useSyncExternalStore(
    subscribe,
    () => toasts,
    () => none,
  );
  return (
    <section
      aria-label="Notifications"
      className="pointer-events-none fixed inset-x-4 bottom-20 z-40 flex flex-col items-end gap-3 lg:bottom-6"
    >
      {shown.map((toast) => (
        <ToastCard key={toast.id} toast={toast} />
      ))}
    </section>
  );
}

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

function ToastCard({ toast }: { toast: Toast }): ReactNode {
  const [held, setHeld] = useState(false);
  const [leaving, setLeaving] = useState(false);
  useCountdown(toast.duration, held || leaving, () => setLeaving(true));
  useEffect(() => {
    if (!leaving) return undefined;
    const timer = setTimeout(() => dismissToast(toast.id), exitMs);
    return () => clearTimeout(timer);
  }, [leaving, toast.id]);
  return (
    <div
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
      className={classNames(
        'pointer-events-auto flex w-full max-w-form gap-3 rounded-control border border-line border-s-4 bg-surface px-4 py-3 shadow-float transition-opacity duration-300 ease-out',
        edges[toast.type],
        leaving && 'opacity-0',
      )}
    >
      <div className="min-w-0 grow">
        <p className="font-semibold">
          <span className="sr-only">{words[toast.type]}: </span>
          <span>{toast.title}</span>
        </p>
        {toast.message === undefined ? null : <p className="text-ink-2">{toast.message}</p>}
      </div>
      <DismissButton onDismiss={() => setLeaving(true)} />
    </div>
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
