import { type ReactNode, useSyncExternalStore } from 'react';
import { announce } from './announcer.tsx';
import type { Toast, ToastAction, ToastCard, ToastType } from './toast-card.tsx';

/**
 * News whose cause is elsewhere on the page. At most three show at once; each leaves after its time,
 * which does not run while the pointer or the focus is on it or the page is hidden. Errors stay
 * until they are dismissed. What draws them is loaded with the first one.
 */
const visibleAtMost = 3;
const defaultDurationMs = 5_000;

let toasts: readonly Toast[] = [];
const listeners = new Set<() => void>();

function publish(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

let card: typeof ToastCard | null = null;

/** A toast that cannot be drawn, because the network is away, has been said aloud all the same. */
async function loadCard(): Promise<void> {
  if (card) return;
  try {
    ({ ToastCard: card } = await import('./toast-card.tsx'));
    publish([...toasts]);
  } catch (error) {
    console.warn('A toast could not be drawn', error);
  }
}

/** Shows a toast and says it aloud. Answers its id. */
export function showToast(
  type: ToastType,
  title: string,
  options: { message?: string; duration?: number; action?: ToastAction } = {},
): string {
  const id = crypto.randomUUID();
  const duration = type === 'error' ? null : (options.duration ?? defaultDurationMs);
  const toast: Toast = { ...options, id, type, title, duration };
  // The oldest that may leave makes room first; errors only when nothing else is left.
  const crowded = toasts.length >= visibleAtMost;
  const leaving = crowded
    ? (toasts.find((shown) => shown.duration !== null) ?? toasts[0])
    : undefined;
  publish([...toasts.filter((shown) => shown !== leaving), toast]);
  void loadCard();
  announce(
    [title, options.message].filter(Boolean).join('. '),
    type === 'error' ? 'assertive' : 'polite',
  );
  return id;
}

/** Takes a toast away at once; nothing happens when it has left. */
export function dismissToast(id: string): void {
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
  const Card = card;
  return (
    <section
      aria-label="Notifications"
      className="pointer-events-none fixed inset-x-4 bottom-20 z-40 flex flex-col items-end gap-3 lg:bottom-6"
    >
      {Card === null
        ? null
        : shown.map((toast) => (
            <Card key={toast.id} toast={toast} onGone={() => dismissToast(toast.id)} />
          ))}
    </section>
  );
}
