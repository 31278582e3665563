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
  api_key: ['key_hash'],
  service_token: ['token_hash'],
  share_link: ['token_hash', 'sealed_token'],
  users: ['email', 'name', 'password_hash', 'avatar', 'signup_browser'],
  avatar: 'all',
  sessions: ['device', 'address'],
  // Its keys hold addresses.
  rate_limit: 'all',
  onboarding_bonus: ['address_hash'],
};

/** The auditor's rights on a table with these columns, as a grant has them. */
export function readable(table: string, columns: readonly string[]): string {
  const without = Object.hasOwn(withheld, table) ? withheld[table] : undefined;
  if (without === undefined) return 'select';
  if (without === 'all') return '';
  return `select (${columns.filter((column) => !without.includes(column)).join(', ')})`;
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
