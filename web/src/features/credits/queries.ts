import { queryOptions } from '@tanstack/react-query';
import { Balance } from '#services/credits/contract.ts';
import { read } from '#web/api.ts';

/** A person's credits. The event stream keeps it current while the page is open. */
export const balanceQuery = queryOptions({
  queryKey: ['balance'],
  queryFn: ({ signal }) => read('/credits/balance', Balance, { signal }),
});
