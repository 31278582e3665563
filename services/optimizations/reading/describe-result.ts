import type { OptionSide, RunResult } from '#services/optimizations/contract/result.ts';
import type { WrittenDraft } from '#services/optimizations/prompts/draft.ts';
import { hasNoDraft, undecidableOption, votedOption } from '#services/optimizations/run/events.ts';
import type { Heading, Scores, Slot } from '#services/optimizations/run/events.ts';
import { draftSlot, verifySlot } from '#services/optimizations/run/slots.ts';
import {
  claimText,
  decisionReason,
  erased,
  fatalFlawsOf,
  flawTexts,
  hasVotedSince,
  missingFact,
  opinionOf,
  optionText,
  reasonOf,
  votedForSince,
} from './texts.ts';
import { seatName } from './words/names.ts';
import { isVotedAgain } from './view.ts';
import type { RunView } from './view.ts';

/**
 * What a completed run advises. The vote gives the option; the accepted draft gives the words, or, when
 * none passed its checks, code puts them together from the votes and the answers.
 */
export function describeResult(view: RunView): RunResult | null {
  const { conclusion, scores } = view;
  if (view.stage !== 'closed' || conclusion?.outcome !== 'completed' || !conclusion.heading)
    return null;
  const { heading } = conclusion;
  const isWritten = !hasNoDraft(conclusion);
  const draft = isWritten ? acceptedDraft(view) : null;
  const about = scores && (scores.verdict ? votedOption(scores) : draftedOption(view));
  const chosen = heading === 'no_majority' ? null : about;
  return {
    heading,
    option_id: chosen,
    ...votesFor(scores, chosen),
    tie_break: scores?.verdict?.tieBreak ?? null,
    decision_option: about === null ? null : optionText(view, about),
    objection: scores && about !== null ? objectionTo(view, scores, about) : null,
    missing_facts: heading === 'undecidable' ? missingFacts(view) : [],
    flaws: (scores?.flaws ?? []).map((flaw) => ({
      id: flaw.id,
      about_seat: flaw.aboutSeat,
      reviewers: [...flaw.reviewers],
      texts: flawTexts(view, flaw),
      voted_for_since: votedForSince(view, flaw),
      reply: draft?.flaw_replies.find(({ flaw_id }) => flaw_id === flaw.id)?.text ?? null,
    })),
    options: (scores?.verdict?.contenders ?? []).map((id) => describeOption(view, scores!, id)),
    ...(isWritten ? written(view, draft) : putTogether(view, heading, about)),
  };
}

/** For an option, or without one the most that any has; by heads. */
export function votesFor(scores: Scores | null, option: string | null) {
  const votes = scores?.decision.votes ?? {};
  const counts = Object.values(votes).map((seats) => seats.length);
  return {
    votes_for: option === null ? Math.max(0, ...counts) : (votes[option]?.length ?? 0),
    votes_total: counts.reduce((sum, count) => sum + count, 0),
  };
}

type Words = Pick<
  RunResult,
  | 'decision'
  | 'changed'
  | 'sections'
  | 'next_steps'
  | 'dissent'
  | 'uncertainties'
  | 'verified'
  | 'seat'
>;

function written(view: RunView, draft: WrittenDraft | null): Words {
  return {
    decision: draft?.decision ?? erased,
    changed: view.refines === null ? null : draft?.changed || erased,
    sections: (draft?.sections ?? []).filter((section) => !repeatsConsensus(view, section)),
    next_steps: (draft?.next_steps ?? []).map((step) => ({ ...step, done: false })),
    dissent: draft?.dissent ?? [],
    uncertainties: draft?.uncertainties ?? [],
    verified: verifiedBy(view),
    seat: null,
  };
}

/** Whether a section says only what the consensus points say, word for word. */
function repeatsConsensus(view: RunView, { blocks }: WrittenDraft['sections'][number]): boolean {
  const points = (view.scores?.consensus ?? []).map((id) => claimText(view, id));
  return blocks.every(({ text }) => points.includes(text));
}

