import { createRootRoute, Outlet, useMatches } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense } from 'react';
import { logout, useSession } from '#web/features/identity/sessions/session.ts';
import { Footer } from '#web/features/shell/footer.tsx';
import { VisitorBar, WaitingBar } from '#web/features/shell/top-bar.tsx';
import { Announcer } from '#web/ui/feedback/announcer.tsx';
import { SkipLink } from '#web/ui/skip-link.tsx';
import { Toasts } from '#web/ui/feedback/toasts.tsx';

/** Only signed-in users need these, so they are not in the first load. */
const MemberShell = lazy(() =>
  import('#web/app/member-shell.tsx').then((module) => ({ default: module.MemberShell })),
);
const SignInAgain = lazy(() =>
  import('#web/features/identity/sessions/sign-in-again.tsx').then((module) => ({
    default: module.SignInAgain,
  })),
);

export const Route = createRootRoute({ component: Root });

function Root(): ReactNode {
  const session = useSession();
  const inMemberArea = useMatches({
    select: (matches) => matches.some((match) => match.routeId === '/_signed-in'),
  });
  const member =
    session.status === 'authenticated' || session.status === 'expired' ? session.user : null;
  return (
    <div className={member ? 'flex min-h-dvh flex-col pb-20 lg:pb-0' : 'flex min-h-dvh flex-col'}>
      <SkipLink />
      {member ? (
        <Suspense fallback={<WaitingBar />}>
          <MemberShell user={member} onLogout={logout} />
        </Suspense>
      ) : inMemberArea ? (
        <WaitingBar />
      ) : (
        <VisitorBar />
      )}
      {session.status === 'expired' ? (
        <Suspense>
          <SignInAgain email={session.user.email} />
        </Suspense>
      ) : null}
      <main
        id="main"
        tabIndex={-1}
        // While a page loads its content, the footer stays below the fold so that nothing pushes it
        // there.
        className={inMemberArea ? 'min-h-dvh grow' : 'grow'}
      >
        <Outlet />
      </main>
      <Footer signedIn={member !== null} />
      <Toasts />
      <Announcer />
    </div>
  );
}
