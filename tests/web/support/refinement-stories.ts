import { describeRun, summarize } from '#services/optimizations/reading/describe.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { refinementId } from '#services/optimizations/refinement/begin.ts';
import { refinementOf } from '#tests/optimizations/refinement/refinement-script.ts';
import {
  allSeats,
  closed,
  draft,
  failedChecks,
  noon,
  reviewsOf,
  runId,
  start,
} from '#tests/optimizations/run/run-script.ts';
import { plainWords, type Story, storyOf } from './run-story.ts';

/** A run and its first refinement, with what only the server knows of their chain. */

export const rootStory = storyOf(closed());

export const given = 'Half of my customers have asked for a monthly plan.';
export const changed = 'The fixed offer comes first; before, it was the second step.';
export const refinedId = refinementId(runId, 1);

const refinement = refinementOf(closed(), { about: 'fact', claimId: 'c1' });
const voting = refinement.given(start());
const written = voting
  .answered(reviewsOf(allSeats))
  .answered(['draft.1', 'verify.1.1', 'verify.1.2']);
const settled = written.given({ type: 'Close', captured: 0, refunded: 0, creditsVersion: 0 });

export const refinedStory = storyOf(
  settled,
  { instruction: given, draft: { ...plainWords.draft, changed } },
  { id: refinedId, base: rootStory },
);
/** One in which most models vote for the other option, two doubt the claim, and one does not vote. */
export const movedStory = storyOf(
  refinement
    .given(start())
    .answered(reviewsOf(allSeats.slice(0, -1)), (slot) => ({
      kind: 'second_vote',
      votes: { c1: { stance: /S2|S3|R1/.test(slot) ? 'disagree' : 'agree', confidence: 90 } },
      optionId: /R2|I1/.test(slot) ? 'o1' : 'o2',
    }))
    .died(['review.I2'])
    .answered(['draft.1', 'verify.1.1', 'verify.1.2'])
    .given({ type: 'Close', captured: 0, refunded: 0, creditsVersion: 0 }),
  { instruction: given, draft: { ...plainWords.draft, changed } },
  { id: refinedId, base: rootStory },
);
/** The second one, whose drafts all failed their checks. */
export const refinedWithoutDraft = storyOf(
  refinementOf(closed(), { number: 2 })
    .given(start())
    .answered(reviewsOf(allSeats))
    .answered(['draft.1', 'draft.2', 'draft.3'], () => draft(failedChecks))
    .given({ type: 'Close', captured: 0, refunded: 0, creditsVersion: 0 }),
  {},
  { id: refinementId(runId, 2), base: rootStory },
);
/** Events until its models vote, and until its draft is written. */
export const untilVoting = voting.events.length;
export const untilVoted = voting.answered(reviewsOf(allSeats)).events.length;

export type Refinable = NonNullable<RunView['refinable']>;

export const included: Refinable = { allowed: true, reason: null, price: 0, running_id: null };

/** The story with its chain in each copy of the ended run, as the API has it. */
export function inChain(
  story: Story,
  chain: { refinable?: Refinable; refinements?: readonly RunView[] },
): Story {
  const view = (events?: number): RunView => {
    const plain = story.view(events);
    const refinements = (chain.refinements ?? []).map(summarize);
    return {
      ...plain,
      refinements,
      refinable: plain.stage === 'closed' ? (chain.refinable ?? included) : null,
    };
  };
  return {
    ...story,
    view,
    copy: (events) => describeRun(view(events), Date.parse(noon) + 5_000),
  };
}
