import { createRootRoute, Outlet, useMatches } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense } from 'react';
import { keptAsSent } from '#web/app/kept-as-sent.ts';
import { logout, useSession } from '#web/features/identity/sessions/session.ts';
import { VisitorBar, PendingBar } from '#web/features/shell/top-bar.tsx';
import { Announcer } from '#web/ui/feedback/announcer.tsx';
import { SkipLink } from '#web/features/shell/skip-link.tsx';
import { Toasts } from '#web/ui/feedback/toasts.tsx';

/** Only signed-in users need these, so they are not in the first load. */
const MemberShell = lazy(() =>
  import('#web/member/member-shell.tsx').then((module) => ({ default: module.MemberShell })),
);
const SignInAgain = lazy(() =>
  import('#web/features/identity/sessions/sign-in-again.tsx').then((module) => ({
    default: module.SignInAgain,
  })),
);

const Footer = lazy(async () => ({
  default: (await keptAsSent('footer', import('#web/features/shell/footer.tsx'))).Footer,
}));
/** In the page as sent. An element: drawing the page again leaves it alone until its script is there. */
const footer = (
  <Suspense>
    <Footer />
  </Suspense>
);

export const Route = createRootRoute({ component: Root });

/** A user's pages, and shared results: with the brand alone, as the server sends them. */
const beginsBare = ({ routeId }: { routeId: string }): boolean =>
  routeId === '/_signed-in' || routeId === '/shared/$token';

function Root(): ReactNode {
  const session = useSession();
  const isBare = useMatches({ select: (matches) => matches.some(beginsBare) });
  const member =
    session.status === 'authenticated' || session.status === 'expired' ? session.user : null;
  return (
    <div className={member ? 'flex min-h-dvh flex-col pb-20 lg:pb-0' : 'flex min-h-dvh flex-col'}>
      <SkipLink />
      {member ? (
        <Suspense fallback={<PendingBar />}>
          <MemberShell user={member} onLogout={logout} />
        </Suspense>
      ) : isBare ? (
        <PendingBar />
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
        className={isBare ? 'min-h-dvh grow' : 'grow'}
      >
        <Outlet />
      </main>
      {footer}
      <Toasts />
      <Announcer />
    </div>
  );
}
