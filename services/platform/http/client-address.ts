import type { IncomingMessage } from 'node:http';
import { isIP, isIPv4 } from 'node:net';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { MiddlewareHandler } from 'hono';
import type { HttpContext, HttpEnv } from './http.ts';

/**
 * The caller's address. Any caller can write X-Forwarded-For, so only the entries of our own proxies
 * count: as many as there are proxies, from the right.
 */
const unknownAddress = 'unknown';

/** Sets `address` on every request. @param trustedHops proxies of our own in front of this process */
export function clientAddress(trustedHops: number): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    context.set('address', addressOf(context, trustedHops));
    await next();
  };
}

function addressOf(context: HttpContext, trustedHops: number): string {
  const forwarded = context.req.header('x-forwarded-for');
  return callingAddress(socketAddress(context), forwarded, trustedHops);
}

/** Of a request that no route answers: the same from its socket and its X-Forwarded-For. */
export function addressOfRequest(request: IncomingMessage, trustedHops: number): string {
  const address = normalAddress(request.socket.remoteAddress ?? '') ?? unknownAddress;
  const forwarded = request.headers['x-forwarded-for'];
  return callingAddress(address, forwarded?.toString(), trustedHops);
}

function callingAddress(
  nearest: string,
  forwarded: string | undefined,
  trustedHops: number,
): string {
  let address = nearest;
  if (trustedHops === 0 || forwarded === undefined) return address;
  // Each proxy appends the one that called it. An entry that no trusted proxy would have written ends the walk.
  for (const entry of forwarded.split(',').slice(-trustedHops).toReversed()) {
    const named = normalAddress(withoutPort(entry.trim()));
    if (named === null) break;
    address = named;
  }
  return address;
}

/** A call without a socket, as tests make it, has no address unless it brings one. */
function socketAddress(context: HttpContext): string {
  const address = isOverSocket(context) ? getConnInfo(context).remote.address : undefined;
  return normalAddress(address ?? '') ?? unknownAddress;
}

function isOverSocket(context: HttpContext): boolean {
  const bindings: unknown = context.env;
  return typeof bindings === 'object' && bindings !== null && 'incoming' in bindings;
}

/**
 * Whether the caller is on this machine: the socket is a loopback one, and no header says that a proxy
 * forwarded the call. Such a header only counts against the caller, so a forged one does no harm. A call
 * without a socket was made inside this process.
 */
export function isFromThisMachine(context: HttpContext): boolean {
  if (forwardingHeaders.some((name) => context.req.header(name) !== undefined)) return false;
  return !isOverSocket(context) || isLoopbackAddress(socketAddress(context));
}

const forwardingHeaders = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];

/** Any spelling of a socket's address. */
export function isLoopbackAddress(text: string): boolean {
  const address = normalAddress(text);
  return address !== null && (address === '::1' || address.startsWith('127.'));
}

function withoutPort(entry: string): string {
  return (
    /^\[(?<address>[^\]]*)\](?::\d+)?$/.exec(entry)?.groups?.['address'] ??
    /^(?<address>[\d.]+):\d+$/.exec(entry)?.groups?.['address'] ??
    entry
  );
}

/** One spelling for each address; null for an invalid one. A dual-stack socket maps IPv4 into IPv6. */
function normalAddress(text: string): string | null {
  const bare = text.replace(/%.*$/, '');
  if (isIP(bare) === 0) return null;
  if (isIPv4(bare)) return bare;
  const groups = groupsOf(bare);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped)
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 255])
      .join('.');
  return new URL(`http://[${bare}]/`).hostname.slice(1, -1);
}

/** The eight groups of an IPv6 address, which the URL parser has brought to hexadecimal digits. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::');
  const numbers = (part: string) =>
    part.split(':').flatMap((group) => (group === '' ? [] : [Number.parseInt(group, 16)]));
  const first = numbers(head);
  if (tail === undefined) return first;
  const last = numbers(tail);
  return [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last];
}

/** What the audit table may keep of an address: its /24, or the /48 of IPv6, which names no household. */
export function networkOf(address: string): string {
  if (isIP(address) === 0) return unknownAddress;
  if (isIPv4(address)) return `${address.split('.').slice(0, 3).join('.')}.0/24`;
  return prefixOf(address, 48);
}

/**
 * What counts as one caller. The owner of an IPv6 address has a /64 of them and could call from another
 * one with every call.
 */
export function callerOfAddress(address: string): string {
  return isIP(address) === 6 ? prefixOf(address, 64) : address;
}

/**
 * Everything that one customer may hold, smallest first: providers hand out a /64, a /56 or a /48 of
 * IPv6. An IPv4 address stands for itself.
 */
export function networksOf(address: string): readonly string[] {
  return isIP(address) === 6 ? [64, 56, 48].map((bits) => prefixOf(address, bits)) : [address];
}

function prefixOf(address: string, bits: number): string {
  const groups = groupsOf(address)
    .slice(0, Math.ceil(bits / 16))
    .map((group, index) => group & (0xffff << Math.max(0, (index + 1) * 16 - bits)));
  return `${groups.map((group) => group.toString(16)).join(':')}::/${bits}`;
}
