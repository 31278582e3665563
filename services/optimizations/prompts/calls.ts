import type { ModelRequest } from '#services/models/model.ts';
import { findsInjection, scrubOf } from './scrub.ts';
import type { Scrub } from './scrub.ts';
import { checkDraft } from './draft.ts';
import type { DraftSources } from './draft.ts';
import type {
  Ballot,
  CallOutcome,
  LedgerTexts,
  Repair,
  Scores,
  Slot,
} from '#services/optimizations/run/events.ts';
import {
  draftPrompt,
  expectedReplyCharacters,
  ledgerPrompt,
  opinionPrompt,
  reviewPrompt,
  verificationPrompt,
} from './prompts.ts';
import type { Challenge, DraftBrief, LabelledAnswer } from './prompts.ts';
import {
  checkLedger,
  checkReview,
  checkVerification,
  sharedNotes,
  opinionText,
} from './reply-checks.ts';
import type { ReadReply } from './read-reply.ts';
import { parseReply } from './reply-schemas.ts';
import type { Checked, Draft, Opinion, Parsed } from './reply-schemas.ts';
import type { OpenRun } from '#services/optimizations/reading/read-run.ts';
import type { RunState } from '#services/optimizations/run/state.ts';
import { questionFields } from '#services/optimizations/reading/view.ts';
import type { FieldsOf } from '#services/optimizations/reading/view.ts';
import { passagesOf } from '#services/optimizations/files/passages.ts';
import { reviewAssignments } from '#services/optimizations/council/assignments.ts';
import { dataDelimiter, labelsFor, seededOrder } from '#services/platform/seeded.ts';
import { draftSlot, everyModel, parseSlot, verifySlot } from '#services/optimizations/run/slots.ts';
import type { SlotParts } from '#services/optimizations/run/slots.ts';
import { claimText, opinionOf, optionText } from '#services/optimizations/reading/describe.ts';

/**
 * The prompt of one slot, and the check of its reply. Pure: the task that calls it reads the run
 * before and records the outcome after. An erased run has no further prompts.
 */
export type PreparedCall = {
  request: Pick<ModelRequest, 'system' | 'prompt' | 'schema'>;
  /** Expected characters of the reply, for the progress of the seat. */
  expectedCharacters: number;
  /** The reply in the run's words, or why it is malformed. */
  check: (reply: ReadReply | undefined) => Checked<CheckedCall>;
};

/** `texts` are sealed by field before they reach an event. */
export type CheckedCall = {
  outcome: CallOutcome;
  repaired: readonly Repair[];
  texts: { reply: string; shown?: string; notes?: string };
  ledger?: LedgerTexts;
};

export class TextErased extends Error {
  override readonly name = 'TextErased';
}

/** The texts that the prompt of a slot names; `prepareCall` finds no other in the run. */
export function fieldsOfPrompt(slot: Slot): (state: RunState) => FieldsOf {
  const asked = parseSlot(slot);
  return (state) => (event) => {
    switch (event.type) {
      case 'OptimizationCreated':
        return fieldsOfQuestion[asked.kind];
      case 'ClaimsFixed':
        return ['review', 'draft', 'verify'].includes(asked.kind) ? ['ledger'] : [];
      case 'CallSucceeded':
        return fieldsOfReply(asked, parseSlot(event.data.slot), state);
      default:
        return [];
    }
  };
}

const fieldsOfQuestion: Readonly<Record<SlotParts['kind'], readonly string[]>> = {
  opinion: questionFields,
  claims: questionFields.filter((field) => field !== 'files'),
  review: questionFields,
  draft: questionFields,
  verify: ['files'],
};

function fieldsOfReply(asked: SlotParts, given: SlotParts, state: RunState): readonly string[] {
  if (given.kind === 'opinion') {
    // Without a ledger the claims are the words of the answers.
    const words = 'scored' in state && !state.scored ? ['reply'] : [];
    switch (asked.kind) {
      case 'opinion':
        return [];
      case 'claims':
      case 'draft':
        return ['reply', 'shown'];
      case 'review':
        return [...words, ...(answersFor(state, asked.seat).includes(given.seat) ? ['shown'] : [])];
      case 'verify':
        return words;
    }
  }
  if (given.kind !== 'draft') return [];
  const isRead =
    (asked.kind === 'draft' && given.round === asked.round - 1) ||
    (asked.kind === 'verify' && given.round === asked.round);
  return isRead ? ['reply'] : [];
}

/** The seats that a reviewer reads, in the order of the design. */
function answersFor(state: RunState, reviewer: string): readonly string[] {
  if (!('order' in state)) throw new RangeError('No reviews before the opinions have closed');
  return reviewAssignments(state.order, state.offsets)[reviewer] ?? [];
}

