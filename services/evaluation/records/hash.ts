import { createHash } from 'node:crypto';

/** 24 hex digits: enough to name what was asked, and short enough to read. */
export function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 24);
}
