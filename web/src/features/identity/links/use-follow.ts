import { useRouter } from '@tanstack/react-router';
import { type LinkReply, ownPath } from '#services/identity/contract.ts';
import { arriveAt } from '#web/features/identity/sessions/arrival.ts';

/**
 * Goes to the page that a reply names, in place of this one. Tokens that it carries reach that page
 * without ever standing in the address bar. Only pages of this site count.
 */
export function useFollow(): (reply: LinkReply) => void {
  const router = useRouter();
  return ({ redirect, email }) =>
    router.history.replace(arriveAt(ownPath(redirect, location.origin) ?? '/dashboard', email));
}
