import { type ReactNode, useState } from 'react';
import type { Profile, ProfileChange } from '#services/identity/contract.ts';
import { paymentLimits } from '#services/payments/contract.ts';
import { changeAccount } from '#web/api/account.ts';
import { Checkbox } from '#web/ui/form/field.tsx';
import { Outcome } from '#web/features/profile/outcome.tsx';
import { Section } from '#web/features/profile/section.tsx';
import { useAction } from '#web/features/profile/use-action.ts';

type Choice = Pick<ProfileChange, 'notify_run_finished' | 'notify_low_balance' | 'preferences'>;

/** Notifications of this browser, and asking for its permission. */
export type BrowserNotices = {
  permission: () => NotificationPermission | 'unsupported';
  askPermission: () => Promise<NotificationPermission | 'unsupported'>;
};

export function NotificationsSection({
  profile,
  browser,
}: {
  profile: Profile;
  browser: BrowserNotices;
}): ReactNode {
  const { run, busy, done, failure } = useAction();
  /** The requested choice, until the server has replied. */
  const [wanted, setWanted] = useState<Choice>({});
  const save = async (choice: Choice, success: string): Promise<string> => {
    setWanted(choice);
    try {
      await changeAccount(choice);
      return success;
    } finally {
      setWanted({});
    }
  };
  return (
    <Section
      title="Emails and notifications"
      about="We always email you about security, payments, and changes to our terms."
    >
      <Checkbox
        label="Email me when a run ends"
        name="notify_run_finished"
        hint="Names the run, how it ended, and what it cost. The answer stays here."
        checked={wanted.notify_run_finished ?? profile.notify_run_finished}
        aria-busy={busy || undefined}
        onChange={({ target: { checked } }) =>
          run(() =>
            save(
              { notify_run_finished: checked },
              checked ? "We'll email you when a run ends." : "We won't email you about runs.",
            ),
          )
        }
      />
      <Checkbox
        label="Email me when my credits run low"
        name="notify_low_balance"
        hint={`When you have fewer than ${paymentLimits.lowBalance}, at most once a week.`}
        checked={wanted.notify_low_balance ?? profile.notify_low_balance}
        aria-busy={busy || undefined}
        onChange={({ target: { checked } }) =>
          run(() =>
            save(
              { notify_low_balance: checked },
              checked
                ? "We'll email you when your credits run low."
                : "We won't email you about low credits.",
            ),
          )
        }
      />
      <Checkbox
        label="Ask me by email how a result turned out"
        name="outcome_emails"
        hint="30 and 90 days after a result, once each. The dashboard asks in any case."
        checked={wanted.preferences?.outcome_emails ?? profile.preferences.outcome_emails}
        aria-busy={busy || undefined}
        onChange={({ target: { checked } }) =>
          run(() =>
            save(
              { preferences: { outcome_emails: checked } },
              checked
                ? "We'll ask you by email how a result turned out."
                : "We won't email you about how results turned out.",
            ),
          )
        }
      />
      <Checkbox
        label="Notify me in the browser when a run ends"
        name="notify_browser"
        hint={browserHint(browser.permission())}
        disabled={browser.permission() === 'unsupported'}
        checked={
          browser.permission() === 'granted' &&
          (wanted.preferences?.notify_browser ?? profile.preferences.notify_browser) === true
        }
        aria-busy={busy || undefined}
        onChange={({ target: { checked } }) =>
          run(async () => {
            // Asked first: a browser refuses unless a press led to it.
            const isGranted = checked && (await browser.askPermission()) === 'granted';
            if (checked && !isGranted) return 'Your browser did not allow notifications.';
            return save(
              { preferences: { notify_browser: checked } },
              checked
                ? "We'll notify you in the browser when a run ends."
                : "We won't notify you in the browser.",
            );
          })
        }
      />
      <Outcome done={done} failure={failure} title="We couldn't save your choice" />
    </Section>
  );
}

function browserHint(permission: ReturnType<BrowserNotices['permission']>): string {
  if (permission === 'unsupported') return "This browser can't show notifications.";
  if (permission === 'denied')
    return "Your browser blocks them. Allow notifications for this site in the browser's settings.";
  return 'While a tab with this site is open in the background. Each browser asks you once.';
}
