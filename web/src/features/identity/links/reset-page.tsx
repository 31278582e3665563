import { useRouter } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { NewPasswordForm } from '#services/identity/contract/forms.ts';
import { ApiProblem } from '#web/api/api.ts';
import { Button, LinkButton } from '#web/ui/form/button.tsx';
import { useForm } from '#web/ui/form/form.ts';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { PasswordField } from '#web/ui/form/password-field.tsx';
import { useArrival } from '#web/features/identity/sessions/arrival.ts';
import { FormFailure } from '#web/features/identity/form-failure.tsx';
import { LandingPage, NextSteps } from './landing-page.tsx';
import { NewPassword } from '#web/features/identity/new-password.tsx';
import { resetPassword } from './link-calls.ts';
import { signupFieldErrors } from '#web/features/identity/signup-refusal.ts';
import { forgetUnconfirmed } from '#web/features/identity/unconfirmed.ts';

/** Why a user must choose a password without having requested a reset. */
const reasons: Readonly<Record<string, { title: string; words: string }>> = {
  confirmed: {
    title: 'Your email address is confirmed',
    words:
      'This account was created in another browser. To make sure only you can use it, we removed its password, signed out every device, and revoked all API keys. Choose a new password.',
  },
  undone: {
    title: 'Your address is restored',
    words:
      'We removed the password, signed out every device, and revoked all API keys, so the person who changed your address is locked out. Choose a new password.',
  },
};

/** The form behind a reset link: a new password, then the dashboard. */
export function ResetPage({ reason }: { reason: string | undefined }): ReactNode {
  const arrival = useArrival('/reset-password');
  const ticket = arrival?.values['token'];
  const [deadTicket, setDeadTicket] = useState<string | null>(null);
  if (ticket === undefined || deadTicket === ticket) {
    return <NoTicket wasThere={ticket !== undefined} />;
  }
  return (
    <LandingPage heading="Choose a new password">
      <Reason reason={reason} />
      <WhoseAccount email={arrival?.email} />
      <ResetForm ticket={ticket} onDead={() => setDeadTicket(ticket)} />
    </LandingPage>
  );
}

function Reason({ reason }: { reason: string | undefined }): ReactNode {
  const known = reason !== undefined && Object.hasOwn(reasons, reason) ? reasons[reason] : null;
  if (!known)
    return (
      <p className="text-ink-2">
        Saving signs you in here and signs you out everywhere else. If you have API keys, they stop
        working, too.
      </p>
    );
  return (
    <Notice tone="ok" title={known.title} announced={known.title}>
      {known.words}
    </Notice>
  );
}

/** Anyone may have sent the link, and it may lead into their account. */
function WhoseAccount({ email }: { email: string | undefined }): ReactNode {
  if (email === undefined) return null;
  return (
    <div className="space-y-1">
      <p>
        New password for <strong className="font-semibold break-words">{email}</strong>
      </p>
      <p className="text-ink-2">Not your address? Close this page.</p>
    </div>
  );
}

function ResetForm({ ticket, onDead }: { ticket: string; onDead: () => void }): ReactNode {
  const router = useRouter();
  const form = useForm({
    schema: NewPasswordForm,
    read: (data) => ({
      password: data.get('password') ?? '',
      confirmPassword: data.get('confirmPassword') ?? '',
    }),
    send: async ({ password }) => {
      try {
        await resetPassword({ token: ticket, password });
        forgetUnconfirmed();
        router.history.replace('/dashboard');
      } catch (error) {
        if (!isDead(error)) throw error;
        onDead();
      }
    },
  });
  const errors = { ...signupFieldErrors(form.failure), ...form.errors };
  return (
    <form {...form.props} className="space-y-5">
      <FormFailure
        title="We couldn't save your password"
        failure={form.failure}
        fallback="Please try again."
      />
      <NewPassword error={errors['password']} />
      <PasswordField
        label="Confirm password"
        name="confirmPassword"
        autoComplete="new-password"
        required
        error={errors['confirmPassword']}
      />
      <Button type="submit" tone="primary" wide busy={form.busy}>
        {form.busy ? 'Saving…' : 'Save and sign in'}
      </Button>
    </form>
  );
}

function isDead(error: unknown): boolean {
  return (
    error instanceof ApiProblem &&
    (error.code.startsWith('link-') || error.errors.some(({ field }) => field === 'token'))
  );
}

function NoTicket({ wasThere }: { wasThere: boolean }): ReactNode {
  const title = wasThere ? 'This link no longer works' : 'This page needs a link';
  return (
    <LandingPage heading="Choose a new password" below={<NextSteps />}>
      <Notice
        tone="warn"
        title={title}
        announced={wasThere ? title : undefined}
        actions={
          <LinkButton to="/forgot-password" tone="primary">
            Send a new link
          </LinkButton>
        }
      >
        {wasThere
          ? "A reset link works once, within 10 minutes, in the browser where you asked for it. Your password hasn't changed."
          : 'You get to this page from a link in your email. If you reloaded the page, ask for a new link.'}
      </Notice>
    </LandingPage>
  );
}
