import { queryOptions } from '@tanstack/react-query';
import { Profile, type ProfileChange } from '#services/identity/contract.ts';
import { updateUser } from '#web/features/identity/sessions/session.ts';
import { read, write } from './api.ts';
import { queryClient } from './query-client.ts';

/** Everything below this key changes with the password. */
export const profileKey = ['profile'] as const;

/** The user's private account data, and this month's runs. */
export const accountQuery = queryOptions({
  queryKey: [...profileKey, 'account'],
  queryFn: ({ signal }) => read('/users/me', Profile, { signal }),
  // Another tab, a link in an email or the start of a run may have changed it.
  staleTime: 0,
});

/** Changes these fields and no others, here, in the bar and in other tabs. @throws ApiProblem */
export async function changeAccount(change: ProfileChange): Promise<void> {
  const profile = await write('PATCH', '/users/me', change, Profile);
  queryClient.setQueryData(accountQuery.queryKey, profile);
  updateUser(profile);
}
