import { createFileRoute } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { HowItWorks } from '#web/features/example/how-it-works.tsx';
import { useSession } from '#web/features/identity/sessions/session.ts';

export const Route = createFileRoute('/how-it-works')({
  component: HowItWorksPage,
  staticData: {
    title: 'How it works',
    description: 'A recorded run: seven models answer one question, review each other, and vote.',
    prerender: true,
  },
});

function HowItWorksPage(): ReactNode {
  return <HowItWorks signedIn={useSession().status === 'authenticated'} />;
}
