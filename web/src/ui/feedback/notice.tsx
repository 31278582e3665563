import { type ReactNode, type Ref, useEffect } from 'react';
import { announce } from './announcer.tsx';
import { classNames } from '#web/ui/class-names.ts';

export type NoticeTone = 'info' | 'ok' | 'warn' | 'bad';

const edges: Readonly<Record<NoticeTone, string>> = {
  info: 'border-s-info',
  ok: 'border-s-ok',
  warn: 'border-s-warn',
  bad: 'border-s-bad',
};

const words: Readonly<Record<NoticeTone, string>> = {
  info: 'Note',
  ok: 'Done',
  warn: 'Warning',
  bad: 'Error',
};

/**
 * A notice about the page or a part of it. With `announced` its text is also spoken once, in the
 * status region (or the alert region when the tone is bad).
 */
export function Notice({
  tone = 'info',
  title,
  children,
  actions,
  announced,
  onDismiss,
  focusRef,
}: {
  tone?: NoticeTone;
  title?: string;
  children?: ReactNode;
  actions?: ReactNode;
  /** The sentence to speak when the notice appears. */
  announced?: string | undefined;
  onDismiss?: () => void;
  /** Lets an error take the focus. */
  focusRef?: Ref<HTMLDivElement>;
}): ReactNode {
  useEffect(() => {
    if (announced) announce(announced, tone === 'bad' ? 'assertive' : 'polite');
  }, [announced, tone]);
  return (
    <div
      ref={focusRef}
      tabIndex={focusRef ? -1 : undefined}
      className={classNames(
        'flex gap-4 rounded-control border border-line border-s-4 bg-surface px-4 py-3',
        edges[tone],
      )}
    >
      <div className="min-w-0 grow space-y-1">
        <p className="font-semibold">
          <span className="sr-only">{words[tone]}: </span>
          <span>{title}</span>
        </p>
        {children === undefined ? null : <div className="text-ink-2">{children}</div>}
        {actions === undefined ? null : <div className="flex flex-wrap gap-3 pt-2">{actions}</div>}
      </div>
      {onDismiss ? <DismissButton onDismiss={onDismiss} /> : null}
    </div>
  );
}

export function DismissButton({ onDismiss }: { onDismiss: () => void }): ReactNode {
  return (
    <button
      type="button"
      aria-label="Dismiss"
      onClick={onDismiss}
      className="-my-1.5 -me-2 grid size-11 shrink-0 place-items-center rounded-control text-ink-2 hover:bg-sunken"
    >
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
        <path
          d="m3 3 10 10M13 3 3 13"
          stroke="currentColor"
          strokeWidth="1.5"
          strokeLinecap="round"
        />
      </svg>
    </button>
  );
}
