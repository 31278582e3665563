import { QueryClient } from '@tanstack/react-query';
import { onSessionEnd, onSessionResume } from '#web/features/identity/sessions/session.ts';

/**
 * What the server has told this page, for everyone who asks again. `read` already repeats what may
 * help to repeat; and the event stream says when something changed, so nothing is asked by the clock.
 */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      retry: false,
      staleTime: 60_000,
      // A browser that calls itself offline still reaches a server on the same machine.
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
});

onSessionEnd(() => queryClient.clear());
// What failed while nobody was signed in is asked for again.
onSessionResume(() => void queryClient.invalidateQueries());
