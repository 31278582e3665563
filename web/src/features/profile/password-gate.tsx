import type { ReactNode } from 'react';
import { ReauthenticateRequest } from '#services/identity/contract.ts';
import { DoneReply } from '#services/identity/contract/session.ts';
import { write } from '#web/api/api.ts';
import { Button } from '#web/ui/form/button.tsx';
import { PasswordField } from '#web/ui/form/password-field.tsx';
import { Outcome } from './outcome.tsx';
import { useChange } from './use-change.ts';

/**
 * Asks for the password again, because the server requires a recent proof of identity. `onProved`
 * follows at once and removes this form; its error is shown here.
 */
export function PasswordGate({
  onProved,
  onCancel,
}: {
  onProved: () => Promise<unknown>;
  onCancel: () => void;
}): ReactNode {
  const form = useChange({
    schema: ReauthenticateRequest,
    read: (data) => ({ password: data.get('password') ?? '' }),
    send: async (request) => {
      await write('POST', '/auth/reauthenticate', request, DoneReply);
      await onProved();
      return null;
    },
    fieldOf: { 'wrong-password': 'password' },
  });
  return (
    <form
      {...form.props}
      aria-label="Please confirm it is you"
      className="space-y-4 rounded-control border border-line bg-sunken p-4"
    >
      <p className="font-semibold">Please confirm it is you</p>
      <PasswordField
        label="Your password"
        name="password"
        autoComplete="current-password"
        required
        ref={focusOnce}
        error={form.errors['password']}
      />
      <Outcome done={form.done} failure={form.failure} title="That didn't work" />
      <div className="flex flex-wrap gap-3">
        <Button type="submit" tone="primary" busy={form.busy}>
          {form.busy ? 'One moment…' : 'Continue'}
        </Button>
        <Button onClick={onCancel} disabled={form.busy}>
          Cancel
        </Button>
      </div>
    </form>
  );
}

/** The form answers a press, and its field is the next thing to fill in. */
function focusOnce(input: HTMLInputElement | null): void {
  input?.focus();
}
