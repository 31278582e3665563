import { createFileRoute } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { example } from '#web/features/example/example.tsx';
import { Home } from '#web/features/home/home.tsx';
import { useSession } from '#web/features/identity/sessions/session.ts';
import { Notice } from '#web/ui/feedback/notice.tsx';

/** Unknown addresses, also below a known page: the home page with a notice. */
export const Route = createFileRoute('/$')({
  component: NotFound,
  staticData: { title: 'Page not found' },
});

function NotFound(): ReactNode {
  const session = useSession();
  return (
    <Home
      example={example}
      signedIn={session.status === 'authenticated'}
      notice={
        <Notice tone="warn" title="We can't find that page">
          The address may be mistyped, or the page may be gone. Here's the home page instead.
        </Notice>
      }
    />
  );
}