/** The page of a run without a checked draft: the best answer for the option, or what is missing. */
function putTogether(view: RunView, heading: Heading, option: string | null): Words {
  const none = { changed: null, next_steps: [], dissent: [], verified: 'none' as const };
  const seat = view.conclusion?.bestSeat ?? null;
  const isOpen = heading === 'undecidable' || option === undecidableOption;
  if (isOpen || (seat === null && option !== null))
    return {
      ...none,
      decision: option === null ? erased : optionText(view, option),
      sections: isOpen ? [] : voterReasons(view, option ?? ''),
      uncertainties: [],
      seat: null,
    };
  const opinion = seat === null ? null : opinionOf(view, seat);
  return {
    ...none,
    decision: opinion?.recommendation.one_line ?? erased,
    sections: [
      { heading: 'Why', blocks: plain(opinion?.reasoning) },
      { heading: 'Based on', blocks: plain(opinion?.claims.map((claim) => claim.text)) },
      { heading: 'Risks', blocks: plain(opinion?.risks) },
    ].filter(isFilled),
    uncertainties: opinion ? [...opinion.assumptions, ...opinion.missing_info] : [],
    seat,
  };
}

/** Why its voters want an option that no answer proposes. */
function voterReasons(view: RunView, option: string): RunResult['sections'] {
  const voters = view.scores?.decision.votes[option] ?? [];
  const reasons = voters.flatMap((seat) => {
    const reason = decisionReason(view, seat);
    return reason === null ? [] : [`${seatName(view.seats, seat)}: ${reason}`];
  });
  return [{ heading: 'Why they voted for it', blocks: plain(reasons) }].filter(isFilled);
}

/** The facts that models ask for, those that more of them name first. */
function missingFacts(view: RunView): string[] {
  const shared = Object.values(view.ledger?.notes ?? {})
    .filter(({ kind }) => kind === 'missing_info')
    .toSorted((one, other) => other.seats.length - one.seats.length)
    .flatMap(({ text }) => text ?? []);
  const named = view.seats.flatMap(({ seat }) => opinionOf(view, seat)?.missing_info ?? []);
  return [...new Set([...shared, ...(shared.length > 0 ? [] : named)])];
}

function describeOption(view: RunView, scores: Scores, id: string): OptionSide {
  const voters = scores.decision.votes[id] ?? [];
  const proposers = proposersOf(view, id);
  const best = scores.order.find((seat) => proposers.includes(seat)) ?? null;
  const voter = scores.order.find((seat) => decisionReason(view, seat) && voters.includes(seat));
  const reason = voter === undefined ? null : decisionReason(view, voter);
  const answer = best === null ? null : (opinionOf(view, best)?.recommendation.one_line ?? null);
  return {
    option_id: id,
    text: optionText(view, id),
    voters: [...voters],
    answer:
      best !== null && answer !== null
        ? { seat: best, text: answer }
        : voter !== undefined && reason !== null
          ? { seat: voter, text: reason }
          : null,
    objection: objectionTo(view, scores, id),
    settled_by: settles(view, scores, proposers),
  };
}

function proposersOf(view: RunView, option: string): readonly string[] {
  return view.ledger?.options[option]?.seats ?? [];
}

/**
 * A fatal flaw of one of its answers, best placed first; else a reason against one of their claims.
 * The words of a seat that voted for the option all the same come last.
 */
