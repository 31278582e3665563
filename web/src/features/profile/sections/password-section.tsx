import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ComponentType, type ReactNode, useState } from 'react';
import { PasswordChangeRequest, type Profile } from '#services/identity/contract.ts';
import { DoneReply } from '#services/identity/contract/session.ts';
import { write } from '#web/api/api.ts';
import { Button } from '#web/ui/form/button.tsx';
import { Checkbox } from '#web/ui/form/field.tsx';
import { PasswordField } from '#web/ui/form/password-field.tsx';
import { Outcome } from '#web/features/profile/outcome.tsx';
import { profileKey } from '#web/api/account.ts';
import { apiKeysQuery } from '#web/features/profile/queries.ts';
import { Section } from '#web/features/profile/section.tsx';
import { useAction } from '#web/features/profile/use-action.ts';
import { useChange } from '#web/features/profile/use-change.ts';

type Rules = ComponentType<{ password: string }>;

const fieldOf = {
  'wrong-password': 'current_password',
  'password-too-short': 'new_password',
  'password-too-weak': 'new_password',
} as const;

export function PasswordSection({
  profile,
  Rules,
  requestReset,
}: {
  profile: Profile;
  Rules: Rules;
  requestReset: (email: string) => Promise<void>;
}): ReactNode {
  return (
    <Section
      title="Password"
      about="Changing it signs you out everywhere else and cancels links in earlier emails. We'll email you to confirm."
    >
      {profile.has_password ? (
        <PasswordForm email={profile.email} Rules={Rules} />
      ) : (
        <FirstPassword email={profile.email} requestReset={requestReset} />
      )}
    </Section>
  );
}

function PasswordForm({ email, Rules }: { email: string; Rules: Rules }): ReactNode {
  const client = useQueryClient();
  const { data: keys } = useQuery(apiKeysQuery);
  const [password, setPassword] = useState('');
  const form = useChange({
    schema: PasswordChangeRequest,
    read: (data) => ({
      current_password: data.get('current_password') ?? '',
      new_password: data.get('new_password') ?? '',
      revoke_api_keys: data.has('revoke_api_keys'),
    }),
    send: async (request) => {
      await write('POST', '/auth/password/change', request, DoneReply);
      setPassword('');
      // The change ended the other sessions, maybe the API keys, and dropped an unconfirmed new address.
      await client.invalidateQueries({ queryKey: profileKey });
      return request.revoke_api_keys
        ? "Password changed. You're signed out everywhere else, and your API keys are revoked."
        : "Password changed. You're signed out everywhere else.";
    },
    fieldOf,
    clears: true,
  });
  return (
    <form {...form.props} className="space-y-4">
      {/* Password managers need the account's name. */}
      <input type="text" autoComplete="username" value={email} readOnly hidden />
      <PasswordField
        label="Current password"
        name="current_password"
        autoComplete="current-password"
        required
        error={form.errors['current_password']}
      />
      <PasswordField
        label="New password"
        name="new_password"
        autoComplete="new-password"
        required
        error={form.errors['new_password']}
        onInput={(event) => setPassword(event.currentTarget.value)}
      >
        <Rules password={password} />
      </PasswordField>
      {keys === undefined || keys.length === 0 ? null : (
        <Checkbox
          label="Also revoke my API keys"
          name="revoke_api_keys"
          hint="Programs that use them stop working. Do this if someone else knew your password."
        />
      )}
      <Outcome done={form.done} failure={form.failure} title="We couldn't change your password" />
      <Button type="submit" busy={form.busy}>
        {form.busy ? 'Changing…' : 'Change password'}
      </Button>
    </form>
  );
}

/** A user without a password can prove their identity only by email. */
function FirstPassword({
  email,
  requestReset,
}: {
  email: string;
  requestReset: (email: string) => Promise<void>;
}): ReactNode {
  const { run, busy, done, failure } = useAction();
  const send = (): void =>
    run(async () => {
      await requestReset(email);
      return `A link is on its way to ${email}. It works for 10 minutes, in this browser.`;
    });
  return (
    <div className="space-y-4">
      <p>This account has no password. You sign in with links we email you.</p>
      <Outcome done={done} failure={failure} title="We couldn't send the link" />
      <Button onClick={send} busy={busy}>
        {busy ? 'Sending…' : 'Email me a link to set a password'}
      </Button>
    </div>
  );
}
