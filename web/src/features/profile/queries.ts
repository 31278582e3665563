import { queryOptions } from '@tanstack/react-query';
import * as v from 'valibot';
import { SessionRow } from '#services/identity/contract.ts';
import { profileKey } from '#web/api/account.ts';
import { read } from '#web/api/api.ts';

const sessionsEveryMs = 15_000;

/** The user's sessions. No event reports a new one, so they are always fetched. */
export const sessionsQuery = queryOptions({
  queryKey: [...profileKey, 'sessions'],
  queryFn: ({ signal }) => read('/auth/sessions', v.array(SessionRow), { signal }),
  staleTime: 0,
  refetchInterval: sessionsEveryMs,
  refetchOnWindowFocus: 'always',
});
