import { type ReactNode, useSyncExternalStore } from 'react';
import { createSignal } from '#web/ui/signal.ts';
import { announce } from './announcer.tsx';
import type { Toast, ToastAction, ToastCard, ToastType } from './toast-card.tsx';

/**
 * Messages whose cause is elsewhere on the page. At most three are shown. Each expires, but not
 * while the pointer or the focus is on it or the page is hidden. Errors stay until dismissed. The
 * drawing code is loaded with the first toast.
 */
const visibleAtMost = 3;
const defaultDurationMs = 5_000;
/** How long a deletion can be undone, in a toast or on the page. */
export const undoMs = 8_000;

let toasts: readonly Toast[] = [];
const changes = createSignal();

function publish(next: readonly Toast[]): void {
  toasts = next;
  changes.emit();
}

const shownToasts = createSignal<[Toast]>();
/** Calls back for every toast, so that the bell can keep it. */
export const onToast = shownToasts.subscribe;

let card: typeof ToastCard | null = null;

/** A toast that cannot be drawn while the network is down has still been announced. */
async function loadCard(): Promise<void> {
  if (card) return;
  try {
    ({ ToastCard: card } = await import('./toast-card.tsx'));
    publish([...toasts]);
  } catch (error) {
    console.warn('A toast could not be drawn', error);
  }
}

/** Shows a toast, announces it and returns its id. */
export function showToast(
  type: ToastType,
  title: string,
  options: { message?: string; duration?: number; action?: ToastAction } = {},
): string {
  const id = crypto.randomUUID();
  const duration = type === 'error' ? null : (options.duration ?? defaultDurationMs);
  const toast: Toast = { ...options, id, type, title, duration };
  // The oldest expiring toast makes room first; errors only as a last resort.
  const crowded = toasts.length >= visibleAtMost;
  const leaving = crowded
    ? (toasts.find((shown) => shown.duration !== null) ?? toasts[0])
    : undefined;
  publish([...toasts.filter((shown) => shown !== leaving), toast]);
  void loadCard();
  shownToasts.emit(toast);
  announce(
    [title, options.message].filter(Boolean).join('. '),
    type === 'error' ? 'assertive' : 'polite',
  );
  return id;
}

export function dismissToast(id: string): void {
  publish(toasts.filter((toast) => toast.id !== id));
}

const none: readonly Toast[] = [];

/** The corner of the toasts. The root of the page renders it once. */
export function Toasts(): ReactNode {
  const shown = useSyncExternalStore(
    changes.subscribe,
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