function objectionTo(view: RunView, scores: Scores, option: string): OptionSide['objection'] {
  const proposers = proposersOf(view, option);
  const answers = scores.order.filter((seat) => proposers.includes(seat));
  const voters = scores.decision.votes[option] ?? [];
  const flaws = answers.flatMap((answer) =>
    view.seats.flatMap(({ seat }) =>
      fatalFlawsOf(view, seat, answer).map((text) => ({
        seat,
        text,
        claim_id: null,
        voted_for: voters.includes(seat),
        voted_for_since: hasVotedSince(view, seat, option),
      })),
    ),
  );
  const reasons = claimsOf(view, scores, proposers).flatMap((claim) =>
    (scores.claims[claim]?.disagree ?? []).flatMap((seat) => {
      const text = reasonOf(view, seat, claim);
      return text === null || proposers.includes(seat)
        ? []
        : [
            {
              seat,
              text,
              claim_id: claim,
              voted_for: voters.includes(seat),
              voted_for_since:
                hasVotedSince(view, seat, option) && !isVotedAgain(view, seat, claim),
            },
          ];
    }),
  );
  const all = [...flaws, ...reasons];
  return all.find(({ voted_for: isVoter }) => !isVoter) ?? all[0] ?? null;
}

/** The fact that its best answer asks for; else one that a voter misses for one of its claims. */
function settles(view: RunView, scores: Scores, proposers: readonly string[]): string | null {
  const best = scores.order.find((seat) => proposers.includes(seat));
  const asked = best === undefined ? undefined : opinionOf(view, best)?.missing_info[0];
  if (asked !== undefined) return asked;
  const missed = claimsOf(view, scores, proposers).map((claim) => missingFact(view, scores, claim));
  return missed.find((fact) => fact !== null) ?? null;
}

/** The claims of some answers, the disputed and the more important ones first. */
function claimsOf(view: RunView, scores: Scores, seats: readonly string[]): string[] {
  const disputed = new Set(scores.disagreements.map(({ about }) => about));
  return Object.entries(view.ledger?.claims ?? {})
    .filter(([, { authors }]) => authors.some((seat) => seats.includes(seat)))
    .toSorted(
      ([one, first], [other, second]) =>
        Number(disputed.has(other)) - Number(disputed.has(one)) ||
        second.importance - first.importance,
    )
    .map(([id]) => id);
}

// ── the accepted draft ──────────────────────────────────────────────────────────────────────────

function acceptedRound(view: RunView): number | null {
  const found = Object.entries(view.rounds).find(([, one]) => one.verdict === 'accept');
  return found ? Number(found[0]) : null;
}

export function acceptedDraft(view: RunView): WrittenDraft | null {
  const number = acceptedRound(view);
  return number === null ? null : (view.calls[draftSlot(number)]?.draft ?? null);
}

/** In v0.1 the draft chose the option. */
function draftedOption(view: RunView): string | null {
  const number = acceptedRound(view);
  const outcome = number === null ? null : view.calls[draftSlot(number)]?.outcome;
  return outcome?.kind === 'draft' ? outcome.optionId : null;
}

/** Models other than the writer that checked the draft; `self` when only the writer's own did. */
function verifiedBy(view: RunView): RunResult['verified'] {
  const number = acceptedRound(view);
  if (number === null) return 'none';
  if (view.scores?.verdict && view.scores.consensus.length === 0) return 'nothing_to_verify';
  const writer = answeringModel(view, draftSlot(number));
  const checked = [1, 2].flatMap((verifier) => {
    const model = answeringModel(view, verifySlot(number, verifier));
    return model === null ? [] : [model];
  });
  const others = new Set(checked.filter((model) => model !== writer)).size;
  if (others > 0) return others > 1 ? 'two' : 'one';
  return checked.length > 0 ? 'self' : 'none';
}

function answeringModel(view: RunView, slot: Slot): string | null {
  const attempts = Object.values(view.calls[slot]?.attempts ?? {});
  return attempts.find(({ status }) => status === 'succeeded')?.model ?? null;
}

function plain(texts: readonly string[] | undefined) {
  return (texts ?? []).map((text) => ({ text, claim_ids: [] }));
}

function isFilled(section: { blocks: readonly unknown[] }): boolean {
  return section.blocks.length > 0;
}
