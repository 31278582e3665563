import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import {
  checkText,
  createSealer,
  ErasedKeyError,
  IntegrityError,
  type Sealer,
} from '#services/platform/seal.ts';
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts';

let database: TestDatabase;
let sealer: Sealer;
const master = randomBytes(32);
const context = { stream: 'optimization-opt_1', field: 'challenge' };

beforeAll(async () => {
  database = await createTestDatabase();
  sealer = createSealer({ dataKeys: [master], pool: database.pool });
});
afterAll(() => database.drop());

test('any text opens as it was sealed', async () => {
  const keyId = await newKey();
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 300 }), async (text) => {
      const sealed = await sealer.seal(keyId, context, text);
      expect(await sealer.open(sealed, context)).toEqual({ text });
    }),
    { numRuns: 50 },
  );
});

test('the same text is sealed differently each time and cannot be read', async () => {
  const keyId = await newKey();
  const text = 'Should we open a second shop?';
  const [first, second] = [
    await sealer.seal(keyId, context, text),
    await sealer.seal(keyId, context, text),
  ];
  expect(first).not.toBe(second);
  expect(first).toMatch(new RegExp(`^v2\\.${keyId}\\.[\\w-]{16}\\.[\\w-]+\\.[\\w-]{43}$`));
  expect(Buffer.from(first.split('.')[3]!, 'base64url').includes('shop')).toBe(false);
});

test('a text that was changed in any byte does not open', async () => {
  const keyId = await newKey();
  const sealed = await sealer.seal(keyId, context, 'one');
  const [, , nonce = '', box = '', code = ''] = sealed.split('.');
  const changed = [
    ...changedBytes(nonce).map((other) => `v2.${keyId}.${other}.${box}.${code}`),
    ...changedBytes(box).map((other) => `v2.${keyId}.${nonce}.${other}.${code}`),
    ...changedBytes(code).map((other) => `v2.${keyId}.${nonce}.${box}.${other}`),
    `v2.${keyId}.${nonce}.${box}`,
    `v1.${keyId}.${nonce}.${box}`,
    `v1.${keyId}.${nonce}.${box}.${code}`,
  ];
  for (const text of changed)
    await expect(sealer.open(text, context)).rejects.toThrow(IntegrityError);
  await expect(sealer.open(sealed.slice(0, -30), context)).rejects.toThrow(IntegrityError);
  await expect(sealer.open('plain words', context)).rejects.toThrow(IntegrityError);
});

test('a text that was moved to another stream or field does not open', async () => {
  const keyId = await newKey();
  const sealed = await sealer.seal(keyId, { stream: 'a', field: 'bc' }, 'one');
  for (const moved of [
    { stream: 'ab', field: 'c' },
    { stream: 'a', field: 'b' },
    { stream: 'b', field: 'bc' },
  ])
    await expect(sealer.open(sealed, moved)).rejects.toThrow(IntegrityError);
});

test('a run has one key after several creations', async () => {
  const ids = await Promise.all(
    Array.from({ length: 8 }, () => sealer.createDataKey('run', 'opt_same', 'usr_1')),
  );
  expect(new Set(ids).size).toBe(1);
});

test('an erased key leaves its texts erased and seals no new ones', async () => {
  const keyId = await sealer.createDataKey('run', 'opt_erased', 'usr_1');
  const sealed = await sealer.seal(keyId, context, 'one');
  await sealer.eraseKey(keyId);

  expect(await sealer.open(sealed, context)).toEqual({ erased: true });
  await expect(sealer.seal(keyId, context, 'two')).rejects.toThrow(ErasedKeyError);
  await expect(sealer.createDataKey('run', 'opt_erased', 'usr_1')).rejects.toThrow(ErasedKeyError);
  const { rows } = await database.pool.query(
    'select kind, user_id from erasure where key_id = $1',
    [keyId],
  );
  expect(rows).toEqual([{ kind: 'run', user_id: 'usr_1' }]);
});

test('the code of a text changes with each character and with the key, and ends with the key', async () => {
  const [keyId, other] = [await newKey(), await newKey()];
  const code = await sealer.mac(keyId, 'Should we open a second shop?');
  expect(code).toMatch(/^[0-9a-f]{64}$/);
  const fresh = createSealer({ dataKeys: [master], pool: database.pool });
  expect(await fresh.mac(keyId, 'Should we open a second shop?')).toBe(code);
  expect(await sealer.mac(keyId, 'Should we open a second shop!')).not.toBe(code);
  expect(await sealer.mac(other, 'Should we open a second shop?')).not.toBe(code);
  await sealer.eraseKey(keyId);
  await expect(sealer.mac(keyId, 'Should we open a second shop?')).rejects.toThrow(ErasedKeyError);
});

