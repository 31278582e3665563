import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
} from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import type { Queryable } from '#db/connect.ts';
import { inOneTurn } from './one-turn.ts';
import type { ErasureList, ErasureLog } from './process/erasure-log.ts';

/**
 * Sealing of text by users and models. Each run and each account has a data key, wrapped by the master key.
 * Deleting its row makes all its text unreadable at once, in events, read models and restored backups,
 * while the events keep their order, sums and chain.
 *
 * A sealed text is `v2.<keyId>.<nonce>.<ciphertext and tag>.<code>`, AES-256-GCM, base64url. The stream, the
 * field's name and the code are authenticated with it, so that a text cannot be moved to another place. The
 * code proves the words to someone who has the subkey of `Sealer.macKey` and not the data key. `v1` had none.
 */
export type SealContext = {
  stream: string;
  field: string;
};

export type Opened = { text: string } | { erased: true };

export type KeyKind = 'run' | 'account';

export type Sealer = {
  /**
   * Creates the data key of a run or an account when it is missing; committed when this resolves. Call it
   * before the first event that is sealed under it. Returns its id, which is the owner's.
   *
   * @throws ErasedKeyError when the key or its user was erased: there is no second key.
   */
  createDataKey(kind: KeyKind, ownerId: string, userId: string): Promise<string>;
  /** @throws ErasedKeyError when the key was deleted or never created. */
  seal(keyId: string, context: SealContext, text: string): Promise<string>;
  /** @throws IntegrityError when the text, its place or its key differs from what was sealed. */
  open(sealed: string, context: SealContext): Promise<Opened>;
  /**
   * HMAC-SHA-256 of the text under a subkey of the data key, 64 hex digits: it proves later what the text
   * was, and without the key it allows no guessing of it.
   *
   * @throws ErasedKeyError when the key was deleted or never created.
   */
  mac(keyId: string, text: string): Promise<string>;
  /**
   * The subkey itself, 64 hex digits, to hand to the owner of the texts: it checks codes and opens
   * nothing. Null when the key was deleted or never created.
   */
  macKey(keyId: string): Promise<string | null>;
  /**
   * Deletes the key for ever and records that, first in the erasure log. Other processes follow in seconds.
   */
  eraseKey(keyId: string): Promise<void>;
  /** The same with all keys of a user, who then gets no new ones. */
  erasePerson(userId: string): Promise<void>;
  /** How many data keys there are, and how many of them no key in DATA_KEY opens. */
  checkKeys(): Promise<{ keys: number; closed: number }>;
  /** Wraps every key that an older master key wraps with the current one. Returns how many. */
  rewrapKeys(): Promise<number>;
};

/** A sealed text that was changed, moved, or wrapped by a master key that is not here. */
export class IntegrityError extends Error {
  override readonly name = 'IntegrityError';
}

/** The key was deleted or never created. */
export class ErasedKeyError extends Error {
  override readonly name = 'ErasedKeyError';
}

const sealLimits = {
  /** Unwrapped data keys that are kept in memory. */
  cachedKeys: 5_000,
  /** How long a process may still open what another process has erased. */
  keyAgeMs: 5_000,
  /** Keys that a rotation or a check reads at a time. */
  keyPage: 500,
} as const;

export type SealerOptions = {
  /** 32 bytes each: the first wraps, all of them unwrap. */
  dataKeys: readonly Buffer[];
  pool: pg.Pool;
  /** Without it, erasures are recorded in the database alone. */
  erasureLog?: ErasureLog;
  limits?: Partial<{ readonly [Name in keyof typeof sealLimits]: number }>;
};

type WrappedKey = { key_id: string; wrapped: Buffer };

