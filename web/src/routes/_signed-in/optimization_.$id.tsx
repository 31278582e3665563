import { createFileRoute, redirect } from '@tanstack/react-router';

/** A second address of a run's page. */
export const Route = createFileRoute('/_signed-in/optimization_/$id')({
  beforeLoad: ({ params }) => {
    redirect({ to: '/optimizations/$id', params, replace: true, throw: true });
  },
});
