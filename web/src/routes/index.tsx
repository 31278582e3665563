import { createFileRoute, useLocation, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import { Home } from '#web/features/home/home.tsx';
import { useSession } from '#web/features/identity/session.ts';

export const Route = createFileRoute('/')({
  component: HomePage,
  staticData: {
    description:
      'Ask a business question and watch seven or more AI models answer it, review each other and agree, or not, on what to do next.',
    prerender: true,
  },
});

/** Somebody who is signed in goes on to the dashboard, unless a part of this page was asked for. */
function HomePage(): ReactNode {
  const session = useSession();
  const hash = useLocation({ select: (location) => location.hash });
  const navigate = useNavigate();
  const signedIn = session.status === 'authenticated';
  useEffect(() => {
    if (signedIn && !hash) void navigate({ to: '/dashboard', replace: true });
  }, [signedIn, hash, navigate]);
  return <Home signedIn={signedIn} />;
}
