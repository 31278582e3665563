import type { ReactNode } from 'react';
import { LinkButton } from '#web/ui/form/button.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { AskForLink } from './links/ask-for-link.tsx';
import { sentenceOfCode, unknownError } from './error-sentence.ts';
import { ContactLink, LandingPage } from './links/landing-page.tsx';
import { useSession } from './sessions/session.ts';

/** The end of a sign-in that failed elsewhere. */
export function AuthErrorPage({ code }: { code: string | undefined }): ReactNode {
  const sentence = sentenceOfCode(code) ?? unknownError;
  const isSignedIn = useSession().status === 'authenticated';
  return (
    <LandingPage heading="Authentication error">
      <Notice
        tone="bad"
        title={isSignedIn ? 'You are signed in anyway' : 'You are not signed in'}
        announced={sentence}
      >
        {sentence}
      </Notice>
      <div className="space-y-2">
        <h2 className="text-2xl">What may be the reason</h2>
        <ul className="list-disc space-y-1 ps-5 text-ink-2">
          <li>The link has expired. A sign-in link works for 10 minutes.</li>
          <li>The link was already used. Each works once.</li>
          <li>The link is not valid, because a part of it is missing or it was replaced.</li>
          <li>The network was down while the page was loading.</li>
        </ul>
      </div>
      {isSignedIn ? null : <AskForLink kind="magic" label="Send a new link" />}
      <div className="flex flex-wrap gap-3">
        {isSignedIn ? (
          <LinkButton to="/dashboard">Dashboard</LinkButton>
        ) : (
          <>
            <LinkButton to="/signup">Sign up</LinkButton>
            <LinkButton to="/login">Login</LinkButton>
          </>
        )}
        <ContactLink />
      </div>
    </LandingPage>
  );
}
