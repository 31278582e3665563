import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Profile, type ProfileChange } from '#services/identity/contract.ts';
import { paymentLimits } from '#services/payments/contract.ts';
import { write } from '#web/api/api.ts';
import { Checkbox } from '#web/ui/form/field.tsx';
import { Outcome } from '#web/features/profile/outcome.tsx';
import { accountQuery } from '#web/features/profile/queries.ts';
import { Section } from '#web/features/profile/section.tsx';
import { useAction } from '#web/features/profile/use-action.ts';

type Choice = Pick<ProfileChange, 'notify_run_finished' | 'notify_low_balance'>;

export function NotificationsSection({ profile }: { profile: Profile }): ReactNode {
  const client = useQueryClient();
  const { run, busy, done, failure } = useAction();
  /** The requested choice, until the server has replied. */
  const [wanted, setWanted] = useState<Choice>({});
  const save = async (choice: Choice, success: string): Promise<string> => {
    setWanted(choice);
    try {
      const next = await write('PATCH', '/users/me', choice, Profile);
      client.setQueryData(accountQuery.queryKey, next);
      return success;
    } finally {
      setWanted({});
    }
  };
  return (
    <Section
      title="Mails"
      about="Mails about your account's safety and your payments, such as a changed password or a receipt, cannot be switched off."
    >
      <Checkbox
        label="Mail me when a run has ended"
        name="notify_run_finished"
        hint="It names the run and says how it ended and what it cost. The answer stays here."
        checked={wanted.notify_run_finished ?? profile.notify_run_finished}
        aria-busy={busy || undefined}
        onChange={({ target: { checked } }) =>
          run(() =>
            save(
              { notify_run_finished: checked },
              checked ? 'You get a mail when a run has ended.' : 'You get no mail about runs.',
            ),
          )
        }
      />
      <Checkbox
        label="Mail me when few credits are left"
        name="notify_low_balance"
        hint={`When your credits fall below ${paymentLimits.lowBalance}, at most once a week.`}
        checked={wanted.notify_low_balance ?? profile.notify_low_balance}
        aria-busy={busy || undefined}
        onChange={({ target: { checked } }) =>
          run(() =>
            save(
              { notify_low_balance: checked },
              checked
                ? 'You get a mail when few credits are left.'
                : 'You get no mail about few credits.',
            ),
          )
        }
      />
      <Outcome done={done} failure={failure} title="The choice was not saved" />
    </Section>
  );
}
