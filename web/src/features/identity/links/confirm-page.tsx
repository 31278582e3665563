import { useRouter } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { LinkButton } from '#web/ui/form/button.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';
import { type Arrival, useArrival } from '#web/features/identity/sessions/arrival.ts';
import { AskForLink } from './ask-for-link.tsx';
import { type ConfirmationPlan, confirmedWords, planOf } from './confirmation.ts';
import { ContactLink, LandingPage, NextSteps } from './landing-page.tsx';
import { home, safeReturnPath } from '#web/features/identity/sessions/return-path.ts';
import { restoreSession, useSession } from '#web/features/identity/sessions/session.ts';
import { exchange } from './link-calls.ts';
import { forgetUnconfirmed, readUnconfirmed } from '#web/features/identity/unconfirmed.ts';

type Outcome =
  | { state: 'success'; sentence: string; isSignedIn: boolean }
  | { state: 'error'; sentence: string };

/** The four outcomes of a confirmation. */
export function ConfirmPage({
  confirmed,
  error,
  redirect,
}: {
  confirmed: string | undefined;
  error: string | undefined;
  /** The page the user wanted when they signed up. */
  redirect: string | undefined;
}): ReactNode {
  const arrival = useArrival('/auth/confirm');
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  useEffect(() => {
    let isLeft = false;
    const follow = async (): Promise<void> => {
      const found = await outcomeOf(planOf({ confirmed, error, arrival }), arrival);
      if (!isLeft) setOutcome(found);
    };
    void follow();
    return () => {
      isLeft = true;
    };
  }, [confirmed, error, arrival]);
  if (outcome === null) {
    return (
      <LandingPage heading="Confirming your address">
        <div aria-busy="true" className="space-y-3">
          <p>One moment, please.</p>
          <Skeleton className="h-11" />
        </div>
      </LandingPage>
    );
  }
  return outcome.state === 'success' ? (
    <Success {...outcome} email={arrival?.email} redirect={redirect} />
  ) : (
    <Failure {...outcome} />
  );
}

/** The pair works once, so a page that renders twice exchanges it once. */
const exchanges = new WeakMap<Arrival, Promise<Outcome>>();

function outcomeOf(plan: ConfirmationPlan, arrival: Arrival | null): Promise<Outcome> {
  if (plan.do === 'refuse') return Promise.resolve({ state: 'error', sentence: plan.sentence });
  if (plan.do === 'restore' || arrival === null) return restored();
  const known = exchanges.get(arrival);
  if (known) return known;
  const asked = exchanged(plan.access, plan.refresh);
  exchanges.set(arrival, asked);
  return asked;
}

const signedIn: Outcome = {
  state: 'success',
  sentence: confirmedWords.signedIn,
  isSignedIn: true,
};
const signedOut: Outcome = {
  state: 'success',
  sentence: confirmedWords.signedOut,
  isSignedIn: false,
};

async function exchanged(access: string, refresh: string): Promise<Outcome> {
  try {
    await exchange({ access_token: access, refresh_token: refresh });
    forgetUnconfirmed();
    return signedIn;
  } catch (error) {
    // The address is confirmed either way; only the sign-in is left to the user.
    console.warn("Your address is confirmed, but we couldn't sign you in", error);
    return signedOut;
  }
}

async function restored(): Promise<Outcome> {
  const session = await restoreSession();
  return session.status === 'authenticated' ? signedIn : signedOut;
}

/** Milliseconds until a success continues automatically. */
const continueAfterMs = 2_000;

function Success({
  sentence,
  isSignedIn,
  email,
  redirect,
}: Extract<Outcome, { state: 'success' }> & {
  email: string | undefined;
  redirect: string | undefined;
}): ReactNode {
  const router = useRouter();
  const back = safeReturnPath(redirect, location.origin);
  const isElsewhere = back !== home;
  const next = isSignedIn ? back : loginPath(isElsewhere ? back : null);
  const [stays, setStays] = useState(false);
  useEffect(() => {
    if (stays) return undefined;
    const timer = setTimeout(() => router.history.replace(next), continueAfterMs);
    return () => clearTimeout(timer);
  }, [stays, next, router]);
  const place = !isSignedIn
    ? 'the login page'
    : isElsewhere
      ? 'the page you came for'
      : 'your dashboard';
  return (
    <LandingPage heading="Address confirmed">
      <Notice tone="ok" title="Done" announced={sentence}>
        {sentence}
      </Notice>
      {email === undefined ? null : (
        <p>
          Confirmed: <strong className="font-semibold break-words">{email}</strong>
        </p>
      )}
      {/* While the focus is inside, the user decides when to continue. */}
      <div className="space-y-3" onFocus={() => setStays(true)}>
        {isSignedIn ? null : (
          <p>For your safety, a link signs you in only in the browser where you asked for it.</p>
        )}
        <p className="text-ink-2">
          {stays ? `Continue to ${place} when you're ready.` : `Taking you to ${place}…`}
        </p>
        <LinkButton {...placeOf(next)} replace tone="primary" wide>
          Continue
        </LinkButton>
      </div>
    </LandingPage>
  );
}

/** Splits a path into the parts that a router link takes. */
function placeOf(path: string): { to: string; search: Record<string, string>; hash: string } {
  const { pathname, searchParams, hash } = new URL(path, location.origin);
  return { to: pathname, search: Object.fromEntries(searchParams), hash: hash.slice(1) };
}

function loginPath(back: string | null): string {
  return back === null ? '/login' : `/login?redirect=${encodeURIComponent(back)}`;
}

function Failure({ sentence }: Extract<Outcome, { state: 'error' }>): ReactNode {
  const isSignedIn = useSession().status === 'authenticated';
  if (isSignedIn) {
    return (
      <LandingPage heading="Confirmation failed" below={<NextSteps />}>
        <Notice tone="bad" title="That link didn't work" announced={sentence}>
          {sentence}
        </Notice>
        <p className="text-ink-2">You're still signed in.</p>
      </LandingPage>
    );
  }
  return (
    <LandingPage heading="Confirmation failed" below={<ContactLink />}>
      <Notice
        tone="bad"
        title="We couldn't confirm your email"
        announced={sentence}
        actions={
          <>
            <LinkButton to="/signup">Sign up again</LinkButton>
            <LinkButton to="/login">Login</LinkButton>
          </>
        }
      >
        {sentence}
      </Notice>
      <p className="text-ink-2">Already signed up? We'll send you a new link.</p>
      <AskForLink kind="confirm" label="Send confirmation" email={readUnconfirmed()?.email} />
    </LandingPage>
  );
}
