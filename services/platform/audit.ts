import type pg from 'pg';

/**
 * Actions on identity, keys or users' text, in a table that the application can only insert into. Entries
 * hold ids, no text, no email address and no secret, so they may stay when a user is erased.
 */
export type AuditEntry = {
  /** A user id, `system:…` or `operator:…`; 'anonymous' without a sign-in. */
  actor: string;
  /** Subject and past participle, such as `session.started` or `login.refused`. */
  action: string;
  /** An id, or 'unknown'. */
  subject: string;
  userId?: string;
  detail?: Readonly<Record<string, string | number | boolean | null>>;
};

export type Audit = (entry: AuditEntry, client?: Pick<pg.ClientBase, 'query'>) => Promise<void>;

/** With a client the entry is part of its transaction, otherwise it is committed at once. */
export function createAudit(pool: pg.Pool): Audit {
  return async ({ actor, action, subject, userId, detail }, client) => {
    await (client ?? pool).query(
      `insert into audit_log (actor, action, subject, user_id, detail) values ($1, $2, $3, $4, $5)`,
      [actor, action, subject, userId ?? null, JSON.stringify(detail ?? {})],
    );
  };
}