export function prepareCall(run: OpenRun, slot: Slot, attempt: number): PreparedCall {
  const delimiter = dataDelimiter(seedOf(run), slot, attempt);
  const parts = parseSlot(slot);
  switch (parts.kind) {
    case 'opinion':
      return opinionCall(run, questionOf(run), parts.seat, delimiter);
    case 'claims':
      return ledgerCall(run, questionOf(run), slot, delimiter);
    case 'review':
      return reviewCall(run, questionOf(run), parts.seat, delimiter);
    case 'draft':
      return draftCall(run, questionOf(run), parts.round, delimiter);
    case 'verify':
      return verifyCall(run, parts.round, delimiter);
  }
}

function questionOf({ view }: OpenRun): Challenge {
  if (view.challenge === null) throw new TextErased('The text of this run has been erased');
  return {
    type: view.challengeType,
    challenge: view.challenge,
    context: view.context ?? '',
    objectives: view.objectives,
    constraints: view.constraints,
    files: view.files,
  };
}

function opinionCall(
  run: OpenRun,
  asked: Challenge,
  seat: string,
  delimiter: string,
): PreparedCall {
  const scrub = scrubFor(run);
  const role = run.view.seats.find((one) => one.seat === seat)?.role ?? 'strategic';
  return {
    request: opinionPrompt(asked, role, { delimiter }),
    expectedCharacters: expectedReplyCharacters.opinion,
    check: (reply) =>
      checked(parseReply('opinion', reply), (opinion, repaired) => {
        const written = opinionText(opinion);
        const shown = scrub(written);
        return {
          outcome: {
            kind: 'opinion',
            confidence: opinion.stated_confidence,
            claims: opinion.claims.map((claim) => ({
              importance: claim.importance,
              flips: claim.if_false_flips,
            })),
            characters: shown.length,
            injectionFound: findsInjection(written),
          },
          repaired,
          texts: { reply: JSON.stringify(opinion), shown },
        };
      }),
  };
}

function ledgerCall(run: OpenRun, asked: Challenge, slot: Slot, delimiter: string): PreparedCall {
  const seed = seedOf(run);
  const seats = seededOrder(seed, slot, run.view.accepted ?? []);
  const labels = labelsFor(seed, slot, seats);
  const seatOf = new Map(Object.entries(labels).map(([seat, label]) => [label, seat]));
  const toSeats = (found: readonly string[]) => found.flatMap((label) => seatOf.get(label) ?? []);
  const answers = seats.map((seat) => ({
    label: labels[seat] ?? '',
    text: run.shown[seat] ?? '',
    claims: opinionOf(run.view, seat)?.claims ?? [],
  }));
  return {
    request: ledgerPrompt(asked, answers, { delimiter }),
    expectedCharacters: expectedReplyCharacters.claim_ledger,
    check: (reply) => {
      const parsed = parseReply('claim_ledger', reply);
      if (!parsed.ok) return parsed;
      return checked(
        checkLedger(parsed.value, answers),
        ({ claims, options, rejectedQuotes, quotesRepaired, unplaced }) => {
          // An answer that the extractor forgot keeps a decision of its own to vote for.
          const own = toSeats(unplaced).map((seat, index) => ({
            id: `o${options.length + index + 1}`,
            text: opinionOf(run.view, seat)?.recommendation.option_label ?? seat,
            seats: [seat],
          }));
          const allOptions = [
            ...options.map(({ id, text, labels: by }) => ({ id, text, seats: toSeats(by) })),
            ...own,
          ];
          const notes = sharedNotes(
            seats.flatMap((seat) => {
              const opinion = opinionOf(run.view, seat);
              return opinion ? [{ author: seat, opinion }] : [];
            }),
          );
          return {
            outcome: {
              kind: 'claims',
              rejectedQuotes,
              claims: claims.map(({ id, importance, authors, flips }) => ({
                id,
                importance,
                authors: toSeats(authors),
                flips: toSeats(flips),
              })),
              options: allOptions.map((option) => ({ id: option.id, seats: option.seats })),
              notes: notes.map(({ id, kind, authors }) => ({ id, kind, seats: authors })),
            },
            repaired: quotesRepaired ? [...parsed.repaired, 'quotes'] : parsed.repaired,
            texts: { reply: JSON.stringify(parsed.value) },
            ledger: {
              claims: Object.fromEntries(
                claims.map(({ id, text, quotes }) => [
                  id,
                  {
                    text,
                    quotes: quotes.map(({ label, quote }) => ({
                      seat: seatOf.get(label) ?? '',
                      quote,
                    })),
                  },
                ]),
              ),
              options: Object.fromEntries(allOptions.map(({ id, text }) => [id, text])),
              notes: Object.fromEntries(notes.map(({ id, text }) => [id, text])),
            },
          };
        },
      );
    },
  };
}

