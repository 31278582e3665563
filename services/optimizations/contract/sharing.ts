import * as v from 'valibot';
import { Time } from '#services/platform/contract.ts';
import type { EndpointList, Wire } from '#services/platform/contract.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { Refinement } from './refinement.ts';
import { NextStep, RunResult } from './result.ts';
import { Degraded, Optimization, SeatProgress } from './run.ts';

export const shareLimits = {
  /** Live links of one run. */
  live: 10,
  /** Days until a link expires, and what the dialog begins with. */
  daysLeast: 1,
  daysMost: 365,
  daysUsual: 30,
} as const;

const days = `A whole number of days from ${shareLimits.daysLeast} to ${shareLimits.daysMost}`;

/** `POST /optimizations/{id}/shares`. */
export const ShareRequest = v.strictObject({
  expires_in_days: v.optional(
    v.pipe(
      v.number(days),
      v.integer(days),
      v.minValue(shareLimits.daysLeast, days),
      v.maxValue(shareLimits.daysMost, days),
      v.description('Days until the link expires'),
    ),
    shareLimits.daysUsual,
  ),
  shows_context: v.optional(
    v.pipe(
      v.boolean('Say whether readers see the context'),
      v.description(
        'Whether readers see the context, objectives and constraints, and in refinements the instructions and facts',
      ),
    ),
    false,
  ),
});
export type ShareRequest = v.InferOutput<typeof ShareRequest>;

const ShareId = v.pipe(v.string(), v.description("The link's id: `shr_` and 26 characters"));

/** A live link, for the owner of its run. */
export const Share = v.object({
  id: ShareId,
  url: v.pipe(v.string(), v.description('The address of the page. Anyone who has it can read')),
  shows_context: v.boolean(),
  created_at: Time,
  expires_at: Time,
});
export type Share = v.InferOutput<typeof Share>;

export const RevokedReply = v.object({ id: ShareId, revoked: v.literal(true) });

/** Left out of a shared run: what is its owner's alone, and what names the run in the owner's account. */
const ownersAlone = [
  'credits',
  'cost',
  'cost_is_minimum',
  'files',
  'refinements',
  'newer',
  'refinable',
  'ended_because',
  'outcomes',
  'outcome_question',
  'root_id',
] as const;

/** A run as readers of a share link get it. */
export const SharedRun = v.object({
  ...v.omit(Optimization, ownersAlone).entries,
  id: v.pipe(v.string(), v.description("The link's id; the run's own is not given")),
  context: v.pipe(v.string(), v.description('Empty if the link does not show it')),
  models: v.array(v.omit(SeatProgress, ['costCents'])),
  refines: v.pipe(
    v.nullable(v.omit(Refinement, ['root_id', 'previous_id'])),
    v.description(
      'Null unless the run is a refinement. Instructions and facts are empty if the link does not show the context',
    ),
  ),
  result: v.nullable(
    v.object({ ...RunResult.entries, next_steps: v.array(v.omit(NextStep, ['done'])) }),
  ),
  degraded: v.nullable(v.omit(Degraded, ['refunded'])),
  council: v.pipe(
    v.custom<RunView>((value) => typeof value === 'object' && value !== null),
    v.metadata({
      wire: {
        type: 'object',
        description:
          "The run's parts by key, as in a run, but without amounts: they are 0 or null.",
      },
    } satisfies Wire),
  ),
});
export type SharedRun = v.InferOutput<typeof SharedRun>;

/** `GET /shared/{token}`. */
export const SharedReply = v.object({
  shows_context: v.pipe(v.boolean(), v.description('Whether the link shows the context')),
  created_at: v.pipe(Time, v.description('When the link was made, ISO 8601 in UTC')),
  expires_at: v.pipe(Time, v.description('When the link expires, ISO 8601 in UTC')),
  newer_shared: v.pipe(
    v.boolean(),
    v.description(
      'Whether a newer refinement of this result is shared, too; its address is not given',
    ),
  ),
  run: SharedRun,
});
export type SharedReply = v.InferOutput<typeof SharedReply>;

/** Links under which anyone can read a result. */
export const sharingEndpoints = {
  'GET /optimizations/{id}/shares': {
    summary: 'List the live share links of a run',
    description: 'Newest first, with their addresses. Revoked and expired links are left out.',
    access: 'person',
    status: 200,
    reply: v.array(Share),
  },
  'POST /optimizations/{id}/shares': {
    summary: 'Share the result of a run',
    description: `Makes a link under which anyone can read the result until it expires, is revoked, or the run is deleted. Readers see the question, the answers, the votes and the recommendation. Files, credits, costs and the owner are never shown; models' answers and reasons may repeat what the context and the files say. A run without a result is refused with 409 \`no-result\`, and a run with ${shareLimits.live} live links with 409 \`too-many-shares\`. A refinement is shared on its own.`,
    access: 'person',
    body: ShareRequest,
    status: 201,
    reply: Share,
    refuses: [409],
    idempotencyKey: 'optional',
  },
  'DELETE /optimizations/{id}/shares/{shareId}': {
    summary: 'Revoke a share link',
    description: 'It stops working at once, and for good. A repeat changes nothing.',
    access: 'person',
    status: 200,
    reply: RevokedReply,
  },
  'GET /shared/{token}': {
    summary: 'Read a shared result',
    description:
      'The result of a run for anyone who has a share link; the token is the last part of its address. The response is 404 for an unknown, revoked or expired link alike, and while its run is deleted.',
    access: 'everyone',
    status: 200,
    reply: SharedReply,
  },
} as const satisfies EndpointList;
