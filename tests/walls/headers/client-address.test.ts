import { expect, test } from 'vitest';
import {
  callerOfAddress,
  clientAddress,
  networkOf,
} from '#services/platform/http/client-address.ts';
import { createRouter } from '#services/platform/http/http.ts';

/** The caller's address as the application sees it. */
async function addressOf(call: {
  socket?: string;
  forwarded?: string | null;
  hops?: number;
}): Promise<string> {
  const app = createRouter()
    .use(clientAddress(call.hops ?? 0))
    .get('/', (context) => context.text(context.get('address')));
  const headers = typeof call.forwarded === 'string' ? { 'x-forwarded-for': call.forwarded } : {};
  const bindings =
    call.socket === undefined ? {} : { incoming: { socket: { remoteAddress: call.socket } } };
  return (await app.request('/', { headers }, bindings)).text();
}

test('without a trusted proxy the caller is the socket, whatever a header says', async () => {
  const forwarded = '198.51.100.9';
  expect(await addressOf({ socket: '203.0.113.7', forwarded })).toBe('203.0.113.7');
});

test.each<[string, { hops: number; forwarded: string | null }, string]>([
  [
    'one proxy: the entry that it wrote',
    { hops: 1, forwarded: '1.1.1.1, 203.0.113.7' },
    '203.0.113.7',
  ],
  [
    'two proxies: the entry that the outer one wrote',
    { hops: 2, forwarded: '1.1.1.1, 203.0.113.7, 10.0.0.2' },
    '203.0.113.7',
  ],
  [
    'a spoofed list before it changes nothing',
    { hops: 1, forwarded: '9.9.9.9, 8.8.8.8, 7.7.7.7, 203.0.113.7' },
    '203.0.113.7',
  ],
  [
    'fewer entries than proxies: the furthest there is',
    { hops: 3, forwarded: '203.0.113.7' },
    '203.0.113.7',
  ],
  ['no header: the socket', { hops: 1, forwarded: null }, '10.0.0.1'],
  ['an empty header: the socket', { hops: 1, forwarded: '' }, '10.0.0.1'],
  ['no address at all: the socket', { hops: 1, forwarded: '1.1.1.1, <script>' }, '10.0.0.1'],
  [
    'no address behind one that is: the nearer',
    { hops: 2, forwarded: 'canary, 10.0.0.2' },
    '10.0.0.2',
  ],
  ['a port with it', { hops: 1, forwarded: '203.0.113.7:4711' }, '203.0.113.7'],
  ['IPv6 with a port', { hops: 1, forwarded: '[2001:DB8::1]:4711' }, '2001:db8::1'],
])('the address of the caller is found behind %s', async (_what, call, address) => {
  expect(await addressOf({ socket: '10.0.0.1', ...call })).toBe(address);
});

test.each([
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['::ffff:cb00:7107', '203.0.113.7'],
  ['0:0:0:0:0:FFFF:203.0.113.7', '203.0.113.7'],
  ['2001:0DB8:0:0:0:0:0:1', '2001:db8::1'],
  ['fe80::1%eth0', 'fe80::1'],
  ['::1', '::1'],
])('the address %s has one spelling', async (socket, address) => {
  expect(await addressOf({ socket })).toBe(address);
});

test('a call without a socket has no address', async () => {
  expect(await addressOf({})).toBe('unknown');
});

test('only the network of an address is stored', () => {
  expect(networkOf('203.0.113.7')).toBe('203.0.113.0/24');
  expect(networkOf('2001:db8:1:2::7')).toBe('2001:db8:1::/48');
  expect(networkOf('::1')).toBe('0:0:0::/48');
  expect(networkOf('unknown')).toBe('unknown');
});

test('a change in the lower half of an IPv6 address is still the same caller', () => {
  expect(callerOfAddress('2001:db8:1:2::7')).toBe(callerOfAddress('2001:db8:1:2:ffff::9'));
  expect(callerOfAddress('2001:db8:1:2::7')).not.toBe(callerOfAddress('2001:db8:1:3::7'));
  expect(callerOfAddress('203.0.113.7')).toBe('203.0.113.7');
});
