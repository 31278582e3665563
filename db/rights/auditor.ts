import pg from 'pg';
import { connectTimeoutMs } from '#db/connect.ts';

/**
 * What an auditor does not read: secrets, and what says who a person is. Everything else of the schema is
 * readable, new tables included; a test lists every table, so that each is decided.
 */
const withheld: Readonly<Record<string, 'all' | readonly string[]>> = {
  data_key: 'all',
  // Hashes of tokens and links. A stored reply may hold a key that was shown once.
  auth_link: 'all',
  refresh_token: 'all',
  asked_run: 'all',
  idempotency_key: 'all',
  // Its name is in its owner's words.
  api_key: ['key_hash', 'name'],
  service_token: ['token_hash'],
  share_link: ['token_hash', 'sealed_token'],
  // These addresses let anyone pay, or read a receipt with its name.
  purchase: ['checkout_url', 'receipt_url'],
  users: ['email', 'name', 'password_hash', 'avatar', 'signup_browser'],
  avatar: 'all',
  sessions: ['device', 'address'],
  // Its keys hold addresses.
  rate_limit: 'all',
  onboarding_bonus: ['address_hash'],
};

/** Whether an auditor must not read a column. */
export function isWithheld(table: string, column: string): boolean {
  const without = Object.hasOwn(withheld, table) ? withheld[table] : undefined;
  return without === 'all' || without?.includes(column) === true;
}

/** The auditor's rights on a table with these columns, as a grant has them. */
export function readable(table: string, columns: readonly string[]): string {
  const shown = columns.filter((column) => !isWithheld(table, column));
  if (shown.length === columns.length) return 'select';
  return shown.length === 0 ? '' : `select (${shown.join(', ')})`;
}

/** Whether the role of an address may read our events and write none of what it does. */
export async function isAuditor(url: string): Promise<boolean> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'sevenfold check',
    connectionTimeoutMillis: connectTimeoutMs,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<{ auditor: boolean | null }>(
      `select has_table_privilege(to_regclass('emt_messages'), 'select')
         and not has_table_privilege(to_regclass('audit_log'), 'insert') as auditor`,
    );
    return rows[0]?.auditor === true;
  } finally {
    await client.end();
  }
}
