import { type ReactNode, useState } from 'react';
import * as v from 'valibot';
import { DeleteAccountRequest, DeletedReply } from '#services/identity/contract.ts';
import { paymentLimits } from '#services/payments/contract.ts';
import { write } from '#web/api/api.ts';
import { Button } from '#web/ui/form/button.tsx';
import { Dialog } from '#web/ui/dialog.tsx';
import { TextField } from '#web/ui/form/field.tsx';
import { credits, creditsInWords } from '#services/platform/numbers.ts';
import { PasswordField } from '#web/ui/form/password-field.tsx';
import { Outcome } from '#web/features/profile/outcome.tsx';
import { Section } from '#web/features/profile/section.tsx';
import { useChange } from '#web/features/profile/use-change.ts';

/** What is deleted with the account. Null is unknown. */
export type Loss = {
  readonly credits: number | null;
  readonly runs: number | null;
  /** The credits that are refunded. */
  readonly refund: { readonly credits: number; readonly money: string } | null;
};

type Props = {
  email: string;
  /** Null while unknown. */
  hasPassword: boolean | null;
  loss: Loss;
  onDeleted: () => void;
};

export function DeleteSection(props: Props): ReactNode {
  const [open, setOpen] = useState(false);
  const close = (): void => setOpen(false);
  return (
    <Section
      title="Delete account"
      about="Removes your name, address, questions and answers for good. What was bought and used stays in our books without your name."
    >
      <Button tone="danger" onClick={() => setOpen(true)}>
        Delete my account
      </Button>
      <Dialog open={open} onClose={close} title="Delete your account?">
        <DeleteForm {...props} onKeep={close} />
      </Dialog>
    </Section>
  );
}

function DeleteForm({
  email,
  hasPassword,
  loss,
  onDeleted,
  onKeep,
}: Props & { onKeep: () => void }): ReactNode {
  const form = useChange({
    schema: formOf(email, hasPassword !== false),
    read: (data) => ({
      email: data.get('email') ?? '',
      ...(hasPassword === false ? {} : { password: data.get('password') ?? '' }),
    }),
    send: async ({ password }) => {
      await write('DELETE', '/users/me', { password }, DeletedReply);
      onDeleted();
      return 'Your account is being deleted.';
    },
    fieldOf: { 'wrong-password': 'password' },
  });
  const lost = Math.max(0, (loss.credits ?? 0) - (loss.refund?.credits ?? 0));
  return (
    <form {...form.props} className="space-y-4">
      <p>This cannot be undone. You lose</p>
      <ul className="list-disc ps-5">
        <li>
          your balance of <strong>{credits(loss.credits)}</strong>{' '}
          {loss.credits === 1 ? 'credit' : 'credits'},
        </li>
        <li>
          your <strong>{credits(loss.runs)}</strong>{' '}
          {loss.runs === 1
            ? 'optimization with everything in it'
            : 'optimizations with everything in them'}
          ,
        </li>
        <li>your name, picture and address, and every session.</li>
      </ul>
      {loss.refund === null || loss.credits === null ? null : (
        <p>
          <strong>{loss.refund.money}</strong> is refunded; <strong>{creditsInWords(lost)}</strong>{' '}
          {lost === 1 ? 'is' : 'are'} lost.
        </p>
      )}
      <p className="text-ink-2">
        A run that is still running is cancelled. A plan ends at once, and nothing more is charged
        for it. Credits that you bought in the last {paymentLimits.refundDays} days and have not
        used are refunded to where you paid from; those of a payment that your bank is asking about
        follow if it decides that we keep it. All other credits are lost.
      </p>
      <p className="text-ink-2">
        The money goes first. While the payment service does not answer, your account is closed and
        the rest of the deletion waits for it.
      </p>
      <TextField
        label={`Type ${email} to continue`}
        name="email"
        autoComplete="off"
        autoCapitalize="none"
        inputMode="email"
        required
        error={form.errors['email']}
      />
      {hasPassword === false ? null : (
        <PasswordField
          label="Your password"
          name="password"
          autoComplete="current-password"
          required
          error={form.errors['password']}
        />
      )}
      <Outcome
        done={form.done}
        failure={form.failure}
        title="Your account was not deleted"
        safe={
          hasPassword === false
            ? 'This account has no password. Sign in by a new link and try again within 5 minutes.'
            : 'Nothing was deleted.'
        }
      />
      <div className="flex flex-wrap justify-end gap-3 pt-2">
        <Button onClick={onKeep}>Keep my account</Button>
        <Button type="submit" tone="danger" busy={form.busy}>
          {form.busy ? 'Deleting…' : 'Delete my account'}
        </Button>
      </div>
    </form>
  );
}

/** Typing the address only protects the user; the server requires only the password. */
function formOf(email: string, needsPassword: boolean) {
  const { wrapped: password } = DeleteAccountRequest.entries.password;
  return v.object({
    email: v.pipe(
      v.string(),
      v.trim(),
      v.toLowerCase(),
      v.literal(email.toLowerCase(), 'Type the address of this account'),
    ),
    password: needsPassword ? password : v.optional(password),
  });
}
