import { prepareCall, questionOf } from '#services/optimizations/prompts/calls.ts';
import { checkDraft } from '#services/optimizations/prompts/draft.ts';
import type { DraftSources, WrittenDraft } from '#services/optimizations/prompts/draft.ts';
import { seedOf } from '#services/optimizations/prompts/prepared-call.ts';
import type { PreparedCall } from '#services/optimizations/prompts/prepared-call.ts';
import { draftPrompt, expectedReplyCharacters } from '#services/optimizations/prompts/prompts.ts';
import { malformed, parseReply } from '#services/optimizations/prompts/reply-schemas.ts';
import { checkedDraft } from '#services/optimizations/prompts/synthesis-calls.ts';
import { claimText, optionText } from '#services/optimizations/reading/texts.ts';
import type { OpenRun } from '#services/optimizations/reading/read-run.ts';
import type { OptimizationEvent, Scores } from '#services/optimizations/run/events.ts';
import { draftSlot, parseSlot } from '#services/optimizations/run/slots.ts';
import { countReviews, later } from '#services/optimizations/run/stages.ts';
import type { RunState } from '#services/optimizations/run/state.ts';
import { dataDelimiter, labelsFor, seededOrder } from '#services/platform/seeded.ts';

/**
 * A council whose answers nobody reviews: the writer sees all of them with the merged claims and
 * options, and chooses. Everything else, the checks of the draft included, is the product's.
 */

/** The events that take the place of the reviews: nobody has voted, and nothing is agreed on. */
export function unreviewed(now: () => number): (state: RunState) => OptimizationEvent[] {
  return (state) => {
    if (state.stage !== 'reviews') return [];
    const { verdict: _verdict, flaws: _flaws, ...scores } = countReviews(state).scores;
    const { schedule } = state;
    const rest = scores.order.filter((seat) => seat !== schedule.strongest);
    const order = scores.order.includes(schedule.strongest) ? [schedule.strongest, ...rest] : rest;
    const at = new Date(now()).toISOString();
    return [
      {
        type: 'ReviewsClosed',
        data: { reason: 'all', reviewers: [], missing: [], excluded: null },
      },
      {
        type: 'ScoresComputed',
        data: {
          ...(scores satisfies Scores),
          // Where no draft passes its checks, the answer of the strongest seat is published.
          order,
          inputs: [],
          synthesisHardAt: later(at, schedule.deadlinesMs.synthesis),
        },
      },
    ];
  };
}

export const prepareUnreviewed: typeof prepareCall = (run, slot, attempt) => {
  const parts = parseSlot(slot);
  return parts.kind === 'draft'
    ? unreviewedDraft(run, parts.round, dataDelimiter(seedOf(run), slot, attempt))
    : prepareCall(run, slot, attempt);
};

function unreviewedDraft(run: OpenRun, round: number, delimiter: string): PreparedCall {
  const asked = questionOf(run);
  const { view } = run;
  const lastDraft = view.calls[draftSlot(round - 1)]?.draft ?? null;
  const optionIds = Object.keys(view.ledger?.options ?? {});
  const sourcesOf = (draft: WrittenDraft): DraftSources => ({
    ...sourcesIn(run),
    // The writer chooses, so what it names is what it was to name.
    optionId: draft.option_id,
  });
  const request = draftPrompt(
    asked,
    {
      decision: null,
      flaws: [],
      critiques: [],
      reasons: [],
      claims: Object.entries(view.ledger?.claims ?? {}).map(([id, { importance }]) => ({
        id,
        text: claimText(view, id),
        importance,
        agree: 0,
        disagree: 0,
        unsure: 0,
      })),
      options: optionIds.map((id) => ({ id, text: optionText(view, id), votes: 0 })),
      topAnswers: answersOf(run, round),
      consensusIds: [],
      disagreements: [],
      minority: null,
      complaints: lastDraft === null ? [] : checkDraft(lastDraft, sourcesOf(lastDraft)).complaints,
      lastDraft,
    },
    { delimiter },
  );
  return {
    request,
    expectedCharacters: expectedReplyCharacters.draft,
    check: (reply) => {
      const parsed = parseReply('draft', reply);
      if (!parsed.ok) return parsed;
      const { value: draft, repaired } = parsed;
      if (!optionIds.includes(draft.option_id)) return malformed('option_id: not an option');
      return { ok: true, value: checkedDraft(run, draft, repaired, sourcesOf(draft)) };
    },
  };
}

/** All of them, in an order that says nothing. */
function answersOf(run: OpenRun, round: number) {
  const seed = seedOf(run);
  const seats = seededOrder(seed, `unreviewed:${round}`, run.view.accepted ?? []);
  const labels = labelsFor(seed, `draft:${round}`, seats);
  return seats.map((seat) => ({ label: labels[seat] ?? '', text: run.shown[seat] ?? '' }));
}

function sourcesIn(run: OpenRun): Omit<DraftSources, 'optionId'> {
  const { view } = run;
  const asked = questionOf(run);
  const claimIds = Object.keys(view.ledger?.claims ?? {});
  return {
    claimIds,
    flawIds: [],
    consensusIds: [],
    disagreementIds: [],
    minorityIds: [],
    question: [asked.challenge, asked.context, ...asked.objectives, ...asked.constraints],
    corpus: [
      ...claimIds.map((id) => claimText(view, id)),
      ...Object.keys(view.ledger?.options ?? {}).map((id) => optionText(view, id)),
      ...Object.values(run.shown),
    ],
  };
}
