import { useCallback, useEffect, useRef, useState } from 'react';
import { checkLimits } from '#services/optimizations/check/questions.ts';
import { CheckReply, type CheckRequest } from '#services/optimizations/contract/requests.ts';
import { ApiProblem, write } from '#web/api/api.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';

/** What the form shows of a check. */
export type Check =
  | { readonly kind: 'none' }
  | { readonly kind: 'checking' }
  | { readonly kind: 'ask'; readonly questions: readonly string[] }
  | { readonly kind: 'undecidable'; readonly why: string };

type QuestionCheck = {
  check: Check;
  /** Whether a start may continue. False when something is shown instead, and after `stop`. */
  passes: (request: CheckRequest) => Promise<boolean>;
  /** Ends a check that is running and hides what one found. */
  stop: () => void;
  /** Checks this challenge no more. */
  letPass: (challenge: string) => void;
};

/** One round for a challenge: what was asked once, or started anyway, is not checked again. */
export function useQuestionCheck(): QuestionCheck {
  const [check, setCheck] = useState<Check>({ kind: 'none' });
  const running = useRef<AbortController | null>(null);
  const passed = useRef<string | null>(null);

  const stop = useCallback((): void => {
    running.current?.abort();
    running.current = null;
    setCheck({ kind: 'none' });
  }, []);

  useEffect(() => () => running.current?.abort(), []);

  const isChecking = check.kind === 'checking';
  useEffect(() => {
    if (!isChecking) return undefined;
    const onKey = ({ key }: KeyboardEvent): void => {
      if (key !== 'Escape') return;
      stop();
      announce('Check stopped. Nothing was started.');
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [isChecking, stop]);

  return {
    check,
    stop,
    letPass: (challenge) => {
      passed.current = challenge;
      stop();
    },
    passes: async (request) => {
      if (running.current !== null) return false;
      if (passed.current === request.challenge) return true;
      const stopped = new AbortController();
      running.current = stopped;
      setCheck({ kind: 'checking' });
      announce('Checking your question');
      const reply = await checkQuestion(request, stopped.signal).catch((error: unknown) => {
        stop();
        throw error;
      });
      if (stopped.signal.aborted) return false;
      running.current = null;
      if (reply?.verdict === 'undecidable') {
        setCheck({ kind: 'undecidable', why: reply.why ?? '' });
        return false;
      }
      passed.current = request.challenge;
      if (reply?.verdict === 'ask') {
        setCheck({ kind: 'ask', questions: reply.questions });
        return false;
      }
      setCheck({ kind: 'none' });
      return true;
    },
  };
}

/** Null when it was stopped, failed or took too long: a start never depends on it. */
async function checkQuestion(
  request: CheckRequest,
  stopped: AbortSignal,
): Promise<CheckReply | null> {
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(checkLimits.seconds * 1000)]);
  // Renewing the session is part of the time, and does not listen to the signal.
  const over = new Promise<null>((resolve) => {
    signal.addEventListener('abort', () => resolve(null));
  });
  const answer = write('POST', '/optimizations/check', request, CheckReply, { signal }).catch(
    (error: unknown) => {
      if (error instanceof ApiProblem || signal.aborted) return null;
      throw error;
    },
  );
  return Promise.race([answer, over]);
}
