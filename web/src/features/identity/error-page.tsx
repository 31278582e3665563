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
        title={isSignedIn ? "You're still signed in" : "You aren't signed in"}
        announced={sentence}
      >
        {sentence}
      </Notice>
      <div className="space-y-2">
        <h2 className="text-2xl">What may have happened</h2>
        <ul className="list-disc space-y-1 ps-5 text-ink-2">
          <li>The link expired. A sign-in link works for 10 minutes.</li>
          <li>The link was already used. Each link works once.</li>
          <li>The link isn't valid: part of it is missing, or a newer link replaced it.</li>
          <li>Your connection dropped while the page was loading.</li>
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
