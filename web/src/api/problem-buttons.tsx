import type { ReactNode } from 'react';
import { Button, LinkButton } from '#web/ui/form/button.tsx';
import { problemAction } from './problem-words.ts';

/** The buttons that help after a failure; null where none does. */
export function problemButtons(
  error: unknown,
  retry?: { onRetry: () => void; busy: boolean },
): ReactNode {
  switch (problemAction(error)) {
    case 'retry':
    case 'wait':
    case 'sign-in':
      // Signing in happens in a dialog over the page.
      return retry === undefined ? null : (
        <Button onClick={retry.onRetry} busy={retry.busy}>
          Try Again
        </Button>
      );
    case 'reload':
      return <Button onClick={() => location.reload()}>Reload page</Button>;
    case 'buy-credits':
      return (
        <>
          <LinkButton to="/credits/purchase" tone="primary">
            Buy More Credits
          </LinkButton>
          <LinkButton to="/credits">View Credit Balance</LinkButton>
        </>
      );
    case 'change':
    case 'none':
      return null;
  }
}
