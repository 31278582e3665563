import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import type { Ledger } from '#services/credits/ledger/ledger.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { policyVersion } from '#services/identity/contract/forms.ts';
import { hashPassword, verifyPassword } from '#services/identity/passwords/passwords.ts';
import { createUser, findUserByEmail } from './users.ts';

/**
 * The account of local mode, for trying a fresh clone at once: a confirmed address and 100 credits
 * of type other, and no plan. Its password is drawn once and kept in the data folder, readable by its
 * owner alone.
 */
export const demoEmail = 'demo@sevenfold.local';
const demoCredits = 100;

export async function prepareDemoAccount(options: {
  pool: pg.Pool;
  sealer: Sealer;
  ledger: Pick<Ledger, 'give'>;
  dataDir: string;
}): Promise<{ email: string; password: string }> {
  const { pool, sealer, ledger, dataDir } = options;
  const password = keptPassword(dataDir);
  const account = (await findUserByEmail(pool, demoEmail)) ?? (await createDemo(options, password));
  // Its mailbox does not exist, so its address counts as confirmed.
  const { rowCount: ready } = await pool.query(
    `update users set email_confirmed_at = coalesce(email_confirmed_at, now())
     where id = $1 and erasing_at is null`,
    [account.id],
  );
  // The account is being deleted; the next start makes a new one.
  if (ready === 0) return { email: demoEmail, password };
  await sealer.createDataKey('account', account.id, account.id);
  if (!(await verifyPassword(password, account.password_hash)))
    await pool.query('update users set password_hash = $2, updated_at = now() where id = $1', [
      account.id,
      await hashPassword(password),
    ]);
  await ledger.give({
    userId: account.id,
    credits: demoCredits,
    source: 'other',
    reason: 'demo',
    actor: 'system:start',
    commandId: uuidV5(account.id, 'demo-credits'),
  });
  return { email: demoEmail, password };
}

/** Several API processes may start at once; the second finds the account. */
async function createDemo({ pool }: { pool: pg.Pool }, password: string) {
  const passwordHash = await hashPassword(password);
  await createUser(pool, {
    email: demoEmail,
    name: 'Demo Account',
    passwordHash,
    termsVersion: policyVersion,
  }).catch(async (error: unknown) => {
    if (!(await findUserByEmail(pool, demoEmail))) throw error;
  });
  const account = await findUserByEmail(pool, demoEmail);
  if (!account) throw new Error('The demo account could not be made');
  return account;
}

function keptPassword(dataDir: string): string {
  const folder = join(dataDir, 'keys');
  const path = join(folder, 'demo-password');
  if (!existsSync(path)) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const drawn = `Demo-${randomBytes(6).toString('base64url')}-7`;
    try {
      writeFileSync(path, `${drawn}\n`, { mode: 0o600, flag: 'wx' });
    } catch (error) {
      // Another process drew one a moment ago, and that one counts.
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
  }
  return readFileSync(path, 'utf8').trim();
}