test('the subkey shows whether a sealed text has these words, at its place', async () => {
  const keyId = await newKey();
  const subkey = Buffer.from((await sealer.macKey(keyId))!, 'hex');
  const sealed = await sealer.seal(keyId, context, 'Grüße');
  expect(checkText(subkey, sealed, context, 'Grüße')).toEqual({ fits: true, by: 'code' });
  const others: [Buffer, string, typeof context][] = [
    [subkey, 'letters', context],
    [subkey, 'Grüße', { ...context, field: 'context' }],
    [subkey, 'Grüße', { ...context, stream: 'optimization-opt_2' }],
    [randomBytes(32), 'Grüße', context],
  ];
  for (const [key, text, place] of others)
    expect(checkText(key, sealed, place, text)).toEqual({ fits: false, by: 'code' });
  const odd = await sealer.seal(keyId, context, 'seven \ufffd');
  expect(checkText(subkey, odd, context, 'seven \ufffd').fits).toBe(true);
  expect(checkText(subkey, odd, context, 'seven \ud83d').fits).toBe(false);
  const again = await sealer.seal(keyId, context, 'Grüße');
  expect(again.split('.')[4]).not.toBe(sealed.split('.')[4]);
});

test('a text that 0.1 sealed opens, and shows nothing but its length', async () => {
  // cspell:disable-next-line
  const sealed = 'v1.opt_early.PTKu5Q2e-H1IJYKF.sa9GVtHdHGLBgtOSu0xTsROSwyZ4o-4';
  await database.pool.query(
    `insert into data_key (key_id, kind, user_id, wrapped) values ('opt_early', 'run', 'usr_1', decode($1, 'hex'))`,
    [
      '715fc1a15d090540d878a80006e92de9c1d029b9cf3e4fcc00340e4412f1a91a64bef2128e966cce40fb8b0204a4e933868f67fa5b6bad2012740bcf',
    ],
  );
  const early = createSealer({ dataKeys: [Buffer.alloc(32, 7)], pool: database.pool });
  expect(await early.open(sealed, context)).toEqual({ text: 'Grüße' });
  await database.pool.query(`delete from data_key where key_id = 'opt_early'`);
  const subkey = randomBytes(32);
  expect(checkText(subkey, sealed, context, 'GRüße')).toEqual({ fits: true, by: 'length' });
  expect(checkText(subkey, sealed, context, 'letters')).toEqual({ fits: true, by: 'length' });
  expect(checkText(subkey, sealed, context, 'short')).toEqual({ fits: false, by: 'length' });
});

test('another process drops an erased key when its copy has aged', async () => {
  const other = createSealer({
    dataKeys: [master],
    pool: database.pool,
    limits: { keyAgeMs: 1 },
  });
  const keyId = await newKey();
  const sealed = await sealer.seal(keyId, context, 'one');
  expect(await other.open(sealed, context)).toEqual({ text: 'one' });
  await sealer.eraseKey(keyId);
  await sleep(10);
  expect(await other.open(sealed, context)).toEqual({ erased: true });
});

test('a list of texts under many keys is opened with one query', async () => {
  const keyIds = await Promise.all(Array.from({ length: 20 }, newKey));
  const sealed = await Promise.all(keyIds.map((keyId) => sealer.seal(keyId, context, keyId)));
  const query = vi.spyOn(database.pool, 'query');
  const fresh = createSealer({ dataKeys: [master], pool: database.pool });
  const opened = await Promise.all(sealed.map((text) => fresh.open(text, context)));
  expect(opened).toEqual(keyIds.map((text) => ({ text })));
  expect(query).toHaveBeenCalledTimes(1);
  query.mockRestore();
});

test('after a rotation old texts open under the new master key alone', async () => {
  const keyId = await newKey();
  const sealed = await sealer.seal(keyId, context, 'one');
  const next = randomBytes(32);
  const both = createSealer({ dataKeys: [next, master], pool: database.pool });
  expect(await both.open(sealed, context)).toEqual({ text: 'one' });
  expect(await both.rewrapKeys()).toBeGreaterThan(0);
  expect(await both.rewrapKeys()).toBe(0);

  const alone = createSealer({ dataKeys: [next], pool: database.pool });
  expect(await alone.open(sealed, context)).toEqual({ text: 'one' });
  const late = createSealer({ dataKeys: [master], pool: database.pool });
  await expect(late.open(sealed, context)).rejects.toThrow(IntegrityError);
  // Back, because the other tests of this file have the first one.
  await createSealer({ dataKeys: [master, next], pool: database.pool }).rewrapKeys();
});

let made = 0;
function newKey(): Promise<string> {
  made += 1;
  return sealer.createDataKey('run', `opt_${made}`, 'usr_1');
}

/** The text with one bit of each of its bytes turned round. */
function changedBytes(text: string): string[] {
  const bytes = Buffer.from(text, 'base64url');
  return Array.from(bytes, (byte, at) => {
    const changed = Buffer.from(bytes);
    changed[at] = byte ^ 1;
    return changed.toString('base64url');
  });
}

test('a key that cannot be unwrapped does not fail the keys loaded with it', async () => {
  const [good, bad] = [await newKey(), await newKey()];
  const sealed = await sealer.seal(good, context, 'one');
  await database.pool.query(
    `update data_key set wrapped = decode(repeat('00', 60), 'hex') where key_id = $1`,
    [bad],
  );
  const fresh = createSealer({ dataKeys: [master], pool: database.pool });
  const [opened, refused] = await Promise.allSettled([
    fresh.open(sealed, context),
    fresh.seal(bad, context, 'two'),
  ]);
  expect(opened).toEqual({ status: 'fulfilled', value: { text: 'one' } });
  expect(refused).toMatchObject({ status: 'rejected', reason: expect.any(IntegrityError) });
});
