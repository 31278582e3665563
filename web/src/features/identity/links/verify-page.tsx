import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { maskedEmail } from '#services/identity/contract/forms.ts';
import { isLocalMode } from '#web/app/local-mode.ts';
import { Button } from '#web/ui/form/button.tsx';
import { Card } from '#web/ui/card.tsx';
import { AskForLink } from './ask-for-link.tsx';
import { ContactLink } from './landing-page.tsx';
import {
  linkPromises,
  LinkRequestButton,
  LinkRequestOutcome,
  localMailbox,
  OpenMailbox,
} from './link-request.tsx';
import { mailboxOf } from '#web/features/identity/mailbox.ts';
import {
  restoreSession,
  useSession,
  resendConfirmation,
} from '#web/features/identity/sessions/session.ts';
import {
  forgetUnconfirmed,
  keepUnconfirmed,
  type Kept,
  readUnconfirmed,
} from '#web/features/identity/unconfirmed.ts';
import { useLinkRequest } from './use-link-request.ts';
import { useReturn } from '#web/features/identity/sessions/use-return.ts';

/** The page the user wanted when they signed up. */
type Onward = { redirect: string | undefined };

/** Between signing up and confirming the address. It continues once there is a session. */
export function VerifyPage({ redirect }: Onward): ReactNode {
  const [kept] = useState(readUnconfirmed);
  const isConfirmed = useSession().status === 'authenticated';
  useReturn(redirect);
  useEffect(() => {
    if (isConfirmed) forgetUnconfirmed();
  }, [isConfirmed]);
  useLookWhenShown();
  return (
    <div className="mx-auto w-full max-w-form space-y-6 px-4 pt-8 lg:pt-16">
      <h1 className="text-4xl">Superintelligence Access Initiated</h1>
      <Card className="space-y-5">
        {kept ? (
          <Waiting kept={kept} redirect={redirect} />
        ) : (
          <WithoutAddress redirect={redirect} />
        )}
      </Card>
      <section aria-labelledby="mails" className="space-y-3">
        <h2 id="mails" className="text-2xl">
          What we'll email you
        </h2>
        <ol className="list-decimal space-y-2 ps-5 text-ink-2">
          <li>
            <strong className="text-ink">Now: a confirmation link.</strong> It works once, within 24
            hours. Until you open it, we send only links someone asks for.
          </li>
          <li>
            <strong className="text-ink">After that: only account emails.</strong> Links you ask
            for, security notices, receipts, refunds, disputes, failed payments, a copy of any
            message you send us, and changes to our terms. We also write when your credits run low,
            until you turn that off in Account Settings, and when a run ends, if you turn that on.
          </li>
        </ol>
      </section>
      <div className="flex flex-wrap gap-x-6">
        <Link to="/login" className="link inline-flex min-h-11 items-center">
          Login
        </Link>
        <ContactLink />
      </div>
    </div>
  );
}

/** Other tabs announce a sign-in; a suspended tab checks when it is shown again. */
function useLookWhenShown(): void {
  useEffect(() => {
    const check = (): void => {
      if (!document.hidden) void restoreSession();
    };
    document.addEventListener('visibilitychange', check);
    return () => document.removeEventListener('visibilitychange', check);
  }, []);
}

function Waiting({ kept, redirect }: { kept: Kept } & Onward): ReactNode {
  const request = useLinkRequest(kept.sentAt);
  const [isChanging, setIsChanging] = useState(false);
  const { email, pendingToken } = kept;
  const mailbox = isLocalMode() ? localMailbox : mailboxOf(email);
  const send = async (): Promise<void> => {
    const onward = redirect ? { redirect } : {};
    await resendConfirmation(
      pendingToken === undefined
        ? { email, ...onward }
        : { pending_token: pendingToken, ...onward },
    );
    keepUnconfirmed({ ...kept, sentAt: Date.now() });
  };
  return (
    <>
      <p>
        {kept.sentAt === null ? "You haven't confirmed this address yet: " : 'We sent a link to '}
        <strong className="font-semibold break-words">{maskedEmail(email)}</strong>
        {kept.sentAt === null ? '' : '. Open it and your account is ready.'}
      </p>
      {mailbox ? <OpenMailbox {...mailbox} /> : null}
      <LinkRequestOutcome request={request}>{linkPromises.confirm}</LinkRequestOutcome>
      <LinkRequestButton
        request={request}
        label={kept.sentAt === null ? 'Send link' : 'Send it'}
        wide
        onClick={() => void request.ask(send)}
      />
      {isChanging ? (
        <div className="space-y-5 border-t border-line pt-5">
          <WithoutAddress redirect={redirect} />
        </div>
      ) : (
        <Button tone="quiet" wide onClick={() => setIsChanging(true)}>
          Change address
        </Button>
      )}
    </>
  );
}

function WithoutAddress({ redirect }: Onward): ReactNode {
  return (
    <>
      <p className="text-ink-2">
        Enter the address you signed up with and we'll send the confirmation again. Typo in the
        address?{' '}
        <Link to="/signup" search={redirect ? { redirect } : {}} className="link">
          Sign up again
        </Link>{' '}
        with the right one.
      </p>
      <AskForLink kind="confirm" label="Send confirmation" redirect={redirect} />
    </>
  );
}
