import { queryOptions } from '@tanstack/react-query';
import { User } from '#services/identity/contract.ts';
import { read } from '#web/api.ts';

/** The person with the runs of this month and their limit, as they are now. */
export const profileQuery = queryOptions({
  queryKey: ['profile'],
  queryFn: ({ signal }) => read('/users/me', User, { signal }),
  // Every start of a run changes it, and no message of the stream says so.
  staleTime: 0,
});