export function createSealer(options: SealerOptions): Sealer {
  const { pool, erasureLog } = options;
  const limits = { ...sealLimits, ...options.limits };
  if (options.dataKeys.some((key) => key.length !== keyLength))
    throw new Error('Every key of DATA_KEY must have 32 bytes');
  const dataKeys = options.dataKeys.map((key) => createSecretKey(key));
  const master = dataKeys[0];
  if (master === undefined) throw new Error('DATA_KEY must hold at least one key of 32 bytes');
  const keys = createKeyCache(limits, loadKeys);

  async function loadKeys(keyIds: readonly string[]): Promise<LoadedKeys> {
    const { rows } = await pool.query<{ key_id: string; wrapped: Buffer }>(
      'select key_id, wrapped from data_key where key_id = any ($1)',
      [keyIds],
    );
    return new Map(
      rows.map((row) => [row.key_id, () => dataKeyOf(unwrap(dataKeys, row.key_id, row.wrapped))]),
    );
  }

  async function* everyKey(): AsyncGenerator<WrappedKey> {
    for (let after = ''; ;) {
      const { rows } = await pool.query<WrappedKey>(
        'select key_id, wrapped from data_key where key_id > $1 order by key_id limit $2',
        [after, limits.keyPage],
      );
      yield* rows;
      const last = rows.at(-1);
      if (last === undefined) return;
      after = last.key_id;
    }
  }

  /** Empty when there is no such key. */
  async function recordOf(keyId: string): Promise<ErasureList> {
    const { rows } = await pool.query<Omit<ErasureList[number], 'erased_at'>>(
      'select key_id, kind, user_id from data_key where key_id = $1',
      [keyId],
    );
    return rows.map((row) => ({ ...row, erased_at: new Date().toISOString() }));
  }

  return {
    async createDataKey(kind, ownerId, userId) {
      const wrapped = encrypt(master, randomBytes(keyLength), ownerId);
      const { rows } = await pool.query(
        `with made as (
           insert into data_key (key_id, kind, user_id, wrapped)
           select $1, $2, $3, $4 where not exists (select from erasure where key_id in ($1, $3))
           on conflict (key_id) do nothing)
         select from erasure where key_id in ($1, $3)`,
        [ownerId, kind, userId, wrapped],
      );
      if (rows.length > 0) throw new ErasedKeyError(`The key of ${ownerId} was erased`);
      return ownerId;
    },

    async seal(keyId, context, text) {
      const key = await keys.get(keyId);
      if (key === null) throw new ErasedKeyError(`The key ${keyId} was erased`);
      const nonce = randomBytes(nonceLength);
      const code = codeOf(key.subkey(), nonce, context, text);
      const box = encrypt(key.key, Buffer.from(text, 'utf8'), associatedData(context, code), nonce);
      const rest = box.subarray(nonceLength).toString('base64url');
      return `v2.${keyId}.${nonce.toString('base64url')}.${rest}.${code}`;
    },

    async open(sealed, context) {
      const { keyId, box, code } = parse(sealed);
      const key = await keys.get(keyId);
      if (key === null) return { erased: true };
      return { text: decrypt(key.key, box, associatedData(context, code)).toString('utf8') };
    },

    async mac(keyId, text) {
      const key = await keys.get(keyId);
      if (key === null) throw new ErasedKeyError(`The key ${keyId} was erased`);
      return macUnder(key.subkey(), text);
    },

    async macKey(keyId) {
      const key = await keys.get(keyId);
      return key === null ? null : key.subkey().export().toString('hex');
    },

    async eraseKey(keyId) {
      await erasureLog?.append(await recordOf(keyId));
      await pool.query(
        `with erased as (
           delete from data_key where key_id = $1 returning key_id, kind, user_id)
         insert into erasure (key_id, kind, user_id)
         select key_id, kind, user_id from erased on conflict (key_id) do nothing`,
        [keyId],
      );
      keys.forget(keyId);
    },

    async erasePerson(userId) {
      await erasureLog?.append([recordOfPerson(userId, new Date())]);
      for (const keyId of await erasePersonKeys(pool, userId)) keys.forget(keyId);
    },

    async checkKeys() {
      const found = { keys: 0, closed: 0 };
      for await (const row of everyKey()) {
        found.keys += 1;
        if (!dataKeys.some((each) => isWrappedBy(each, row.key_id, row.wrapped))) found.closed += 1;
      }
      return found;
    },

    async rewrapKeys() {
      let rewrapped = 0;
      for await (const row of everyKey()) {
        if (isWrappedBy(master, row.key_id, row.wrapped)) continue;
        const key = unwrap(dataKeys, row.key_id, row.wrapped);
        // Only if it was not erased or rewrapped meanwhile.
        const { rowCount } = await pool.query(
          'update data_key set wrapped = $3 where key_id = $1 and wrapped = $2',
          [row.key_id, row.wrapped, encrypt(master, key, row.key_id)],
        );
        rewrapped += rowCount ?? 0;
      }
      return rewrapped;
    },
  };
}

