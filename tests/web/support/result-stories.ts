import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Ballot, CallOutcome, OptimizationEvent } from '#services/optimizations/run/events.ts';
import {
  allSeats,
  closed,
  draft,
  failedChecks,
  inClaims,
  inReviews,
  reviewBy,
  type Script,
  usualAnswer,
} from '#tests/optimizations/run/run-script.ts';
import { plainWords, type Story, storyOf, type Words } from './run-story.ts';

/** A finished run of every kind that a result can be, from the decider's own events. */

const close = { type: 'Close', captured: 14, refunded: 0, creditsVersion: 3 } as const;
const drafts = ['draft.1', 'draft.2', 'draft.3'];

type Vote = {
  optionId: string;
  flaw?: boolean;
  disagrees?: boolean;
  isFirm?: boolean;
  reversed?: boolean;
};

/** Every seat votes as listed, in the order of the panel. */
function voted(votes: readonly Vote[], from: Script = inReviews()): Script {
  return from.answered(
    allSeats.map((seat) => `review.${seat}`),
    (slot, state) => {
      const seat = slot.slice('review.'.length);
      const vote = votes[allSeats.indexOf(seat)];
      if (vote === undefined || !('order' in state)) return usualAnswer(state, slot);
      const review = reviewBy(state, seat, vote);
      if (review.kind !== 'review') return review;
      const { ballot } = review;
      return {
        kind: 'review',
        ballot: {
          ...ballot,
          ...(vote.flaw && seat !== 'S1' ? { fatalFlaws: { S1: 1 } } : {}),
          votes: {
            ...ballot.votes,
            ...(vote.disagrees && ballot.votes['c2']
              ? { c2: { stance: 'disagree' as const, confidence: 80 } }
              : {}),
            ...(vote.isFirm ? { c1: { stance: 'disagree' as const, confidence: 85 } } : {}),
          },
        } satisfies Ballot,
      };
    },
  );
}

const written = (script: Script): Script =>
  script.answered(['draft.1', 'verify.1.1', 'verify.1.2']).given(close);
const unwritten = (script: Script): Script =>
  script.answered(drafts, (): CallOutcome => draft(failedChecks)).given(close);

const o1 = { optionId: 'o1' };
const o2 = { optionId: 'o2', disagrees: true };
const open = { optionId: 'undecidable' };
const most: readonly Vote[] = [o1, o1, o1, o1, o2, o2, o1];
const split: readonly Vote[] = [o1, o2, o1, o2, o2, open, o1];
const backwards = { ...o2, reversed: true };
const camps: readonly Vote[] = [o1, o1, backwards, backwards, o1, backwards, backwards];
const openCamps = camps.map((vote) => (vote === backwards ? { ...backwards, ...open } : vote));
const unanimous: readonly Vote[] = [
  o1,
  { ...o1, flaw: true },
  o1,
  { ...o1, flaw: true },
  o1,
  o1,
  o1,
];
const unknown: readonly Vote[] = [open, open, open, open, o1, o2, open];
const third = { optionId: 'o3' };
const firm: readonly Vote[] = [o1, o1, o1, o1, { ...o1, isFirm: true }, o2, o1];
/** All want an option that no answer proposes. */
const elsewhere: readonly Vote[] = allSeats.map(() => third);
const withThird = inClaims().answered(['claims.1'], (_slot, state) => {
  const found = usualAnswer(state, 'claims.1');
  if (found.kind !== 'claims') throw new Error('No claims');
  return { ...found, options: [...found.options, { id: 'o3', seats: [] }] };
});
/** First alone, with less than half. */
const narrow: readonly Vote[] = [o1, o1, o1, o2, o2, third, third];

const words: Partial<Words> = {
  notes: (seat) => ({
    ...plainWords.notes(seat),
    flaws:
      seat === 'S2' || seat === 'R1'
        ? [{ seat: 'S1', text: `It breaks when the largest client leaves, as ${seat} reads it.` }]
        : [],
    reasons: { c2: 'Fixed offers lower the margin of a small agency.' },
    decisionReason: 'The fixed offer can be taken back within a month.',
  }),
};

function storyFrom(script: Script, more: Partial<Words> = {}): Story {
  return storyOf(script, { ...words, ...more });
}

const replied = {
  draft: {
    ...plainWords.draft,
    flaw_replies: [
      { flaw_id: 'f1', text: 'The offer is limited to new clients until the largest has renewed.' },
    ],
  },
};

/** Its last section says a consensus point again. */
const repeating = {
  draft: {
    ...plainWords.draft,
    sections: [
      ...plainWords.draft.sections,
      {
        heading: 'Also agreed',
        blocks: [{ text: 'The claim c1 holds.', claim_ids: ['c1'] }],
      },
    ],
  },
};

function released(): Story {
  const lines = readFileSync(
    join(import.meta.dirname, '../../golden/run-completed-1.jsonl'),
    'utf8',
  );
  const events = lines
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as OptimizationEvent);
  const steps = [{ text: 'Write the offer down.', claim_ids: ['c1'] }];
  // A draft of v0.1 has sentences for steps, and no replies.
  const { flaw_replies: _, ...old } = { ...plainWords.draft, next_steps: steps };
  return storyOf({ ...closed(), events }, { draft: old as unknown as Words['draft'] });
}

export const resultStories = {
  recommended: storyFrom(written(voted(most))),
  narrow: storyFrom(written(voted(narrow, withThird))),
  flawed: storyFrom(written(voted(unanimous)), replied),
  'flawed, unanswered': storyFrom(unwritten(voted(unanimous))),
  split: storyFrom(written(voted(split))),
  'split, flawed': storyFrom(
    written(voted(split.map((vote) => ({ ...vote, flaw: vote === o2 })))),
    replied,
  ),
  'split, unwritten': storyFrom(unwritten(voted(split))),
  'two camps': storyFrom(written(voted(camps))),
  'two camps, open': storyFrom(written(voted(openCamps))),
  undecidable: storyFrom(written(voted(unknown)), repeating),
  'undecidable, unwritten': storyFrom(unwritten(voted(unknown))),
  'best single answer': storyFrom(unwritten(voted(most))),
  firm: storyFrom(written(voted(firm))),
  'proposed by no answer': storyFrom(unwritten(voted(elsewhere, withThird))),
  'no ledger': storyFrom(
    voted(
      allSeats.map(() => o1),
      inClaims().died(['claims.1', 'claims.2']),
    ).given(close),
  ),
  rejected: storyFrom(
    written(voted(allSeats.map((_, index) => ({ ...o1, disagrees: index > 0 })))),
  ),
  released: released(),
} satisfies Record<string, Story>;
