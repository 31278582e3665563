import { queryOptions } from '@tanstack/react-query';
import * as v from 'valibot';
import { SessionRow } from '#services/identity/contract.ts';
import { ApiKeyRow } from '#services/identity/contract/api-keys.ts';
import { profileKey } from '#web/api/account.ts';
import { read } from '#web/api/api.ts';

const sessionsEveryMs = 15_000;
const apiKeysEveryMs = 60_000;

/** The user's sessions. No event reports a new one, so they are always fetched. */
export const sessionsQuery = queryOptions({
  queryKey: [...profileKey, 'sessions'],
  queryFn: ({ signal }) => read('/auth/sessions', v.array(SessionRow), { signal }),
  staleTime: 0,
  refetchInterval: sessionsEveryMs,
  refetchOnWindowFocus: 'always',
});

/** The user's live API keys. No event reports their use, which has a resolution of a minute. */
export const apiKeysQuery = queryOptions({
  queryKey: [...profileKey, 'api-keys'],
  queryFn: ({ signal }) => read('/api-keys', v.array(ApiKeyRow), { signal }),
  staleTime: 0,
  refetchInterval: apiKeysEveryMs,
  refetchOnWindowFocus: 'always',
});
