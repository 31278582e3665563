import { QueryClientProvider } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import type { User } from '#services/identity/contract/session.ts';
import { CreditsBadge, CreditsInFull } from '#web/features/credits/badge.tsx';
import { MemberBar } from '#web/member/member-bar.tsx';
import { useLiveStream } from '#web/live/live.ts';
import { queryClient } from '#web/api/query-client.ts';
import type { Overlay } from '#web/member/commands.tsx';
import type * as extrasModule from '#web/member/extras.tsx';
import { tierName } from '#web/member/tier-name.ts';

/** Around every signed-in page: the bar, the tab's one live stream, notices and shortcuts. */
export function MemberShell({ user, onLogout }: { user: User; onLogout: () => void }): ReactNode {
  useLiveStream();
  const extras = useExtras();
  const [overlay, setOverlay] = useState<Overlay | null>(null);
  return (
    <QueryClientProvider client={queryClient}>
      <MemberBar
        user={user}
        tier={tierName(user.subscription_tier)}
        onLogout={onLogout}
        onSearch={() => setOverlay('palette')}
        onShowKeys={() => setOverlay('sheet')}
        credits={<CreditsBadge />}
        creditsInFull={<CreditsInFull />}
        bell={extras ? <extras.Bell /> : <span className="size-11" />}
      />
      {extras ? (
        <>
          <extras.Commands
            singleKeys={user.preferences.single_keys}
            overlay={overlay}
            onOverlay={setOverlay}
          />
          <extras.BackgroundNotices user={user} />
        </>
      ) : null}
    </QueryClientProvider>
  );
}

type Extras = typeof extrasModule;

/** Bell, palette and notices: loaded once the page is drawn. */
function useExtras(): Extras | null {
  const [extras, setExtras] = useState<Extras | null>(null);
  useEffect(() => {
    const load = (): void => {
      import('#web/member/extras.tsx').then(setExtras, (error: unknown) => {
        console.warn('The bell and the palette could not be loaded', error);
      });
    };
    const timer = setTimeout(load, idleMs);
    return () => clearTimeout(timer);
  }, []);
  return extras;
}

/** Milliseconds: after the first drawing, before anyone presses a key. */
const idleMs = 200;
