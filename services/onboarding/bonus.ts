import { mailboxOf } from '#services/platform/mail/mailbox-of.ts';
import { createHmac, hkdfSync } from 'node:crypto';
import type pg from 'pg';
import type { Ledger } from '#services/credits/ledger/ledger.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import type { Bonus } from './contract.ts';

/**
 * The onboarding bonus: once per person, and once per email address, also after the account was erased.
 * Addresses are kept as HMACs. A claim is committed before the credits are granted, so that two requests
 * at once, and a repeat after a crash, grant the same credits.
 */
export type BonusDependencies = {
  pool: pg.Pool;
  ledger: Pick<Ledger, 'give'>;
  clock: () => number;
  /** 0 switches the bonus off. */
  bonusCredits: number;
  /** Hashes of an address, the first under the current key. */
  addressHashes: (email: string) => readonly Buffer[];
  /** USD of the one-time package with so many credits; null for none. */
  priceOf: (credits: number) => number | null;
};

export type Person = { email: string; isConfirmed: boolean };

type Claim = { user_id: string; credits: number; granted_at: Date | null };

export async function readBonus(
  dependencies: BonusDependencies,
  userId: string,
  person: Person,
): Promise<Bonus> {
  const { bonusCredits, priceOf } = dependencies;
  const claims = await claimsOf(dependencies, userId, person);
  const own = claims.find((claim) => claim.user_id === userId);
  const described = (credits: number, state: Bonus['state']): Bonus => ({
    credits,
    worth_usd: priceOf(credits),
    state,
  });
  if (own !== undefined)
    return described(own.credits, own.granted_at === null ? 'available' : 'granted');
  if (bonusCredits === 0) return { credits: 0, worth_usd: null, state: 'off' };
  // Before the address is proven, nobody learns what became of its bonus.
  if (!person.isConfirmed) return described(bonusCredits, 'needs-confirmed-email');
  return described(bonusCredits, claims.length > 0 ? 'already-given' : 'available');
}

/** Grants it unless there is a reason not to, which `readBonus` says. */
export async function grantBonus(
  dependencies: BonusDependencies,
  userId: string,
  person: Person,
): Promise<void> {
  const { pool, ledger, clock, bonusCredits, addressHashes } = dependencies;
  const { state } = await readBonus(dependencies, userId, person);
  if (state !== 'available') return;
  // Of two accounts with one address, the primary and the unique key let one claim stand.
  await pool.query(
    `insert into onboarding_bonus (user_id, address_hash, credits, claimed_at)
     select $1, $2, $3, $4 where $3 > 0 on conflict do nothing`,
    [userId, addressHashes(person.email)[0], bonusCredits, new Date(clock())],
  );
  const claim = (await claimsOf(dependencies, userId, person)).find(
    (one) => one.user_id === userId,
  );
  if (claim === undefined) return;
  await ledger.give({
    userId,
    credits: claim.credits,
    source: 'bonus',
    reason: 'onboarding',
    actor: userId,
    commandId: uuidV5(userId, 'onboarding-bonus'),
  });
  await pool.query(
    'update onboarding_bonus set granted_at = $2 where user_id = $1 and granted_at is null',
    [userId, new Date(clock())],
  );
}

async function claimsOf(
  { pool, addressHashes }: BonusDependencies,
  userId: string,
  { email }: Person,
): Promise<Claim[]> {
  const { rows } = await pool.query<Claim>(
    `select user_id, credits, granted_at from onboarding_bonus
     where user_id = $1 or address_hash = any ($2)`,
    [userId, addressHashes(email)],
  );
  return rows;
}

/**
 * HMACs of a mailbox under each data key, so that a key can be rotated. Spellings of one mailbox count
 * as one: what follows a plus, and the dots of a Gmail address.
 *
 * @param keys 32 bytes each, the current one first
 */
export function createAddressHashes(keys: readonly Buffer[]): (email: string) => Buffer[] {
  const own = keys.map((key) => Buffer.from(hkdfSync('sha256', key, '', 'onboarding-bonus', 32)));
  return (email) =>
    own.map((key) => createHmac('sha256', key).update(mailboxOf(email), 'utf8').digest());
}
