import { isTimeout } from '#db/transaction.ts';

/**
 * What the log calls a failed request. A database that takes too long is named by what it was asked; users
 * only read that something went wrong on our side.
 */
export function logWords(
  error: unknown,
  { method, path }: { method: string; path: string },
): string {
  if (!isTimeout(error)) return 'A request failed';
  if (/\/(?:auth\/session|users\/me)$/.test(path)) return 'Auth user fetch timeout';
  return method === 'GET' ? 'Database query timeout' : 'Database insert timeout';
}
