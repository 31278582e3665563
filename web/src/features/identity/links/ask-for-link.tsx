import type { ReactNode } from 'react';
import { ResetLinkRequest } from '#services/identity/contract/forms.ts';
import { TextField } from '#web/ui/form/field.tsx';
import { useForm } from '#web/ui/form/form.ts';
import { useHydrated } from '#web/ui/hydrated.ts';
import {
  type AskedLink,
  linkPromises,
  LinkRequestButton,
  LinkRequestOutcome,
} from './link-request.tsx';
import {
  requestMagicLink,
  requestReset,
  resendConfirmation,
} from '#web/features/identity/sessions/session.ts';
import { useLinkRequest } from './use-link-request.ts';

const senders: Readonly<
  Record<AskedLink, (email: string, redirect: string | undefined) => Promise<void>>
> = {
  confirm: (email, redirect) => resendConfirmation({ email, ...(redirect ? { redirect } : {}) }),
  magic: (email, redirect) => requestMagicLink({ email, ...(redirect ? { redirect } : {}) }),
  reset: (email) => requestReset({ email }),
};

/** One field and one button that request a link by email. */
export function AskForLink({
  kind,
  label,
  email,
  redirect,
}: {
  kind: AskedLink;
  label: string;
  email?: string | undefined;
  redirect?: string | undefined;
}): ReactNode {
  const hydrated = useHydrated();
  const request = useLinkRequest();
  const form = useForm({
    schema: ResetLinkRequest,
    read: (data) => ({ email: data.get('email') ?? '' }),
    send: (value) => request.ask(() => senders[kind](value.email, redirect)),
  });
  return (
    <form {...form.props} className="space-y-5">
      <LinkRequestOutcome request={request}>{linkPromises[kind]}</LinkRequestOutcome>
      <TextField
        label="Email"
        name="email"
        type="email"
        autoComplete="email"
        inputMode="email"
        required
        defaultValue={email}
        error={form.errors['email']}
      />
      <LinkRequestButton
        request={request}
        label={label}
        type="submit"
        tone="primary"
        wide
        disabled={!hydrated}
      />
    </form>
  );
}
