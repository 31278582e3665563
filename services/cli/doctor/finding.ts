import type pg from 'pg';
import type { DatabaseUrls } from '#services/migrate.ts';
import type { Env } from '#services/platform/process/env.ts';

/** What a check found, and what to do about it. */
export type Finding = {
  state: 'ok' | 'warning' | 'wrong';
  what: string;
  remedy: string | null;
};

/** Checks of the database are left out while it is unreachable. */
export type Check =
  | { name: string; run: (given: { env: Env }) => Promise<Finding[]> }
  | { name: string; runOnDatabase: (given: OnDatabase) => Promise<Finding[]> };

export type OnDatabase = { env: Env; database: CheckedDatabase };

/** Opened without changing anything: neither migrated nor rebuilt. */
export type CheckedDatabase = {
  urls: DatabaseUrls;
  /** The application's. */
  pool: pg.Pool;
  ownerPool: pg.Pool;
};

export function ok(what: string): Finding {
  return { state: 'ok', what, remedy: null };
}

export function warning(what: string, remedy: string): Finding {
  return { state: 'warning', what, remedy };
}

export function wrong(what: string, remedy: string): Finding {
  return { state: 'wrong', what, remedy };
}

/** The findings, or that there is nothing to find. */
export function elseOk(findings: readonly Finding[], what: string): Finding[] {
  return findings.length > 0 ? [...findings] : [ok(what)];
}