/** The line of a person in the erasure log: it stands for all their keys. */
export function recordOfPerson(userId: string, at: Date): ErasureList[number] {
  return { key_id: userId, kind: 'account', user_id: userId, erased_at: at.toISOString() };
}

/**
 * Deletes all keys of a user and records each, and the user even without a key, because a restore applies
 * the records. Returns the ids of the keys.
 */
export async function erasePersonKeys(client: Queryable, userId: string): Promise<string[]> {
  const { rows } = await client.query<{ key_id: string }>(
    `with erased as (
       delete from data_key where user_id = $1 or key_id = $1 returning key_id, kind),
     recorded as (
       insert into erasure (key_id, kind, user_id)
       select key_id, kind, $1 from erased union select $1, 'account', $1
       on conflict (key_id) do nothing)
     select key_id from erased`,
    [userId],
  );
  return rows.map((row) => row.key_id);
}

// --- boxes: nonce, ciphertext, tag ---

const keyLength = 32;
const nonceLength = 12;
const tagLength = 16;
/** Binds the subkey to its one use. */
const macInfo = 'sevenfold mac v1';

function encrypt(
  key: KeyObject,
  plain: Buffer,
  associated: string,
  nonce = randomBytes(nonceLength),
): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(associated, 'utf8'));
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

function decrypt(key: KeyObject, box: Buffer, associated: string): Buffer {
  if (box.length < nonceLength + tagLength) throw new IntegrityError('A sealed text is cut short');
  const tagAt = box.length - tagLength;
  const decipher = createDecipheriv('aes-256-gcm', key, box.subarray(0, nonceLength), {
    authTagLength: tagLength,
  })
    .setAAD(Buffer.from(associated, 'utf8'))
    .setAuthTag(box.subarray(tagAt));
  try {
    return Buffer.concat([decipher.update(box.subarray(nonceLength, tagAt)), decipher.final()]);
  } catch (error) {
    throw new IntegrityError('A sealed text or its place was changed', { cause: error });
  }
}

/** KeyObjects, because Node prepares a key of bytes again for each use, which takes longer than the use. */
type DataKey = { key: KeyObject; subkey: () => KeyObject };

function dataKeyOf(bytes: Buffer): DataKey {
  const key = createSecretKey(bytes);
  let subkey: KeyObject | null = null;
  return {
    key,
    subkey: () =>
      (subkey ??= createSecretKey(Buffer.from(hkdfSync('sha256', key, '', macInfo, keyLength)))),
  };
}

/** What `Sealer.mac` computes, for one who has the subkey. */
export function macUnder(subkey: Buffer | KeyObject, text: string): string {
  return createHmac('sha256', subkey).update(text, 'utf8').digest('hex');
}

/**
 * What someone who has only the subkey can say of a text: whether it has the code in its sealed form or,
 * where there is no code (`v1`), whether it has at least the length.
 *
 * @throws IntegrityError when `sealed` is no sealed text
 */
