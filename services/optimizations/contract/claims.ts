import * as v from 'valibot';
import { Format } from '#services/platform/contract.ts';
import { ClaimId, SeatId, Simulated } from './summary.ts';

/** `GET /optimizations/{id}/claims`. */
export const ClaimsQuery = v.strictObject({ format: Format('csv') });

const stances = ['agree', 'disagree', 'unsure'] as const;
const claimOutcomes = [
  'agreed',
  'majority',
  'disputed',
  'rejected',
  'uncertain',
  'unscored',
] as const;
const Words = v.object({ seat: SeatId, text: v.string() });

/** A claim of a run, and how each seat voted on it. */
export const ClaimRow = v.object({
  id: ClaimId,
  text: v.string(),
  importance: v.pipe(v.picklist([1, 2, 3]), v.description('3 is decisive')),
  outcome: v.pipe(
    v.picklist(claimOutcomes),
    v.description(
      '`agreed`: a consensus point; `majority`: most weight agrees, but too few models or makers for a consensus; `disputed`: a divergence; `rejected`: more weight is against it than for it; `uncertain`: half or more are unsure; `unscored`: not counted',
    ),
  ),
  agree_percent: v.pipe(
    v.nullable(v.number()),
    v.description('0–100, whole: the share of weight that agrees, among all that took a side'),
  ),
  authors: v.pipe(v.array(SeatId), v.description('Seats whose answer makes this claim')),
  votes: v.array(
    v.object({
      seat: SeatId,
      name: v.pipe(v.string(), v.description('The display name of the model')),
      simulated: Simulated,
      stance: v.pipe(v.nullable(v.picklist(stances)), v.description('Null without a vote')),
      reason: v.pipe(v.nullable(v.string()), v.description('What the model wrote with its vote')),
    }),
  ),
  quotes: v.pipe(v.array(Words), v.description('Quotes from the answers that make this claim')),
  changed_fact: v.pipe(
    v.nullable(v.string()),
    v.description('In a refinement: the fact that the user changed'),
  ),
});
export type ClaimRow = v.InferOutput<typeof ClaimRow>;
