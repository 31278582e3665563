import { createFileRoute, useLocation, useNavigate } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useEffect } from 'react';
import { example } from '#web/features/example/example.tsx';
import { Home } from '#web/features/home/home.tsx';
import { useArrival } from '#web/features/identity/sessions/arrival.ts';
import { useSession } from '#web/features/identity/sessions/session.ts';

/** Only needed after a sign-in link. */
const MagicArrival = lazy(() =>
  import('#web/features/identity/links/magic-arrival.tsx').then((module) => ({
    default: module.MagicArrival,
  })),
);

export const Route = createFileRoute('/')({
  component: HomePage,
  staticData: {
    description:
      'Ask a business question. Seven or more AI models answer it, review each other, and show you where they agree on what to do next.',
    prerender: true,
  },
});

/**
 * Signed-in users are redirected to the dashboard, unless a part of this page was requested. A
 * sign-in link also ends here and then decides where to go.
 */
function HomePage(): ReactNode {
  const session = useSession();
  const hash = useLocation({ select: (location) => location.hash });
  const navigate = useNavigate();
  const signedIn = session.status === 'authenticated';
  const arrival = useArrival('/');
  const stays = hash !== '' || arrival !== null;
  useEffect(() => {
    if (signedIn && !stays) void navigate({ to: '/dashboard', replace: true });
  }, [signedIn, stays, navigate]);
  return (
    <Home
      example={example}
      signedIn={signedIn}
      notice={
        arrival ? (
          <Suspense>
            <MagicArrival arrival={arrival} />
          </Suspense>
        ) : undefined
      }
    />
  );
}
