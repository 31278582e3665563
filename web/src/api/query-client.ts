import { QueryClient } from '@tanstack/react-query';
import { onSessionEnd, onSessionResume } from '#web/features/identity/sessions/session.ts';

/**
 * `read` already retries what can be retried, and the event stream reports changes, so nothing is
 * polled.
 */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      retry: false,
      staleTime: 60_000,
      // Unused data, as long as it is fresh.
      gcTime: 60_000,
      // A browser that reports itself offline can still reach a server on the same machine.
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
});

onSessionEnd(() => queryClient.clear());
// Queries that failed without a session are fetched again.
onSessionResume(() => void queryClient.invalidateQueries());