function reviewCall(
  run: OpenRun,
  asked: Challenge,
  reviewer: string,
  delimiter: string,
): PreparedCall {
  const { view } = run;
  const scrub = scrubFor(run);
  const seats = answersFor(run.state, reviewer);
  const labels = run.labels[reviewer] ?? {};
  const seatOf = new Map(Object.entries(labels).map(([seat, label]) => [label, seat]));
  const bySeat = (label: string) => seatOf.get(label) ?? '';
  // Without an extractor these are the authors' own words, which may name the author.
  const claims = Object.keys(view.ledger?.claims ?? {}).map((id) => ({
    id,
    text: scrub(claimText(view, id)),
  }));
  const options = Object.keys(view.ledger?.options ?? {}).map((id) => ({
    id,
    text: scrub(optionText(view, id)),
  }));
  const answers = seats.map((seat) => ({ label: labels[seat] ?? '', text: run.shown[seat] ?? '' }));
  return {
    request: reviewPrompt(
      asked,
      {
        answers,
        claims,
        options,
        passages: passagesOf(view.files, answers),
      },
      { delimiter, seed: seedOf(run), reviewer },
    ),
    expectedCharacters: expectedReplyCharacters.review,
    check: (reply) => {
      const parsed = parseReply('review', reply);
      if (!parsed.ok) return parsed;
      const review = checkReview(parsed.value, {
        labels: answers.map(({ label }) => label),
        claimIds: claims.map(({ id }) => id),
        optionIds: options.map(({ id }) => id),
      });
      return checked(review, (found) => {
        const flaws = found.fatalFlaws.map(({ label, text }) => ({ seat: bySeat(label), text }));
        const ballot: Ballot = {
          ranking: found.ranking.map((group) => group.map(bySeat)),
          scores: Object.fromEntries(
            Object.entries(found.scores).map(([label, marks]) => [bySeat(label), marks]),
          ),
          votes: found.votes,
          decision: {
            optionId: found.decision.optionId,
            seat: found.decision.label === null ? null : bySeat(found.decision.label),
          },
          suspects: found.suspects.map(bySeat),
          scoresContradict: found.scoresContradict,
          fatalFlaws: countBySeat(flaws),
        };
        return {
          outcome: { kind: 'review', ballot },
          repaired: parsed.repaired,
          texts: {
            reply: JSON.stringify(parsed.value),
            notes: JSON.stringify({ critique: found.critique, flaws }),
          },
        };
      });
    },
  };
}

function draftCall(run: OpenRun, asked: Challenge, round: number, delimiter: string): PreparedCall {
  const scores = scoresOf(run);
  const sources = draftSources(run, asked, scores);
  const lastDraft = run.view.calls[draftSlot(round - 1)]?.draft ?? null;
  const brief: DraftBrief = {
    claims: Object.entries(scores.claims).map(([id, votes]) => ({
      id,
      text: claimText(run.view, id),
      importance: run.view.ledger?.claims[id]?.importance ?? 1,
      agree: votes.agree.length,
      disagree: votes.disagree.length,
      unsure: votes.unsure.length,
    })),
    options: Object.keys(run.view.ledger?.options ?? {}).map((id) => ({
      id,
      text: optionText(run.view, id),
      votes: scores.decision.votes[id]?.length ?? 0,
    })),
    topAnswers: topAnswers(run, scores, round),
    consensusIds: scores.consensus,
    disagreements: disputedClaims(scores).map((about) => ({
      claimId: about,
      ...argumentsOf(run, scores, about),
    })),
    minority: minorityBrief(run, scores),
    complaints: lastDraft === null ? [] : complaintsAbout(run, lastDraft, sources, round - 1),
    lastDraft,
  };
  return {
    request: draftPrompt(asked, brief, { delimiter }),
    expectedCharacters: expectedReplyCharacters.draft,
    check: (reply) =>
      checked(parseReply('draft', reply), (draft, repaired) => {
        const found = checkDraft(draft, sources);
        return {
          outcome: {
            kind: 'draft',
            optionId: draft.option_id,
            checks: {
              consensusCoverage: rounded(found.consensusCoverage),
              disagreementCoverage: rounded(found.disagreementCoverage),
              uncitedShare: rounded(found.uncitedShare),
              unknownNumbers: found.unknownNumbers.length,
              passed: found.passed,
              failed: found.failed,
            },
          },
          repaired,
          texts: { reply: JSON.stringify(draft) },
        };
      }),
  };
}

