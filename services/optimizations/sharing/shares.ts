import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { inTransaction } from '#db/transaction.ts';
import { shareLimits } from '#services/optimizations/contract/sharing.ts';
import type { Share, ShareRequest } from '#services/optimizations/contract/sharing.ts';
import { keyOf } from '#services/optimizations/run/key.ts';
import type { Known } from '#services/optimizations/run/state.ts';
import type { Audit } from '#services/platform/audit.ts';
import { idPattern } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import { ErasedKeyError } from '#services/platform/seal.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { noSuchShare } from './read.ts';
import { insertShare, liveShares, revokeShare } from './rows.ts';
import type { ShareRow } from './rows.ts';

/** What the owner of a run does with its links. */
export type OwnerDependencies = {
  pool: pg.Pool;
  sealer: Sealer;
  audit: Audit;
  clock: () => number;
  publicUrl: string;
};

type Making = { id: string; userId: string; runId: string; state: Known };

/** @throws Problem 409 for a run without a result, or with as many live links as it may have */
export async function addShare(
  { pool, sealer, audit, clock }: OwnerDependencies,
  { id, userId, runId, state }: Making,
  { expires_in_days: days, shows_context: showsContext }: ShareRequest,
): Promise<void> {
  if (state.stage !== 'closed' || state.outcome !== 'completed')
    throw new Problem('no-result', 'This run has no result to share.');
  const token = randomBytes(32).toString('base64url');
  const now = clock();
  const share = {
    id,
    token,
    user_id: userId,
    run_id: runId,
    sealed_token: await sealed(sealer, keyOf(runId, state), id, token),
    shows_context: showsContext,
    created_at: new Date(now),
    expires_at: new Date(now + days * 86_400_000),
  };
  const detail = { run_id: runId, shows_context: showsContext, expires_in_days: days };
  const outcome = await inTransaction(pool, async (client) => {
    const added = await insertShare(client, share);
    if (added === 'added')
      await audit({ actor: userId, action: 'share.created', subject: id, userId, detail }, client);
    return added;
  });
  if (outcome === 'gone') throw noSuchShare();
  if (outcome === 'full')
    throw new Problem(
      'too-many-shares',
      `This result already has ${shareLimits.live} live links. Revoke one first.`,
    );
}

async function sealed(sealer: Sealer, keyId: string, id: string, token: string): Promise<string> {
  try {
    return await sealer.seal(keyId, placeOf(id), token);
  } catch (error) {
    if (error instanceof ErasedKeyError) throw noSuchShare();
    throw error;
  }
}

/** Where a token is sealed. */
const placeOf = (id: string) => ({ stream: id, field: 'token' });

/** The live links of a run. */
export async function sharesOf(dependencies: OwnerDependencies, runId: string): Promise<Share[]> {
  const rows = await liveShares(dependencies.pool, runId, dependencies.clock());
  const shares = await Promise.all(rows.map(async (row) => describeShare(dependencies, row)));
  return shares.flatMap((share) => share ?? []);
}

/** @throws Problem 404 where it was revoked or has expired since */
export async function madeShare(
  dependencies: OwnerDependencies,
  runId: string,
  id: string,
): Promise<Share> {
  const share = (await sharesOf(dependencies, runId)).find((one) => one.id === id);
  if (share === undefined) throw noSuchShare();
  return share;
}

/** Null once the key of the run is erased, and the token with it. */
async function describeShare(
  { sealer, publicUrl }: OwnerDependencies,
  row: ShareRow,
): Promise<Share | null> {
  const opened = await sealer.open(row.sealed_token, placeOf(row.id));
  if ('erased' in opened) return null;
  return {
    id: row.id,
    url: `${publicUrl}/shared/${opened.text}`,
    shows_context: row.shows_context,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
  };
}

/** A repeat changes nothing. @throws Problem 404 where the run has no such link */
export async function endShare(
  { pool, audit, clock }: OwnerDependencies,
  { id, runId, userId }: { id: string; runId: string; userId: string },
): Promise<void> {
  if (!idPattern('shr').test(id)) throw noSuchShare();
  const outcome = await inTransaction(pool, async (client) => {
    const revoked = await revokeShare(client, { id, runId, now: clock() });
    const entry = { actor: userId, action: 'share.revoked', subject: id, userId };
    if (revoked === 'revoked') await audit({ ...entry, detail: { run_id: runId } }, client);
    return revoked;
  });
  if (outcome === 'unknown') throw noSuchShare();
}
