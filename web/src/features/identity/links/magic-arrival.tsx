import { useRouter } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { identityProblems } from '#services/identity/refusals.ts';
import { LinkButton } from '#web/ui/form/button.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { type Arrival, forgetArrival } from '#web/features/identity/sessions/arrival.ts';
import { AskForLink } from './ask-for-link.tsx';
import { sentenceOfCode, unknownError } from '#web/features/identity/error-sentence.ts';
import { failureSentence } from '#web/features/identity/form-failure.tsx';
import { isSomebodyElse } from '#web/features/identity/sessions/other-person.ts';
import { safeReturnPath } from '#web/features/identity/sessions/return-path.ts';
import { exchange, restoreSession, useSession } from '#web/features/identity/sessions/session.ts';
import {
  expiredByThisClock,
  invalidTokens,
  tokenErrors,
} from '#web/features/identity/sessions/token-checks.ts';
import { takeVerifier } from './verifier.ts';

/** What a sign-in link left at the home page: signs in and goes on, or says why not. */
export function MagicArrival({ arrival }: { arrival: Arrival }): ReactNode {
  const router = useRouter();
  const [failure, setFailure] = useState<string | null>(null);
  const { redirect } = arrival.values;
  useEffect(() => {
    let isLeft = false;
    const goOn = async (): Promise<void> => {
      const outcome = await outcomeOf(arrival);
      if (isLeft) return;
      setFailure(outcome);
      if (outcome === null) router.history.replace(safeReturnPath(redirect, location.origin));
    };
    void goOn();
    return () => {
      isLeft = true;
    };
  }, [arrival, redirect, router]);
  if (failure === null) {
    return <Notice tone="info" title="Signing you in…" announced="Signing you in" />;
  }
  return <Failure sentence={failure} redirect={redirect} />;
}

function Failure({
  sentence,
  redirect,
}: {
  sentence: string;
  redirect: string | undefined;
}): ReactNode {
  const isSignedIn = useSession().status === 'authenticated';
  return (
    <Notice
      tone="bad"
      title="The sign-in link did not work"
      announced={`The sign-in link did not work. ${sentence}`}
      onDismiss={forgetArrival}
      actions={
        isSignedIn ? (
          <LinkButton to="/dashboard" tone="primary">
            Dashboard
          </LinkButton>
        ) : undefined
      }
    >
      <div className="max-w-form space-y-5">
        <p>{sentence}</p>
        {isSignedIn ? (
          <p>You are signed in all the same.</p>
        ) : (
          <AskForLink kind="magic" label="Send a new link" redirect={redirect} />
        )}
      </div>
    </Notice>
  );
}

/** The tokens work once: a page that is drawn twice asks once. */
const outcomes = new WeakMap<Arrival, Promise<string | null>>();

/** Resolves with null once somebody is signed in, else with the sentence that says why not. */
function outcomeOf(arrival: Arrival): Promise<string | null> {
  const known = outcomes.get(arrival);
  if (known) return known;
  const asked = signInBy(arrival);
  outcomes.set(arrival, asked);
  return asked;
}

async function signInBy({ values, email }: Arrival): Promise<string | null> {
  if (values['error'] !== undefined) {
    // The whole of it for whoever looks into the matter; the page shows no word of it.
    console.warn('The sign-in link brought an error', values['error'], values['error_description']);
    return sentenceOfCode(values['error_code']) ?? sentenceOfCode(values['error']) ?? unknownError;
  }
  if (values['code'] !== undefined) return signInByCode(values['code'], email);
  const { access_token: access, refresh_token: refresh } = values;
  const errors = tokenErrors({ access, refresh }, Date.now());
  const mayBeWrong = errors.length === 1 && errors[0] === expiredByThisClock;
  if (!access || !refresh || (errors.length > 0 && !mayBeWrong))
    return logged(invalidTokens(errors));
  const sentence = await exchanged({ access_token: access, refresh_token: refresh }, email);
  return sentence === null || errors.length === 0 ? sentence : logged(invalidTokens(errors));
}

/** A code is worth nothing without the verifier that the browser which asked for it has kept. */
async function signInByCode(code: string, email: string | undefined): Promise<string | null> {
  const verifier = takeVerifier();
  if (verifier === null) return logged(identityProblems['link-other-browser'].message);
  return exchanged({ code, code_verifier: verifier }, email);
}

async function exchanged(
  request: Parameters<typeof exchange>[0],
  email: string | undefined,
): Promise<string | null> {
  try {
    await exchange(request);
    return null;
  } catch (error) {
    // The same link opened twice: the session of the first time is as good, unless it is another's.
    const session = await restoreSession();
    if (session.status === 'authenticated' && !isSomebodyElse(session.user, email)) return null;
    console.warn(
      `Magic link auth failed: ${messageOf(error)} Refresh failed: there is no session (${session.status}).`,
    );
    return failureSentence(error, 'Please try again.');
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function logged(sentence: string): string {
  console.warn(`Magic link auth failed: ${sentence}`);
  return sentence;
}