export function checkText(
  subkey: Buffer,
  sealed: string,
  context: SealContext,
  text: string,
): { fits: boolean; by: 'code' | 'length' } {
  const { box, code } = parse(sealed);
  if (code === null)
    return {
      fits: box.length - nonceLength - tagLength === Buffer.byteLength(text),
      by: 'length',
    };
  const nonce = box.subarray(0, nonceLength);
  // UTF-8 has the same three bytes for every half of a character.
  const fits = text.isWellFormed() && codeOf(subkey, nonce, context, text) === code;
  return { fits, by: 'code' };
}

/** With the nonce, so that equal texts have different codes. */
function codeOf(
  subkey: Buffer | KeyObject,
  nonce: Buffer,
  context: SealContext,
  text: string,
): string {
  return createHmac('sha256', subkey)
    .update('text v1')
    .update(nonce)
    .update(`${placeOf(context)}:${text}`, 'utf8')
    .digest('base64url');
}

function associatedData(context: SealContext, code: string | null): string {
  const { stream, field } = context;
  return code === null ? `${stream.length}:${stream}:${field}` : `v2:${code}:${placeOf(context)}`;
}

/** With lengths, so that no other pair of names gives the same bytes. */
function placeOf({ stream, field }: SealContext): string {
  return `${stream.length}:${stream}:${field.length}:${field}`;
}

/** Key id, nonce, ciphertext and tag, code. */
const forms = [
  /^v2\.([\w-]{1,64})\.([\w-]{16})\.([\w-]+)\.([\w-]{43})$/,
  /^v1\.([\w-]{1,64})\.([\w-]{16})\.([\w-]+)$/,
];

function parse(sealed: string): { keyId: string; box: Buffer; code: string | null } {
  const match = forms.map((form) => form.exec(sealed)).find((found) => found !== null);
  if (match === undefined) throw new IntegrityError('This is not a sealed text');
  const [, keyId = '', nonce = '', rest = '', code = null] = match;
  return {
    keyId,
    box: Buffer.concat([Buffer.from(nonce, 'base64url'), Buffer.from(rest, 'base64url')]),
    code,
  };
}

// --- data keys under master keys ---

function unwrap(masters: readonly KeyObject[], keyId: string, wrapped: Buffer): Buffer {
  const master = masters.find((candidate) => isWrappedBy(candidate, keyId, wrapped));
  if (master === undefined)
    throw new IntegrityError(`No key in DATA_KEY opens the data key ${keyId}`);
  return decrypt(master, wrapped, keyId);
}

function isWrappedBy(master: KeyObject, keyId: string, wrapped: Buffer): boolean {
  try {
    decrypt(master, wrapped, keyId);
    return true;
  } catch (error) {
    if (error instanceof IntegrityError) return false;
    throw error;
  }
}

type KeyCache = {
  /** Null when the key does not exist. */
  get(keyId: string): Promise<DataKey | null>;
  forget(keyId: string): void;
};

/** Each caller unwraps its own: a broken key must not fail the others of its batch. */
type LoadedKeys = ReadonlyMap<string, () => DataKey>;

/**
 * The most recently used keys, for a few seconds each, because another process may erase a key.
 */
function createKeyCache(
  limits: { readonly [Name in keyof typeof sealLimits]: number },
  load: (keyIds: readonly string[]) => Promise<LoadedKeys>,
): KeyCache {
  const cached = new LRUCache<string, Promise<DataKey | null>>({
    max: limits.cachedKeys,
    ttl: limits.keyAgeMs,
  });
  // A list opens a text of each of its runs.
  const loadInOneTurn = inOneTurn(load);

  async function fetch(keyId: string): Promise<DataKey | null> {
    try {
      const key = (await loadInOneTurn(keyId))?.() ?? null;
      // A missing key is not remembered: it may be created the next moment.
      if (key === null) cached.delete(keyId);
      return key;
    } catch (error) {
      cached.delete(keyId);
      throw error;
    }
  }

  return {
    get(keyId) {
      const found = cached.get(keyId);
      if (found !== undefined) return found;
      const key = fetch(keyId);
      cached.set(keyId, key);
      return key;
    },
    forget: (keyId) => cached.delete(keyId),
  };
}
