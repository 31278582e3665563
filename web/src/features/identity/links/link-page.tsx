import { useRouter } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { LinkKind, LinkReply } from '#services/identity/contract.ts';
import { ownPath } from '#services/identity/contract/forms.ts';
import { identityProblems } from '#services/identity/refusals.ts';
import { ApiProblem } from '#web/api/api.ts';
import { Button, LinkButton } from '#web/ui/form/button.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { type Arrival, arriveAt, useArrival } from '#web/features/identity/sessions/arrival.ts';
import { AskForLink } from './ask-for-link.tsx';
import { FailureBanner, failureSentence } from '#web/features/identity/form-failure.tsx';
import { LandingPage, NextSteps } from './landing-page.tsx';
import { isLinkKind, linkWords } from './link-words.ts';
import { isOtherUser } from '#web/features/identity/sessions/other-person.ts';
import { type Session, useSession } from '#web/features/identity/sessions/session.ts';
import { followLink } from './link-calls.ts';
import { readUnconfirmed } from '#web/features/identity/unconfirmed.ts';

/**
 * The page behind a link in an email. Opening it changes nothing, because scanners open every link;
 * its button acts once.
 */
export function LinkPage({ kind }: { kind: string }): ReactNode {
  const arrival = useArrival(`/auth/link/${kind}`);
  if (!isLinkKind(kind)) return <UnknownLink />;
  return <KnownLink kind={kind} arrival={arrival} />;
}

function KnownLink({ kind, arrival }: { kind: LinkKind; arrival: Arrival | null }): ReactNode {
  const words = linkWords[kind];
  const follow = useFollow();
  const session = useSession();
  // Kept, because the reply's tokens replace it while this page is still shown.
  const [opened, setOpened] = useState(arrival);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const [switching, setSwitching] = useState<Switch | null>(null);
  if (arrival && arrival !== opened) {
    // A link pasted into the same tab starts over, even the same one.
    setOpened(arrival);
    setBusy(false);
    setFailure(null);
    setSwitching(null);
  }
  const token = opened?.values['token'];
  if (token === undefined) return <NoToken kind={kind} />;
  const use = async (): Promise<void> => {
    setFailure(null);
    setBusy(true);
    try {
      const reply = await followLink(kind, token);
      const from = replacedBy(reply, session);
      if (from === null) follow(reply);
      else setSwitching({ from, reply });
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  };
  if (switching) {
    return <SwitchUser {...switching} heading={words.heading} onContinue={follow} />;
  }
  const isOver = failure instanceof ApiProblem && finalCodes.has(failure.code);
  return (
    <LandingPage heading={words.heading} below={isOver ? <NextSteps /> : null}>
      {isOver ? (
        <LinkOver kind={kind} failure={failure} />
      ) : (
        <>
          <FailureBanner
            title="That didn't work"
            failure={failure}
            sentence={failureSentence(failure, 'Please try again.')}
          />
          <p>{words.promise}</p>
          <Button tone="primary" wide busy={busy} onClick={() => void use()}>
            {busy ? words.busy : words.button}
          </Button>
        </>
      )}
    </LandingPage>
  );
}

/** Continuing would replace this user's session with another's. */
type Switch = { from: string; reply: LinkReply };

/** The signed-in user's address, when the reply is for another account. */
function replacedBy({ redirect, email }: LinkReply, session: Session): string | null {
  const signsIn = /[?#&](?:access_token|code)=/.test(redirect);
  if (!signsIn || session.status !== 'authenticated') return null;
  return isOtherUser(session.user, email) ? session.user.email : null;
}

function SwitchUser({
  from,
  reply,
  heading,
  onContinue,
}: Switch & { heading: string; onContinue: (reply: LinkReply) => void }): ReactNode {
  const notice = useRef<HTMLDivElement>(null);
  // The button that had the focus is gone.
  useEffect(() => notice.current?.focus(), []);
  const sentence = `You're signed in as ${from}. If you continue, you'll be signed in as ${reply.email}.`;
  return (
    <LandingPage heading={heading}>
      <Notice
        tone="warn"
        title="This link is for another account"
        focusRef={notice}
        announced={`This link is for another account. ${sentence}`}
        actions={
          <>
            <LinkButton to="/dashboard" replace>
              Stay signed in
            </LinkButton>
            <Button onClick={() => onContinue(reply)}>Continue</Button>
          </>
        }
      >
        {sentence}
      </Notice>
    </LandingPage>
  );
}

/** After these refusals a retry of the same link cannot work. */
const finalCodes: ReadonlySet<string> = new Set([
  'link-invalid',
  'link-expired',
  'link-used',
  'link-other-browser',
  'validation-failed',
  'account-erasing',
  'email-in-use',
]);

function LinkOver({ kind, failure }: { kind: LinkKind; failure: ApiProblem }): ReactNode {
  const isSignedIn = useSession().status === 'authenticated';
  if (failure.code === 'link-used' && isSignedIn && (kind === 'confirm' || kind === 'magic')) {
    return (
      <Notice
        tone="ok"
        title="You're signed in"
        announced="You're signed in"
        actions={
          <LinkButton to="/dashboard" replace tone="primary">
            Continue
          </LinkButton>
        }
      >
        This link was already used. You're still signed in.
      </Notice>
    );
  }
  const known = isLinkProblem(failure.code)
    ? identityProblems[failure.code]
    : { title: "This link isn't valid", message: failure.message };
  return (
    <>
      <FailureBanner title={known.title} failure={failure} sentence={known.message} />
      <Instead kind={kind} />
    </>
  );
}

function isLinkProblem(
  code: string,
): code is 'link-invalid' | 'link-expired' | 'link-used' | 'link-other-browser' {
  return code.startsWith('link-') && Object.hasOwn(identityProblems, code);
}

/** How to get a link that works. */
function Instead({ kind }: { kind: LinkKind }): ReactNode {
  const { instead } = linkWords[kind];
  const email = readUnconfirmed()?.email;
  if (instead === null) {
    return (
      <p>Your account settings show your current address. Change it there to get a new link.</p>
    );
  }
  return (
    <AskForLink
      kind={instead}
      label={kind === 'undo' ? 'Send a reset link' : 'Send a new link'}
      email={kind === 'confirm' ? email : undefined}
    />
  );
}

function NoToken({ kind }: { kind: LinkKind }): ReactNode {
  return (
    <LandingPage heading={linkWords[kind].heading} below={<NextSteps />}>
      <Notice tone="warn" title="This link is incomplete">
        Part of the link is missing. Open it again from your email, or get a new one.
      </Notice>
      <Instead kind={kind} />
    </LandingPage>
  );
}

function UnknownLink(): ReactNode {
  return (
    <LandingPage heading={identityProblems['link-invalid'].title} below={<NextSteps />}>
      <Notice tone="warn" title={identityProblems['link-invalid'].title}>
        We don't recognize this link. Open it again from your email, or get a new sign-in link.
      </Notice>
      <AskForLink kind="magic" label="Send a new link" />
    </LandingPage>
  );
}

/**
 * Replaces this page with the one a reply names. Its tokens never appear in the address bar. Only
 * pages of this site count.
 */
function useFollow(): (reply: LinkReply) => void {
  const router = useRouter();
  return ({ redirect, email }) =>
    router.history.replace(arriveAt(ownPath(redirect, location.origin) ?? '/dashboard', email));
}
