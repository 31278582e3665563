import { QueryClientProvider } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { User } from '#services/identity/contract.ts';
import { CreditsBadge, CreditsInFull } from '#web/features/credits/badge.tsx';
import { MemberBar } from '#web/features/shell/member-bar.tsx';
import { useLiveStream } from '#web/live/live.ts';
import { queryClient } from '#web/api/query-client.ts';

/** Around every signed-in page: the bar and the tab's one live stream. */
export function MemberShell({ user, onLogout }: { user: User; onLogout: () => void }): ReactNode {
  useLiveStream();
  return (
    <QueryClientProvider client={queryClient}>
      <MemberBar
        user={user}
        onLogout={onLogout}
        credits={<CreditsBadge />}
        creditsInFull={<CreditsInFull />}
      />
    </QueryClientProvider>
  );
}
