import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import {
  identityProblems,
  policyVersion,
  SignupForm as SignupSchema,
} from '#services/identity/contract.ts';
import { ApiProblem } from '#web/api.ts';
import { Button } from '#web/ui/button.tsx';
import { Checkbox, TextField } from '#web/ui/field.tsx';
import { type FieldErrors, useForm } from '#web/ui/form.ts';
import { useHydrated } from '#web/ui/hydrated.ts';
import { Notice } from '#web/ui/notice.tsx';
import { PasswordField } from '#web/ui/password-field.tsx';
import { showToast } from '#web/ui/toasts.tsx';
import { FormFailure } from './form-failure.tsx';
import { PasswordChecklist } from './password-checklist.tsx';
import { signup } from './session.ts';

const invalidTitle = 'Form validation failed';
const invalidMessage = 'Please check the highlighted fields and try again.';

/** Refusals that belong beside a field, by problem code; the banner has the whole sentence. */
const fieldErrorOfProblem: Readonly<Record<string, FieldErrors>> = {
  'email-in-use': { email: identityProblems['email-in-use'].title },
  'invalid-email': { email: identityProblems['invalid-email'].title },
  'password-too-short': { password: identityProblems['password-too-short'].title },
  'password-too-weak': { password: identityProblems['password-too-weak'].title },
};

/** Name, e-mail, password twice, and the terms. `onConfirmationNeeded` gets the address to confirm. */
export function SignupForm({
  onConfirmationNeeded,
}: {
  onConfirmationNeeded: (email: string) => void;
}): ReactNode {
  const hydrated = useHydrated();
  const form = useForm({
    schema: SignupSchema,
    read: (data) => ({
      name: data.get('name') ?? '',
      email: data.get('email') ?? '',
      password: data.get('password') ?? '',
      confirmPassword: data.get('confirmPassword') ?? '',
      terms: data.get('terms') === 'on',
    }),
    send: async ({ name, email, password }) => {
      const reply = await signup({ name, email, password, terms_version: policyVersion });
      if (reply.needsEmailVerification) onConfirmationNeeded(email);
    },
    onInvalid: (_errors, firstInvalid) => {
      // Whoever sees the first error already knows; the toast is for those who do not.
      if (firstInvalid && !isOnScreen(firstInvalid)) {
        showToast('error', invalidTitle, { message: invalidMessage });
      }
    },
  });
  const errors = { ...serverErrors(form.failure), ...form.errors };
  return (
    <form {...form.props} className="space-y-5">
      <FormFailure
        title="Signup failed"
        failure={form.failure}
        fallback="Signup failed. Please try again."
      />
      <ErrorSummary errors={form.errors} />
      <TextField
        label="Full name"
        name="name"
        autoComplete="name"
        required
        error={errors['name']}
      />
      <TextField
        label="Email"
        name="email"
        type="email"
        autoComplete="email"
        inputMode="email"
        required
        error={errors['email']}
      />
      <NewPassword error={errors['password']} />
      <PasswordField
        label="Confirm password"
        name="confirmPassword"
        autoComplete="new-password"
        required
        error={errors['confirmPassword']}
      />
      <Checkbox
        name="terms"
        error={errors['terms']}
        required
        label={
          <>
            I accept the{' '}
            <Link to="/terms" target="_blank" className="link">
              Terms of Service
            </Link>{' '}
            and the{' '}
            <Link to="/privacy" target="_blank" className="link">
              Privacy Policy
            </Link>{' '}
            <span className="text-sm text-ink-3">(both open in a new tab)</span>
          </>
        }
      />
      <div className="space-y-2">
        <Button type="submit" tone="primary" wide busy={form.busy} disabled={!hydrated}>
          {form.busy ? 'Creating your account…' : 'Start Finding Opportunities - $5'}
        </Button>
        <p className="text-sm text-ink-2">
          No card now. Signing up charges nothing, and credits cannot be bought yet in this version.
        </p>
      </div>
    </form>
  );
}

function NewPassword({ error }: { error: string | undefined }): ReactNode {
  const [password, setPassword] = useState('');
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // What was typed or filled in before this script ran has fired its event already.
    setPassword(frame.current?.querySelector('input')?.value ?? '');
  }, []);
  return (
    <div ref={frame}>
      <PasswordField
        label="Password"
        name="password"
        autoComplete="new-password"
        required
        error={error}
        onInput={(event) => setPassword(event.currentTarget.value)}
      >
        <PasswordChecklist password={password} />
      </PasswordField>
    </div>
  );
}

/** Lists the errors above the form, once there are several. */
function ErrorSummary({ errors }: { errors: FieldErrors }): ReactNode {
  const messages = Object.values(errors);
  if (messages.length < 2) return null;
  return (
    <Notice tone="bad" title={invalidTitle} announced={`${invalidTitle}. ${invalidMessage}`}>
      <p>{invalidMessage}</p>
      <ul className="list-disc ps-5">
        {messages.map((message) => (
          <li key={message}>{message}</li>
        ))}
      </ul>
    </Notice>
  );
}

/** The server's refusal, put beside the field it is about. */
function serverErrors(failure: unknown): FieldErrors {
  if (!(failure instanceof ApiProblem)) return {};
  const errors: Record<string, string> = { ...fieldErrorOfProblem[failure.code] };
  for (const error of failure.errors) errors[error.field] ??= error.message;
  return errors;
}

function isOnScreen(element: HTMLElement): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  return top >= 0 && bottom <= window.innerHeight;
}
