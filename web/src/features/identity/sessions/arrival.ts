import { useSyncExternalStore } from 'react';

/**
 * What an address brought that must not stay in it: the secrets of links in mails. They leave the
 * address before anything else happens on the page, so no request, history entry or shared address
 * carries them, and are kept here, in memory, until another page is opened.
 */
export type Arrival = {
  /** The page that they are for. */
  readonly path: string;
  /** By the name they had in the address; the whole of a fragment that is one secret is `token`. */
  readonly values: Readonly<Record<string, string>>;
  /** Whose account it leads into; known when the answer to a link brought it. */
  readonly email?: string | undefined;
};

/** The address without its secrets, and the secrets. */
export function takenFrom(url: URL): { address: string; arrival: Arrival | null } {
  const path = pagePath(url.pathname);
  if (path === '/') return takenFromHome(url);
  if (path === '/auth/confirm') return takenFromConfirm(url, path);
  const isOneSecret = path.startsWith('/auth/link/') || path === '/reset-password';
  if (!isOneSecret || url.hash.length < 2) return { address: pathOf(url), arrival: null };
  return {
    address: `${url.pathname}${url.search}`,
    arrival: { path, values: { token: url.hash.slice(1) } },
  };
}

/** Only one of these names tells that an address of the home page is a link's. */
const homeSigns = ['access_token', 'refresh_token', 'code', 'error'] as const;

/** A sign-in link puts its values into the fragment; those of older clients stand in the query. */
function takenFromHome(url: URL): { address: string; arrival: Arrival | null } {
  const values = Object.fromEntries([
    ...url.searchParams,
    ...new URLSearchParams(url.hash.slice(1)),
  ]);
  if (!homeSigns.some((name) => Object.hasOwn(values, name))) {
    return { address: pathOf(url), arrival: null };
  }
  return { address: '/', arrival: { path: '/', values } };
}

const confirmSecrets = ['access_token', 'refresh_token'] as const;

/** What is no secret stays: a reload then still knows that the address was confirmed. */
function takenFromConfirm(url: URL, path: string): { address: string; arrival: Arrival | null } {
  const rest = new URLSearchParams(url.search);
  const values: Record<string, string> = {};
  for (const name of confirmSecrets) {
    const value = rest.get(name);
    if (value) values[name] = value;
    rest.delete(name);
  }
  const query = rest.toString();
  return {
    address: query ? `${url.pathname}?${query}` : url.pathname,
    arrival: Object.keys(values).length > 0 ? { path, values } : null,
  };
}

function pagePath(pathname: string): string {
  return pathname.replace(/(?<=.)\/+$/, '');
}

function pathOf(url: URL): string {
  return `${url.pathname}${url.search}${url.hash}`;
}

let held: Arrival | null = null;
const listeners = new Set<() => void>();

function hold(next: Arrival | null): void {
  held = next;
  for (const listener of listeners) listener();
}

/** Cleans the address bar. The entry file calls this before it does anything else. */
export function takeArrival(): void {
  const { address, arrival } = takenFrom(new URL(location.href));
  if (address !== `${location.pathname}${location.search}${location.hash}`) {
    history.replaceState(history.state, '', address);
  }
  if (arrival) hold(arrival);
}

/** Keeps the secrets of a path that somebody is about to be sent to, and answers the path without. */
export function arriveAt(path: string, email?: string): string {
  const url = new URL(path, location.origin);
  const { address, arrival } = takenFrom(url);
  hold(arrival ? { ...arrival, email } : confirmationOf(url, email));
  return address;
}

/** The page of a confirmation says whose it was, also when it brings nothing that signs in. */
function confirmationOf(url: URL, email: string | undefined): Arrival | null {
  const path = pagePath(url.pathname);
  return email !== undefined && path === '/auth/confirm' ? { path, values: {}, email } : null;
}

/** Forgets what was for another page than the one that is being opened. */
export function leaveArrivalBehind(pathname: string): void {
  if (held && held.path !== pagePath(pathname)) hold(null);
}

/** Forgets it once nobody needs it any more. */
export function forgetArrival(): void {
  hold(null);
}

/** What the address of this page brought, if anything. */
export function useArrival(path: string): Arrival | null {
  const arrival = useSyncExternalStore(
    subscribe,
    () => held,
    () => null,
  );
  return arrival?.path === pagePath(path) ? arrival : null;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
