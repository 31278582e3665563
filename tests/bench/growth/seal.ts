import type pg from 'pg';
import { createSealer } from '#services/platform/seal.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { row } from './rows.ts';
import type { Rows } from './rows.ts';

export type Seal = Pick<Sealer, 'seal' | 'createDataKey'>;

/**
 * The product's sealer over a table of keys in memory: a key becomes a row to copy, in place of a commit
 * of its own.
 */
export function sealIntoRows(dataKeys: readonly Buffer[], current: () => Rows): Seal {
  const wrapped = new Map<string, Buffer>();
  const query = (_: string, values: readonly unknown[]): Promise<{ rows: unknown[] }> => {
    if (values.length === 1) {
      const keyIds = values[0] as readonly string[];
      const rows = keyIds.map((keyId) => ({ key_id: keyId, wrapped: wrapped.get(keyId) }));
      // A run's key is read once and then remembered by the sealer.
      wrapped.clear();
      return Promise.resolve({ rows });
    }
    const [keyId, kind, userId, key] = values as [string, string, string, Buffer];
    if (kind === 'run') wrapped.set(keyId, key);
    current().keys.push(row([keyId, kind, userId, `\\x${key.toString('hex')}`]));
    return Promise.resolve({ rows: [] });
  };
  return createSealer({ dataKeys, pool: { query } as unknown as pg.Pool });
}
