import type { optimizationEndpoints } from '#services/optimizations/contract/endpoints.ts';
import type { Known } from '#services/optimizations/run/state.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import type { Handlers } from '#services/platform/http/serve.ts';
import { newId } from '#services/platform/ids.ts';
import { noSuchShare, readShared } from './read.ts';
import type { ReaderDependencies } from './read.ts';
import { addShare, endShare, madeShare, sharesOf } from './shares.ts';
import type { OwnerDependencies } from './shares.ts';

export type SharingDependencies = OwnerDependencies &
  ReaderDependencies & {
    rateLimits: RateLimits;
    /** @throws Problem 404, the same for a run that does not exist and for another person's */
    ownRun: (userId: string, runId: string) => Promise<Known>;
  };

/** Links under which anyone can read the result of a run. */
export function sharingHandlers(dependencies: SharingDependencies) {
  const { rateLimits, clock, ownRun } = dependencies;
  const takeTurn = async (userId: string) => rateLimits.take('run-changes', userId, { userId });
  return {
    'GET /optimizations/{id}/shares': async ({ userId, path }) => {
      await ownRun(userId, path.id);
      return sharesOf(dependencies, path.id);
    },
    'POST /optimizations/{id}/shares': async ({ userId, path, body }) => {
      const state = await ownRun(userId, path.id);
      return {
        newResourceId: () => newId('shr', clock()),
        // The address is a secret: no answer is kept.
        remake: async (id) => madeShare(dependencies, path.id, id),
        work: async ({ resourceId: id }) => {
          await takeTurn(userId);
          await addShare(dependencies, { id, userId, runId: path.id, state }, body);
          return madeShare(dependencies, path.id, id);
        },
      };
    },
    'DELETE /optimizations/{id}/shares/{shareId}': async ({ userId, path }) => {
      await ownRun(userId, path.id);
      await takeTurn(userId);
      const { id: runId, shareId: id } = path;
      await endShare(dependencies, { id, runId, userId });
      return { id, revoked: true };
    },
    'GET /shared/{token}': async ({ context, path }) => {
      context.header('X-Robots-Tag', 'noindex');
      await rateLimits.takeFrom('shared', context.get('address'));
      const shared = await readShared(dependencies, path.token);
      if (shared === null) throw noSuchShare();
      return shared;
    },
  } satisfies Partial<Handlers<typeof optimizationEndpoints>>;
}
