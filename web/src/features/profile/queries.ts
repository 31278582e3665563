import { queryOptions } from '@tanstack/react-query';
import * as v from 'valibot';
import { Profile, SessionRow } from '#services/identity/contract.ts';
import { read } from '#web/api/api.ts';

/** Everything below: it all changes with the password. */
export const profileKey = ['profile'] as const;

/** The person with everything that only they see of themselves, and the runs of this month. */
export const accountQuery = queryOptions({
  queryKey: [...profileKey, 'account'],
  queryFn: ({ signal }) => read('/users/me', Profile, { signal }),
  // Another tab, a link in a mail or the start of a run may have changed it.
  staleTime: 0,
});

const sessionsEveryMs = 15_000;

/** Where the person is signed in. Nothing tells of a new sign-in elsewhere, so it is asked for. */
export const sessionsQuery = queryOptions({
  queryKey: [...profileKey, 'sessions'],
  queryFn: ({ signal }) => read('/auth/sessions', v.array(SessionRow), { signal }),
  staleTime: 0,
  refetchInterval: sessionsEveryMs,
  refetchOnWindowFocus: 'always',
});
