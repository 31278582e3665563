import type pg from 'pg';

/**
 * What touched identity, keys or people's text, in a table that the application can only add to.
 * Entries name things by their ids and hold no text, no address of a mailbox and no secret, so they
 * may stay when a person is erased.
 */
export type AuditEntry = {
  /** A user id, `system:…` or `operator:…`; 'anonymous' for whoever has not signed in. */
  actor: string;
  /** Subject and past participle, such as `session.started` or `login.refused`. */
  action: string;
  /** What it was done to: an id, or 'unknown'. */
  subject: string;
  userId?: string;
  detail?: Readonly<Record<string, string | number | boolean | null>>;
};

export type Audit = (entry: AuditEntry, client?: Pick<pg.ClientBase, 'query'>) => Promise<void>;

/** With a client the entry is part of its transaction, otherwise it is committed by itself. */
export function createAudit(pool: pg.Pool): Audit {
  return async ({ actor, action, subject, userId, detail }, client) => {
    await (client ?? pool).query(
      `insert into audit_log (actor, action, subject, user_id, detail) values ($1, $2, $3, $4, $5)`,
      [actor, action, subject, userId ?? null, JSON.stringify(detail ?? {})],
    );
  };
}