function verifyCall(run: OpenRun, round: number, delimiter: string): PreparedCall {
  const draft = run.view.calls[draftSlot(round)]?.draft;
  if (!draft) throw new TextErased('There is no draft to verify');
  const consensus = scoresOf(run).consensus.map((id) => ({ id, text: claimText(run.view, id) }));
  return {
    request: verificationPrompt(draft, consensus, { delimiter, files: run.view.files }),
    expectedCharacters: expectedReplyCharacters.verification,
    check: (reply) =>
      checked(parseReply('verification', reply), (verification, repaired) => ({
        outcome: {
          kind: 'verify',
          ...checkVerification(
            verification,
            consensus.map(({ id }) => id),
          ),
        },
        repaired,
        texts: { reply: JSON.stringify(verification) },
      })),
  };
}

function draftSources(run: OpenRun, asked: Challenge, scores: Scores): DraftSources {
  const { view } = run;
  const claimIds = Object.keys(view.ledger?.claims ?? {});
  const minority = scores.minority?.seat;
  return {
    claimIds,
    optionIds: Object.keys(view.ledger?.options ?? {}),
    consensusIds: scores.consensus,
    disagreementIds: disputedClaims(scores),
    minorityIds: disputedClaims(scores).filter(
      (id) =>
        minority !== undefined && view.ledger?.claims[id]?.authors.includes(minority) === true,
    ),
    corpus: [
      asked.challenge,
      asked.context,
      ...asked.objectives,
      ...asked.constraints,
      ...view.files.map(({ text }) => text),
      ...claimIds.map((id) => claimText(view, id)),
      ...Object.values(run.shown),
    ],
  };
}

function complaintsAbout(
  run: OpenRun,
  draft: Draft,
  sources: DraftSources,
  round: number,
): readonly string[] {
  const contradicted = [1, 2].flatMap((verifier) => {
    const outcome = run.view.calls[verifySlot(round, verifier)]?.outcome;
    return outcome?.kind === 'verify' && outcome.contradicts ? outcome.claimIds : [];
  });
  return [
    ...checkDraft(draft, sources).complaints,
    ...(contradicted.length === 0
      ? []
      : [
          `Two readers compared it with the consensus; it contradicts ${[...new Set(contradicted)].join(', ')}.`,
        ]),
  ];
}

function topAnswers(run: OpenRun, scores: Scores, round: number): LabelledAnswer[] {
  const best = scores.order.slice(0, 3);
  const labels = labelsFor(seedOf(run), `draft:${round}`, best);
  return best.map((seat) => ({ label: labels[seat] ?? '', text: run.shown[seat] ?? '' }));
}

function disputedClaims(scores: Scores): string[] {
  return scores.disagreements.map((area) => area.about).filter((about) => about !== 'decision');
}

function argumentsOf(
  run: OpenRun,
  scores: Scores,
  about: string,
): { for: string; against: string } {
  const votes = scores.claims[about];
  const words = (seats: readonly string[]) => {
    const quotes = run.view.ledger?.claims[about]?.quotes ?? [];
    const best = scores.order.find((seat) => seats.includes(seat)) ?? seats[0];
    const quote = quotes.find(({ seat }) => seats.includes(seat))?.quote;
    return quote ?? recommendationOf(run, best) ?? 'no argument of its own';
  };
  return { for: words(votes?.agree ?? []), against: words(votes?.disagree ?? []) };
}

function minorityBrief(run: OpenRun, scores: Scores): DraftBrief['minority'] {
  if (!scores.minority) return null;
  const { seat, optionId } = scores.minority;
  return {
    text: run.shown[seat] ?? recommendationOf(run, seat) ?? '',
    optionId,
    claimIds: disputedClaims(scores).filter((id) =>
      run.view.ledger?.claims[id]?.authors.includes(seat),
    ),
  };
}

function recommendationOf(run: OpenRun, seat: string | undefined): string | null {
  const opinion: Opinion | null = seat === undefined ? null : opinionOf(run.view, seat);
  return opinion?.recommendation.one_line ?? null;
}

function scoresOf(run: OpenRun): Scores {
  if (!run.view.scores) throw new RangeError('No synthesis before the scores are computed');
  return run.view.scores;
}

function scrubFor({ state }: OpenRun): Scrub {
  if (!('schedule' in state)) throw new RangeError('The run has not been created');
  return scrubOf(everyModel(state));
}

function seedOf(run: OpenRun): string {
  if (!('seed' in run.state)) throw new RangeError('The run has not been created');
  return run.state.seed;
}

function checked<From, To>(
  from: Checked<From> | Parsed<From>,
  map: (value: From, repaired: readonly Repair[]) => To,
): Checked<To> {
  if (!from.ok) return from;
  return { ok: true, value: map(from.value, 'repaired' in from ? from.repaired : []) };
}

function countBySeat(flaws: readonly { seat: string }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { seat } of flaws) counts[seat] = (counts[seat] ?? 0) + 1;
  return counts;
}

function rounded(share: number): number {
  return Math.round(share * 10_000) / 10_000;
}
