import { useSyncExternalStore } from 'react';
import { createSignal } from '#web/ui/signal.ts';

/**
 * Secrets that a link brought in the address. They are removed before anything else happens on the
 * page, so no request, history entry or shared address carries them. They are kept in memory until
 * another page is opened.
 */
export type Arrival = {
  readonly path: string;
  /** By their name in the address; a fragment that is one whole secret is `token`. */
  readonly values: Readonly<Record<string, string>>;
  /** The account it leads into, when the reply to a link named it. */
  readonly email?: string | undefined;
};

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

/** Each of these names alone marks an address of the home page as a link's. */
const homeSigns = ['access_token', 'refresh_token', 'code', 'error'] as const;

/** A sign-in link puts its values into the fragment or the query. */
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

/** Parameters without secrets stay: a reload still knows that the address was confirmed. */
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
const changes = createSignal();

function hold(next: Arrival | null): void {
  held = next;
  changes.emit();
}

/** Cleans the address bar. The entry file calls this before anything else. */
export function takeArrival(): void {
  const { address, arrival } = takenFrom(new URL(location.href));
  if (address !== `${location.pathname}${location.search}${location.hash}`) {
    history.replaceState(history.state, '', address);
  }
  if (arrival) hold(arrival);
}

/**
 * Keeps the secrets of a path that the user is about to be sent to, and returns the path without
 * them.
 */
export function arriveAt(path: string, email?: string): string {
  const url = new URL(path, location.origin);
  const { address, arrival } = takenFrom(url);
  hold(arrival ? { ...arrival, email } : confirmationOf(url, email));
  return address;
}

/** A confirmation names its account even when it brings no sign-in. */
function confirmationOf(url: URL, email: string | undefined): Arrival | null {
  const path = pagePath(url.pathname);
  return email !== undefined && path === '/auth/confirm' ? { path, values: {}, email } : null;
}

/** Forgets what belongs to another page than the one being opened. */
export function leaveArrivalBehind(pathname: string): void {
  if (held && held.path !== pagePath(pathname)) hold(null);
}

export function forgetArrival(): void {
  hold(null);
}

export function useArrival(path: string): Arrival | null {
  const arrival = useSyncExternalStore(
    changes.subscribe,
    () => held,
    () => null,
  );
  return arrival?.path === pagePath(path) ? arrival : null;
}
