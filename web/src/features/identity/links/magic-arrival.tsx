import { useRouter } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { identityProblems } from '#services/identity/refusals.ts';
import { forget, readKept } from '#web/consent/device.ts';
import { LinkButton } from '#web/ui/form/button.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { type Arrival, forgetArrival } from '#web/features/identity/sessions/arrival.ts';
import { AskForLink } from './ask-for-link.tsx';
import { sentenceOfCode, unknownError } from '#web/features/identity/error-sentence.ts';
import { failureSentence } from '#web/features/identity/form-failure.tsx';
import { isOtherUser } from '#web/features/identity/sessions/other-person.ts';
import { safeReturnPath } from '#web/features/identity/sessions/return-path.ts';
import { restoreSession, useSession } from '#web/features/identity/sessions/session.ts';
import { exchange } from './link-calls.ts';
import {
  expiredByThisClock,
  invalidTokens,
  tokenErrors,
} from '#web/features/identity/sessions/token-checks.ts';

/** Handles a sign-in link at the home page: signs in and continues, or says why not. */
export function MagicArrival({ arrival }: { arrival: Arrival }): ReactNode {
  const router = useRouter();
  const [failure, setFailure] = useState<string | null>(null);
  const { redirect } = arrival.values;
  useEffect(() => {
    let isLeft = false;
    const continueSignIn = async (): Promise<void> => {
      const outcome = await outcomeOf(arrival);
      if (isLeft) return;
      setFailure(outcome);
      if (outcome === null) router.history.replace(safeReturnPath(redirect, location.origin));
    };
    void continueSignIn();
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
      title="That sign-in link didn't work"
      announced={`That sign-in link didn't work. ${sentence}`}
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
          <p>You're still signed in.</p>
        ) : (
          <AskForLink kind="magic" label="Send a new link" redirect={redirect} />
        )}
      </div>
    </Notice>
  );
}

/** The tokens work once, so a page that renders twice exchanges them once. */
const outcomes = new WeakMap<Arrival, Promise<string | null>>();

/** Resolves with null once signed in, else with the sentence that says why not. */
function outcomeOf(arrival: Arrival): Promise<string | null> {
  const known = outcomes.get(arrival);
  if (known) return known;
  const asked = signInBy(arrival);
  outcomes.set(arrival, asked);
  return asked;
}

async function signInBy({ values, email }: Arrival): Promise<string | null> {
  if (values['error'] !== undefined) {
    // Full details for debugging; the page shows none of them.
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

/** A code needs the verifier kept by the browser that requested it. */
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
    // The same link opened twice: the existing session serves, unless it is another account's.
    const session = await restoreSession();
    if (session.status === 'authenticated' && !isOtherUser(session.user, email)) return null;
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

const verifierKey = 'sevenfold.pkce';

/** The PKCE verifier that this tab kept when it requested a code; it works once. */
function takeVerifier(): string | null {
  const verifier = readKept(verifierKey);
  forget(verifierKey);
  return verifier;
}
