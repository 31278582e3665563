import { type ReactNode, useState } from 'react';
import { Button } from '#web/ui/form/button.tsx';
import { Dialog } from '#web/ui/dialog.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { LoginForm } from './login-form.tsx';

/**
 * The session ended while the user was working. The page stays as it is and signing in happens in a
 * dialog, so no typed text is lost.
 */
export function SignInAgain({ email }: { email: string }): ReactNode {
  const [open, setOpen] = useState(false);
  return (
    // It stays in view, because the failure may be far below the top of the page.
    <div className="sticky top-0 z-20 mx-auto w-full max-w-page px-4 pt-4 sm:px-6">
      <Notice
        tone="warn"
        title="Please sign in again"
        announced="Please sign in again"
        actions={
          <Button tone="primary" onClick={() => setOpen(true)}>
            Login
          </Button>
        }
      >
        Your session has expired. Nothing on this page is lost.
      </Notice>
      <Dialog open={open} onClose={() => setOpen(false)} title="Please sign in again">
        <LoginForm email={email} />
        {/* For users without a password at hand: this page notices the new session and continues. */}
        <p>
          <a href="/login" target="_blank" rel="noopener" className="link">
            Sign in another way
          </a>{' '}
          <span className="text-sm text-ink-3">(opens in a new tab; come back here afterward)</span>
        </p>
      </Dialog>
    </div>
  );
}
