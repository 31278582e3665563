import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { createFileRoute, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import type { User } from '#services/identity/contract/session.ts';
import { purchasesQuery } from '#web/features/credits/purchases/purchase-queries.ts';
import { refundOf } from '#web/features/credits/purchases/purchase-words.ts';
import { balanceQuery } from '#web/features/credits/queries.ts';
import { PasswordChecklist } from '#web/features/identity/password-checklist.tsx';
import {
  logout,
  requestReset,
  updateUser,
  useSession,
} from '#web/features/identity/sessions/session.ts';
import { PlanSummary } from '#web/features/plan/plan-summary.tsx';
import { planQuery } from '#web/features/plan/queries.ts';
import { ApiKeysSection } from '#web/features/profile/sections/api-keys-section.tsx';
import { ConsentSection } from '#web/features/profile/sections/consent-section.tsx';
import { AppearanceSection } from '#web/features/profile/sections/appearance-section.tsx';
import { DeleteSection } from '#web/features/profile/sections/delete-section.tsx';
import { EmailSection } from '#web/features/profile/sections/email-section.tsx';
import { ExportSection } from '#web/features/profile/sections/export-section.tsx';
import { NameSection } from '#web/features/profile/sections/name-section.tsx';
import { NotificationsSection } from '#web/features/profile/sections/notifications-section.tsx';
import { PasswordSection } from '#web/features/profile/sections/password-section.tsx';
import { PictureSection } from '#web/features/profile/sections/picture-section.tsx';
import { accountQuery } from '#web/api/account.ts';
import { apiKeysQuery, sessionsQuery } from '#web/features/profile/queries.ts';
import { Section } from '#web/features/profile/section.tsx';
import { SessionsSection } from '#web/features/profile/sections/sessions-section.tsx';
import { askPermission, permission } from '#web/member/bell/browser.ts';
import { savePreferences } from '#web/member/preferences.ts';
import { runsQuery } from '#web/features/runs/queries.ts';
import { LinkButton } from '#web/ui/form/button.tsx';
import { QueryBlock } from '#web/api/query-block.tsx';
import { Together } from '#web/api/together.tsx';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';

export const Route = createFileRoute('/_signed-in/profile')({
  component: ProfilePage,
  staticData: { title: 'Account Settings' },
});

function ProfilePage(): ReactNode {
  const session = useSession();
  if (!('user' in session)) return null;
  return (
    <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6">
      <h1 className="text-4xl">Account Settings</h1>
      <Sections key={session.user.id} user={session.user} />
    </div>
  );
}

/** What the session knows is available even when the account cannot be read. */
function Sections({ user }: { user: User }): ReactNode {
  const account = useQuery(accountQuery);
  const balance = useQuery(balanceQuery);
  const runs = useQuery(runsQuery());
  const plan = useQuery(planQuery);
  const purchases = useInfiniteQuery(purchasesQuery);
  const sessions = useQuery(sessionsQuery);
  const keys = useQuery(apiKeysQuery);
  const navigate = useNavigate();
  useEffect(() => {
    // A change also shows in the bar and in other tabs.
    if (account.data) updateUser(account.data);
  }, [account.data]);
  const hasPassword = account.data?.has_password ?? null;
  const sayGoodbye = async (): Promise<void> => {
    // Leave first: this area redirects signed-out users to the login.
    await navigate({ to: '/account-deleted', replace: true });
    logout();
  };
  return (
    <Together
      answers={[account, plan, sessions, keys]}
      label="Loading your account"
      skeleton={<AccountSkeleton />}
    >
      {() => (
        <div className="space-y-6">
          <NameSection user={user} />
          <PictureSection user={user} />
          <QueryBlock
            answer={account}
            label="Loading your account"
            failure="We couldn't load your account"
            safe="The rest of this page still works."
            skeleton={
              <div className="space-y-6">
                <Skeleton className="h-96" />
                <Skeleton className="h-96" />
                <Skeleton className="h-32" />
              </div>
            }
          >
            {(profile) => (
              <div className="space-y-6">
                <EmailSection profile={profile} />
                <PasswordSection
                  profile={profile}
                  Rules={PasswordChecklist}
                  requestReset={(email) => requestReset({ email })}
                />
                <NotificationsSection profile={profile} browser={{ permission, askPermission }} />
              </div>
            )}
          </QueryBlock>
          <Section
            title="Plan"
            about="Your monthly price, and how many runs bonus credits can pay for."
          >
            <QueryBlock
              answer={plan}
              label="Loading your plan"
              failure="Failed to load your plan"
              safe="Your plan hasn't changed."
              skeleton={<Skeleton className="h-28" />}
            >
              {(data) => <PlanSummary plan={data} />}
            </QueryBlock>
          </Section>
          <Section
            title="Onboarding"
            about="What work between AI tools costs you, by your own answers."
          >
            {account.data?.onboarding_completed_at ? (
              <LinkButton to="/onboarding/$view" params={{ view: 'audit' }}>
                See my audit
              </LinkButton>
            ) : (
              <LinkButton to="/onboarding/$view" params={{ view: 'singularity' }}>
                Go to onboarding
              </LinkButton>
            )}
          </Section>
          <SessionsSection />
          <ApiKeysSection hasPassword={hasPassword} />
          <AppearanceSection preferences={user.preferences} onSave={savePreferences} />
          <ConsentSection />
          <ExportSection hasPassword={hasPassword} />
          <DeleteSection
            email={user.email}
            hasPassword={hasPassword}
            loss={{
              credits: balance.data?.available_credits ?? null,
              runs: runs.data?.pagination.total ?? null,
              refund: purchases.data ? refundOf(purchases.data.pages.flat()) : null,
            }}
            onDeleted={() => void sayGoodbye()}
          />
        </div>
      )}
    </Together>
  );
}

function AccountSkeleton(): ReactNode {
  return (
    <div className="space-y-6">
      <Skeleton className="h-48" />
      <Skeleton className="h-48" />
      <Skeleton className="h-96" />
    </div>
  );
}
