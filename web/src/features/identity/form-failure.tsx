import { type ReactNode, useEffect, useRef } from 'react';
import { ApiProblem } from '#web/api.ts';
import { waitSentence } from '#web/problem-words.ts';
import { Notice } from '#web/ui/notice.tsx';

/** The banner of a sign-in form that the server refused. It takes the focus. */
export function FormFailure({
  title,
  failure,
  fallback,
}: {
  title: 'Login failed' | 'Signup failed';
  failure: unknown;
  /** The sentence for a failure without one of its own. */
  fallback: string;
}): ReactNode {
  const banner = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (failure) banner.current?.focus();
  }, [failure]);
  if (!failure) return null;
  const sentence = failureSentence(failure, fallback);
  return (
    <Notice tone="bad" title={title} announced={`${title}. ${sentence}`} focusRef={banner}>
      {sentence}
    </Notice>
  );
}

/** The server's sentence where it wrote one for people, else ours; never an internal cause. */
export function failureSentence(failure: unknown, fallback: string): string {
  if (!(failure instanceof ApiProblem)) return fallback;
  if (failure.status === 0)
    return 'Connection error. Please check your internet connection and try again.';
  if (failure.status === 429)
    return `Too many attempts. ${waitSentence(failure.retryAfterSeconds)}`;
  if (failure.status >= 500 || failure.code === 'unknown') return fallback;
  return failure.message;
}
