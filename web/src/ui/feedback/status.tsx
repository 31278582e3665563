import type { ReactNode } from 'react';
import { classNames } from '#web/ui/class-names.ts';

export type StatusTone = 'ok' | 'active' | 'warn' | 'bad' | 'info' | 'neutral';

const colours: Readonly<Record<StatusTone, string>> = {
  ok: 'text-ok',
  active: 'text-warn',
  warn: 'text-warn',
  bad: 'text-bad',
  info: 'text-info',
  neutral: 'text-ink-3',
};

/** Each tone has its own shape, so that a status is readable without colour. */
const shapes: Readonly<Record<StatusTone, ReactNode>> = {
  ok: <circle cx="5" cy="5" r="4.5" fill="currentColor" />,
  active: (
    <>
      <circle cx="5" cy="5" r="3.75" fill="none" stroke="currentColor" strokeWidth="1.5" />
      <path d="M5 1.25a3.75 3.75 0 0 1 0 7.5z" fill="currentColor" />
    </>
  ),
  warn: <path d="M5 .5 9.8 9.2H.2z" fill="currentColor" />,
  bad: <path d="m1.5 1.5 7 7m0-7-7 7" stroke="currentColor" strokeWidth="2" />,
  info: <rect x="1" y="1" width="8" height="8" fill="currentColor" />,
  neutral: <circle cx="5" cy="5" r="3.75" fill="none" stroke="currentColor" strokeWidth="1.5" />,
};

export function Status({ tone, children }: { tone: StatusTone; children: ReactNode }): ReactNode {
  return (
    <span className="inline-flex items-center gap-2">
      <svg
        viewBox="0 0 10 10"
        width="10"
        height="10"
        aria-hidden="true"
        className={classNames('shrink-0', colours[tone])}
      >
        {shapes[tone]}
      </svg>
      <span>{children}</span>
    </span>
  );
}

/** An outlined word: a tier, "Recommended", "Simulated". */
export function Badge({
  tone = 'neutral',
  children,
}: {
  tone?: StatusTone;
  children: ReactNode;
}): ReactNode {
  return (
    <span
      className={classNames(
        'inline-flex items-center rounded-full border border-current px-2.5 text-sm font-medium',
        tone === 'neutral' ? 'text-ink-2' : colours[tone],
      )}
    >
      {children}
    </span>
  );
}
