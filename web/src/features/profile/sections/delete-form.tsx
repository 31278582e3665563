import type { ReactNode } from 'react';
import * as v from 'valibot';
import { DeleteAccountRequest, DeletedReply } from '#services/identity/contract.ts';
import { paymentLimits } from '#services/payments/contract.ts';
import { credits, creditsInWords } from '#services/platform/numbers.ts';
import { write } from '#web/api/api.ts';
import { Outcome } from '#web/features/profile/outcome.tsx';
import { useChange } from '#web/features/profile/use-change.ts';
import { Button } from '#web/ui/form/button.tsx';
import { TextField } from '#web/ui/form/field.tsx';
import { PasswordField } from '#web/ui/form/password-field.tsx';

/** What is deleted with the account. Null is unknown. */
type Loss = {
  readonly credits: number | null;
  readonly runs: number | null;
  /** The credits that are refunded. */
  readonly refund: { readonly credits: number; readonly money: string } | null;
};

export type DeletionProps = {
  email: string;
  /** Null while unknown. */
  hasPassword: boolean | null;
  loss: Loss;
  onDeleted: () => void;
};

/** What a deletion takes, and its confirmation. Loaded on demand: few visits need it. */
export function DeleteForm({
  email,
  hasPassword,
  loss,
  onDeleted,
  onKeep,
}: DeletionProps & { onKeep: () => void }): ReactNode {
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
      <p>You can't undo this. You'll lose</p>
      <ul className="list-disc ps-5">
        <li>
          your balance of <strong>{credits(loss.credits)}</strong>{' '}
          {loss.credits === 1 ? 'credit' : 'credits'},
        </li>
        <li>
          your <strong>{credits(loss.runs)}</strong>{' '}
          {loss.runs === 1
            ? 'optimization and everything in it'
            : 'optimizations and everything in them'}
          ,
        </li>
        <li>your name, picture, and address. You'll be signed out everywhere.</li>
      </ul>
      {loss.refund === null || loss.credits === null ? null : (
        <p>
          You get <strong>{loss.refund.money}</strong> back. You lose{' '}
          <strong>{creditsInWords(lost)}</strong>.
        </p>
      )}
      <p className="text-ink-2">
        Any running optimization is canceled. Your plan ends right away, with no further charges.
        Unused credits bought in the last {paymentLimits.refundDays} days are refunded to your
        original payment method. If your bank is asking about a payment, that refund follows once
        the bank decides in our favor. All other credits are lost.
      </p>
      <p className="text-ink-2">
        Refunds come first. If the payment service doesn't respond, your account closes now and the
        rest is deleted once it does.
      </p>
      <TextField
        label={`Type ${email} to confirm`}
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
        title="We couldn't delete your account"
        safe={
          hasPassword === false
            ? 'This account has no password. Sign in with a new link, then try again within 5 minutes.'
            : 'Nothing was deleted.'
        }
      />
      <div className="flex flex-wrap justify-end gap-3 pt-2">
        <Button onClick={onKeep}>Keep account</Button>
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
      v.literal(email.toLowerCase(), "That isn't this account's address"),
    ),
    password: needsPassword ? password : v.optional(password),
  });
}
