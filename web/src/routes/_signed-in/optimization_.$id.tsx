import { createFileRoute, redirect } from '@tanstack/react-router';

/** The address that older links have. */
export const Route = createFileRoute('/_signed-in/optimization_/$id')({
  beforeLoad: ({ params }) => {
    redirect({ to: '/optimizations/$id', params, replace: true, throw: true });
  },
});
