import type { ReactNode } from 'react';
import { LoginForm as LoginSchema } from '#services/identity/contract.ts';
import { Button } from '#web/ui/button.tsx';
import { Checkbox, TextField } from '#web/ui/field.tsx';
import { useForm } from '#web/ui/form.ts';
import { useHydrated } from '#web/ui/hydrated.ts';
import { PasswordField } from '#web/ui/password-field.tsx';
import { FormFailure } from './form-failure.tsx';
import { login } from './session.ts';

/** E-mail and password. Where to go afterwards is the page's business: the session changes. */
export function LoginForm({ email }: { email?: string }): ReactNode {
  const hydrated = useHydrated();
  const form = useForm({
    schema: LoginSchema,
    read: (data) => ({
      email: data.get('email') ?? '',
      password: data.get('password') ?? '',
      remember: data.get('remember') === 'on',
    }),
    send: login,
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
        hint="Keeps you signed in on this device for up to 30 days."
      />
      <Button type="submit" tone="primary" wide busy={form.busy} disabled={!hydrated}>
        {form.busy ? 'Signing in…' : 'Login'}
      </Button>
    </form>
  );
}
