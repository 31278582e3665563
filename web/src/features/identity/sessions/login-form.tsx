import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import * as v from 'valibot';
import {
  type LoginRequest,
  LoginForm as LoginSchema,
  ResetLinkRequest,
} from '#services/identity/contract/forms.ts';
import { ApiProblem } from '#web/api/api.ts';
import { Button } from '#web/ui/form/button.tsx';
import { Checkbox, TextField } from '#web/ui/form/field.tsx';
import { firstErrors, type Form, useForm } from '#web/ui/form/form.ts';
import { useHydrated } from '#web/ui/hydrated.ts';
import { PasswordField } from '#web/ui/form/password-field.tsx';
import { FormFailure } from '#web/features/identity/form-failure.tsx';
import {
  linkPromises,
  LinkRequestButton,
  LinkRequestOutcome,
} from '#web/features/identity/links/link-request.tsx';
import { login, requestMagicLink } from './session.ts';
import { useLinkRequest } from '#web/features/identity/links/use-link-request.ts';

const readLogin = (data: FormData) => ({
  email: data.get('email') ?? '',
  password: data.get('password') ?? '',
  remember_me: data.get('remember') === 'on',
});

/**
 * Email and password. The page decides where to go afterwards, because the session changes. With
 * `returnTo`, the path to come back to, the form is on a page of its own and offers the other
 * sign-in methods, which leave that page.
 */
export function LoginForm({
  email,
  returnTo,
}: {
  email?: string;
  returnTo?: string | undefined;
}): ReactNode {
  const hydrated = useHydrated();
  const navigate = useNavigate();
  const isPage = returnTo !== undefined;
  const search = returnTo ? { redirect: returnTo } : {};
  const form = useForm({
    schema: LoginSchema,
    read: readLogin,
    send: async (request: LoginRequest) => {
      try {
        await login(request);
      } catch (error) {
        if (!isUnconfirmed(error)) throw error;
        const { keepUnconfirmed } = await import('#web/features/identity/unconfirmed.ts');
        keepUnconfirmed({ email: request.email, sentAt: null });
        await navigate({ to: '/auth/verify-email', search });
      }
    },
  });
  return (
    <form {...form.props} className="space-y-5">
      <FormFailure
        title="Login failed"
        failure={form.failure}
        fallback="Login failed. Please try again."
      />
      <TextField
        label="Email"
        name="email"
        type="email"
        autoComplete="username"
        inputMode="email"
        required
        defaultValue={email}
        error={form.errors['email']}
      />
      <PasswordField
        label="Password"
        name="password"
        autoComplete="current-password"
        required
        error={form.errors['password']}
      />
      <Checkbox
        label="Remember me"
        name="remember"
        hint="Stay signed in on this device for up to 30 days, or until you don't use it for a week."
      />
      <Button type="submit" tone="primary" wide busy={form.busy} disabled={!hydrated}>
        {form.busy ? 'Signing in…' : 'Login'}
      </Button>
      {isPage ? (
        <>
          <Link to="/forgot-password" className="link inline-flex min-h-11 items-center">
            Forgot your password?
          </Link>
          <MagicLink form={form} redirect={returnTo} />
        </>
      ) : null}
    </form>
  );
}

/** Sign-in without a password, for the address in the form. */
function MagicLink({ form, redirect }: { form: Form; redirect: string }): ReactNode {
  const hydrated = useHydrated();
  const request = useLinkRequest();
  const send = (): void => {
    const { email, remember_me } = readLogin(new FormData(form.props.ref.current ?? undefined));
    const result = v.safeParse(ResetLinkRequest, { email });
    form.refuse(result.success ? {} : firstErrors(result.issues));
    if (!result.success) return;
    const asked = { email: result.output.email, remember_me };
    void request.ask(() => requestMagicLink(redirect ? { ...asked, redirect } : asked));
  };
  return (
    <div className="space-y-3 border-t border-line pt-5">
      <LinkRequestOutcome request={request}>{linkPromises.magic}</LinkRequestOutcome>
      <LinkRequestButton
        request={request}
        label="Email me a sign-in link"
        wide
        disabled={!hydrated}
        onClick={send}
      />
    </div>
  );
}

function isUnconfirmed(error: unknown): boolean {
  return error instanceof ApiProblem && error.code === 'email-not-confirmed';
}
