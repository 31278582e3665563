import type { ReactNode } from 'react';
import { isLocalMode } from '#web/app/local-mode.ts';
import { Button, type ButtonProps } from '#web/ui/form/button.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { FormFailure } from '#web/features/identity/form-failure.tsx';
import type { LinkRequestState } from './use-link-request.ts';

export type AskedLink = 'confirm' | 'magic' | 'reset';

/** What the email's link does and how long it works. */
export const linkPromises: Readonly<Record<AskedLink, string>> = {
  confirm:
    "This link confirms your address. It works once within 24 hours. Open it in the browser you signed up in and you'll be signed in too.",
  magic: 'This link signs you in. It works once, within 10 minutes, in this browser.',
  reset:
    'This link lets you choose a new password. It works once, within 10 minutes, in this browser.',
};

/** The same words for every address, so that they do not reveal whether an account exists. */
const onItsWay = 'If an account exists, a link is on its way';

/** The outcome of a link request. `children` says what the link is good for. */
export function LinkRequestOutcome({
  request,
  children,
}: {
  request: LinkRequestState;
  children: ReactNode;
}): ReactNode {
  return (
    <>
      <FormFailure
        title="We couldn't send the link"
        failure={request.failure}
        fallback="Please try again."
      />
      {request.sent > 0 && !request.failure ? (
        // A new notice each time, so that each is announced.
        <Notice key={request.sent} tone="ok" title={onItsWay} announced={onItsWay}>
          <p>{children}</p>
          {isLocalMode() ? <OpenMailbox {...localMailbox} /> : null}
        </Notice>
      ) : null}
    </>
  );
}

/** Local mode shows every email here instead of sending it. */
export const localMailbox = { name: 'the local mailbox', url: '/dev/mail' };

/** A new tab, so that this one stays for the next step. */
export function OpenMailbox({ name, url }: { name: string; url: string }): ReactNode {
  return (
    <p>
      <a href={url} target="_blank" rel="noopener noreferrer" className="link">
        Open {name}
      </a>{' '}
      <span className="text-sm text-ink-3">(opens in a new tab)</span>
    </p>
  );
}

/**
 * The button that requests a link. While it must wait it keeps the focus, unlike a disabled button,
 * and shows how long.
 */
export function LinkRequestButton({
  request,
  label,
  ...button
}: Omit<ButtonProps, 'children'> & { request: LinkRequestState; label: string }): ReactNode {
  const isWaiting = request.waitSeconds > 0;
  return (
    <Button
      {...button}
      aria-busy={request.busy || undefined}
      aria-disabled={request.busy || isWaiting || undefined}
    >
      {request.busy
        ? 'Sending…'
        : isWaiting
          ? `${label} again in ${request.waitSeconds}s`
          : request.sent > 0
            ? `${label} again`
            : label}
    </Button>
  );
}
