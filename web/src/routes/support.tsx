import { createFileRoute, redirect } from '@tanstack/react-router';

export const Route = createFileRoute('/support')({
  beforeLoad: () => {
    redirect({ to: '/contact', search: { topic: 'support' }, replace: true, throw: true });
  },
});
