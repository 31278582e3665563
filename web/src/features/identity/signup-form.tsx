import { Link } from '@tanstack/react-router';
import { type ReactNode, useRef } from 'react';
import { policyVersion, SignupForm as SignupSchema } from '#services/identity/contract/forms.ts';
import { ApiProblem } from '#web/api/api.ts';
import { Button, LinkButton } from '#web/ui/form/button.tsx';
import { Checkbox, TextField } from '#web/ui/form/field.tsx';
import { type FieldErrors, useForm } from '#web/ui/form/form.ts';
import { useHydrated } from '#web/ui/hydrated.ts';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { PasswordField } from '#web/ui/form/password-field.tsx';
import { dismissToast, showToast } from '#web/ui/feedback/toasts.tsx';
import { FailureBanner } from './form-failure.tsx';
import { NewPassword } from './new-password.tsx';
import { signup } from './sessions/session.ts';
import { plainRefusal, signupFieldErrors, signupRefusal } from './signup-refusal.ts';

const invalidTitle = 'Form validation failed';
const invalidMessage = 'Please check the highlighted fields and try again.';

/**
 * Name, email, password twice, and the terms. `onConfirmationNeeded` is called when the account
 * exists and its address must be confirmed; the address is kept for the page that waits for it.
 */
export function SignupForm({
  returnTo,
  offer,
  onConfirmationNeeded,
}: {
  /** The page the user wanted; the email's link leads there. */
  returnTo: string | undefined;
  /** An addition to the button's words: the cheapest price, where no package was chosen. */
  offer: string;
  onConfirmationNeeded: () => void;
}): ReactNode {
  const hydrated = useHydrated();
  const toast = useRef<string>(null);
  /** One toast at a time: an error stays, and the next one replaces it. */
  const dismiss = (): void => {
    if (toast.current !== null) dismissToast(toast.current);
  };
  const complain = (title: string, message: string): void => {
    dismiss();
    toast.current = showToast('error', title, { message });
  };
  const refusedAloud = async <T,>(sent: Promise<T>): Promise<T> => {
    try {
      const reply = await sent;
      dismiss();
      return reply;
    } catch (error) {
      const { title, detail } = signupRefusal(error);
      complain(title === plainRefusal ? 'Signup failed' : title, detail);
      throw error;
    }
  };
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
      const account = { name, email, password, terms_version: policyVersion };
      const reply = await refusedAloud(
        signup(returnTo ? { ...account, redirect: returnTo } : account),
      );
      if (!reply.needsEmailVerification) return;
      const { keepUnconfirmed } = await import('./unconfirmed.ts');
      keepUnconfirmed({ email, pendingToken: reply.pending_token, sentAt: Date.now() });
      onConfirmationNeeded();
    },
    onInvalid: () => complain(invalidTitle, invalidMessage),
  });
  const errors = { ...signupFieldErrors(form.failure), ...form.errors };
  return (
    <form {...form.props} className="space-y-5">
      <SignupFailure failure={form.failure} />
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
          {form.busy ? 'Creating your account…' : `Start Finding Opportunities${offer}`}
        </Button>
        <p className="text-sm text-ink-2">No card needed. You pay after you confirm your email.</p>
      </div>
    </form>
  );
}

function SignupFailure({ failure }: { failure: unknown }): ReactNode {
  const { title, detail } = signupRefusal(failure);
  return (
    <FailureBanner
      title="Signup failed"
      failure={failure}
      heading={title === plainRefusal ? undefined : title}
      sentence={detail}
      actions={
        failure instanceof ApiProblem && failure.code === 'email-in-use' ? (
          <>
            <LinkButton to="/login">Login</LinkButton>
            <LinkButton to="/forgot-password">Forgot your password?</LinkButton>
          </>
        ) : undefined
      }
    />
  );
}

/** Lists the errors above the form, if there are several. */
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
