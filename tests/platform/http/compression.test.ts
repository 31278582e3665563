import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp();
});
afterAll(async () => app.close());

const headers = { 'accept-encoding': 'br, gzip' };

describe('a response of the API', () => {
  test('a response is compressed for a client that accepts it, and decompresses to the same', async () => {
    const plain = await app.call('/optimizations/strategies');
    const packed = await app.app.request('/api/optimizations/strategies', { headers });
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(packed.headers.get('content-encoding')).toBe('gzip');
    for (const { headers: sent } of [plain, packed]) {
      expect(sent.get('vary')).toBe('Origin, Accept-Encoding');
      expect(sent.get('cache-control')).toBe('no-store');
    }
    const bytes = Buffer.from(await packed.arrayBuffer());
    const text = await plain.text();
    expect(bytes.length).toBeLessThan(text.length / 2);
    expect(gunzipSync(bytes).toString()).toBe(text);
  });

  test('a short response is not compressed', async () => {
    const response = await app.call('/health', { headers });
    expect(response.headers.get('content-encoding')).toBeNull();
    expect(response.headers.get('vary')).toBe('Origin');
  });

  test('a response that holds a token is not compressed', async () => {
    const response = await app.call('/auth/signup', {
      body: { name: 'N'.repeat(80), email: 'a@example.com', password: 'Harbour-Candle-58' },
      headers,
    });
    expect(response.headers.get('content-encoding')).toBeNull();
    // Long enough to be compressed elsewhere.
    expect((await response.text()).length).toBeGreaterThan(1_000);
  });

  test('the stream is not compressed', async () => {
    const { token } = await app.signUp();
    const response = await app.call('/stream', { token, headers });
    await response.body?.cancel();
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect(response.headers.get('content-encoding')).toBeNull();
  });
});

test.each([
  ['gzip', 'gzip'],
  ['br, gzip;q=0.5', 'gzip'],
  ['GZIP', 'gzip'],
  ['', null],
  ['br', null],
  ['gzip;q=0', null],
  ['gzip;q=0.0, br', null],
  ['gzipped', null],
])('a request that accepts "%s" is answered with the encoding %s', async (accepted, encoding) => {
  const response = await app.app.request('/api/optimizations/strategies', {
    headers: { 'accept-encoding': accepted },
  });
  expect(response.headers.get('content-encoding')).toBe(encoding);
});
