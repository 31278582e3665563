import { createFileRoute } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import * as v from 'valibot';
import { useSession } from '#web/features/identity/sessions/session.ts';
import { ContactPage } from '#web/features/site/contact/contact-page.tsx';
import { useHydrated } from '#web/ui/hydrated.ts';

export const Route = createFileRoute('/contact')({
  component: Contact,
  validateSearch: v.object({
    topic: v.optional(v.fallback(v.string(), '')),
  }),
  staticData: {
    title: 'Contact',
    description: 'Write to us about the product, a payment, your data or a security problem.',
    prerender: true,
  },
});

function Contact(): ReactNode {
  const { topic } = Route.useSearch();
  const session = useSession();
  const hydrated = useHydrated();
  return (
    <ContactPage
      user={session.status === 'unknown' ? undefined : 'user' in session ? session.user : null}
      // The prerendered page knows no search.
      topic={hydrated ? topic : undefined}
    />
  );
}
