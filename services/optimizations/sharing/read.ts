import type pg from 'pg';
import * as v from 'valibot';
import { readChain } from '#projections/optimization-list.ts';
import { SharedRun } from '#services/optimizations/contract/sharing.ts';
import type { SharedReply } from '#services/optimizations/contract/sharing.ts';
import { describeRun, statusOf } from '#services/optimizations/reading/describe.ts';
import type { ReadRun } from '#services/optimizations/reading/read-run.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { notFound } from '#services/platform/http/http.ts';
import { findShare, isAnyShared } from './rows.ts';
import { sharedView } from './shared-view.ts';

export type ReaderDependencies = { pool: pg.Pool; readRun: ReadRun; clock: () => number };

/** The same for every link that does not work. */
export const noSuchShare = () => notFound('There is no such link.');

/** Null where the link does not work, for whatever reason. */
export async function readShared(
  { pool, readRun, clock }: ReaderDependencies,
  token: string,
): Promise<SharedReply | null> {
  const now = clock();
  const share = await findShare(pool, token, now);
  const run = share && (await readRun(share.run_id));
  if (share === null || run === null || !isReadable(run.view)) return null;
  const { view, newer } = await inChain(pool, run.view);
  const reader = { shareId: share.id, showsContext: share.shows_context };
  return {
    shows_context: share.shows_context,
    created_at: share.created_at.toISOString(),
    expires_at: share.expires_at.toISOString(),
    newer_shared: await isAnyShared(pool, newer, now),
    // Takes only the fields that the contract names.
    run: v.parse(SharedRun, describeRun(sharedView(view, reader), now)),
  };
}

/** A run that was deleted or erased has nothing to show; one that was restored has again. */
function isReadable(view: RunView): boolean {
  return !view.hidden && view.challenge !== null && statusOf(view) === 'completed';
}

/** The view with its number as people see it, and the completed refinements after it. */
async function inChain(pool: pg.Pool, view: RunView): Promise<{ view: RunView; newer: string[] }> {
  const chain = await readChain(pool, view.refines?.root ?? view.id);
  const refinements = chain?.refinements ?? [];
  const place = refinements.findIndex(({ run_id: id }) => id === view.id);
  const later = refinements.slice(place + 1).filter(({ status }) => status === 'completed');
  const isNumbered = view.refines !== null && place >= 0;
  return {
    view: isNumbered ? { ...view, refines: { ...view.refines!, number: place + 1 } } : view,
    newer: later.map(({ run_id: id }) => id),
  };
}
