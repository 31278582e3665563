import type { ReactNode } from 'react';
import type { User } from '#services/identity/contract/session.ts';
import { NotificationOffer, useRunEnd } from './bell/run-end.tsx';
import { useNoticeKeeping } from './bell/store.ts';
import { ConnectionNotices } from './connection/connection-notices.tsx';
import { useSavedDisplay } from './preferences.ts';

export { Bell } from './bell/bell.tsx';
export { Commands } from './commands.tsx';

/** What follows a signed-in page once it is drawn: notices, and the look that the account keeps. */
export function BackgroundNotices({ user }: { user: User }): ReactNode {
  useNoticeKeeping(user);
  useSavedDisplay(user);
  useRunEnd(user);
  return (
    // Beside the page and not in it, so that nothing moves.
    <aside
      aria-label="Messages"
      className="fixed inset-x-4 bottom-20 z-30 flex max-w-form flex-col gap-3 empty:hidden lg:inset-x-auto lg:start-6 lg:bottom-6 print:hidden *:shadow-float"
    >
      <ConnectionNotices />
      <NotificationOffer user={user} />
    </aside>
  );
}
