import { queryOptions } from '@tanstack/react-query';
import * as v from 'valibot';
import { Profile, SessionRow } from '#services/identity/contract.ts';
import { read } from '#web/api/api.ts';

/** Everything below this key changes with the password. */
export const profileKey = ['profile'] as const;

/** The user's private account data, and this month's runs. */
export const accountQuery = queryOptions({
  queryKey: [...profileKey, 'account'],
  queryFn: ({ signal }) => read('/users/me', Profile, { signal }),
  // Another tab, a link in an email or the start of a run may have changed it.
  staleTime: 0,
});

const sessionsEveryMs = 15_000;

/** The user's sessions. No event reports a new one, so they are always fetched. */
export const sessionsQuery = queryOptions({
  queryKey: [...profileKey, 'sessions'],
  queryFn: ({ signal }) => read('/auth/sessions', v.array(SessionRow), { signal }),
  staleTime: 0,
  refetchInterval: sessionsEveryMs,
  refetchOnWindowFocus: 'always',
});
