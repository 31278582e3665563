import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { EmailChangeRequest, type Profile } from '#services/identity/contract.ts';
import { DoneReply } from '#services/identity/contract/session.ts';
import { write } from '#web/api/api.ts';
import { Button } from '#web/ui/form/button.tsx';
import { TextField } from '#web/ui/form/field.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { PasswordField } from '#web/ui/form/password-field.tsx';
import { Outcome } from '#web/features/profile/outcome.tsx';
import { accountQuery } from '#web/api/account.ts';
import { Section } from '#web/features/profile/section.tsx';
import { useChange } from '#web/features/profile/use-change.ts';

const fieldOf = {
  'email-in-use': 'email',
  'invalid-email': 'email',
  'wrong-password': 'password',
} as const;

export function EmailSection({ profile }: { profile: Profile }): ReactNode {
  return (
    <Section
      title="Email"
      about="Your new address takes effect once you open the link we send there. We'll also email your old address a link to undo the change within 7 days."
    >
      <p>
        You sign in with <span className="font-semibold break-all">{profile.email}</span>.
      </p>
      {profile.pending_email === null ? null : (
        <Notice tone="info" title={`Pending: ${profile.pending_email}`}>
          Open the link we sent there, in this browser. Until then your address stays the same. If
          you ask for another change, that link stops working.
        </Notice>
      )}
      {profile.has_password ? (
        <EmailForm />
      ) : (
        <p className="text-ink-2">
          You need a password to change your address. Choose one below first.
        </p>
      )}
    </Section>
  );
}

function EmailForm(): ReactNode {
  const client = useQueryClient();
  const form = useChange({
    schema: EmailChangeRequest,
    read: (data) => ({ email: data.get('email') ?? '', password: data.get('password') ?? '' }),
    send: async (request) => {
      await write('POST', '/auth/email/change', request, DoneReply);
      // The server records the change after its reply, so that an address in use takes no longer.
      client.setQueryData(
        accountQuery.queryKey,
        (account) => account && { ...account, pending_email: request.email },
      );
      return `We sent a link to ${request.email}.`;
    },
    fieldOf,
    clears: true,
  });
  return (
    <form {...form.props} className="space-y-4">
      <TextField
        label="New email"
        name="email"
        type="email"
        autoComplete="off"
        inputMode="email"
        required
        error={form.errors['email']}
      />
      <PasswordField
        label="Your password"
        name="password"
        autoComplete="current-password"
        required
        error={form.errors['password']}
      />
      <Outcome done={form.done} failure={form.failure} title="We couldn't change your email" />
      <Button type="submit" busy={form.busy}>
        {form.busy ? 'Sending…' : 'Change email'}
      </Button>
    </form>
  );
}
