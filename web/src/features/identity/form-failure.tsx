import { type ReactNode, useEffect, useRef } from 'react';
import { ApiProblem } from '#web/api/api.ts';
import { waitSentence } from '#web/api/problem-words.ts';
import { Notice } from '#web/ui/feedback/notice.tsx';

/** The banner of a refused form. It takes the focus. */
export function FormFailure({
  title,
  failure,
  fallback,
}: {
  title: string;
  failure: unknown;
  /** The sentence for a failure without one of its own. */
  fallback: string;
}): ReactNode {
  return (
    <FailureBanner title={title} failure={failure} sentence={failureSentence(failure, fallback)} />
  );
}

/** The form's own words for it, with what to do instead. */
export function FailureBanner({
  title,
  failure,
  heading,
  sentence,
  actions,
}: {
  title: string;
  /** Nothing is shown without one; the focus moves when it changes. */
  failure: unknown;
  /** What exactly failed, where the title does not say. */
  heading?: string | undefined;
  sentence: string;
  actions?: ReactNode;
}): ReactNode {
  const banner = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (failure) banner.current?.focus();
  }, [failure]);
  if (!failure) return null;
  const words = [title, heading, sentence].filter((part) => part !== undefined);
  return (
    <Notice
      tone="bad"
      title={title}
      announced={words.join('. ')}
      focusRef={banner}
      actions={actions}
    >
      {heading === undefined ? null : <p className="font-medium text-ink">{heading}</p>}
      <p>{sentence}</p>
    </Notice>
  );
}

/** The server's sentence when it was written for users, else ours; never an internal cause. */
export function failureSentence(failure: unknown, fallback: string): string {
  if (!(failure instanceof ApiProblem)) return fallback;
  if (failure.status === 0)
    return 'Connection error. Please check your internet connection and try again.';
  if (failure.status === 429)
    return `Too many attempts. ${waitSentence(failure.retryAfterSeconds)}`;
  if (failure.status >= 500 || failure.code === 'unknown') return fallback;
  return failure.message;
}
