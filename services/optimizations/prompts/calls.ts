import { findsInjection } from './scrub.ts';
import type { Ballot, ReviewNotes, Slot } from '#services/optimizations/run/events.ts';
import { undecidableOption } from '#services/optimizations/run/events.ts';
import { expectedReplyCharacters, ledgerPrompt, opinionPrompt, reviewPrompt } from './prompts.ts';
import type { Challenge } from './prompts.ts';
import { checkLedger, checkReview, sharedNotes, opinionText } from './reply-checks.ts';
import { checked, seedOf, TextErased } from './prepared-call.ts';
import type { PreparedCall } from './prepared-call.ts';
import { parseReply } from './reply-schemas.ts';
import { scrubFor, secondVoteCall } from './second-vote.ts';
import { draftCall, verifyCall } from './synthesis-calls.ts';
import type { OpenRun } from '#services/optimizations/reading/read-run.ts';
import { isOpen } from '#services/optimizations/run/state.ts';
import type { RunState } from '#services/optimizations/run/state.ts';
import { questionFields } from '#services/optimizations/reading/view.ts';
import type { FieldsOf } from '#services/optimizations/reading/view.ts';
import { passagesOf } from '#services/optimizations/files/passages.ts';
import { reviewAssignments } from '#services/optimizations/council/assignments.ts';
import { dataDelimiter, labelsFor, seededOrder } from '#services/platform/seeded.ts';
import { parseSlot } from '#services/optimizations/run/slots.ts';
import type { SlotParts } from '#services/optimizations/run/slots.ts';
import {
  claimText,
  opinionOf,
  optionText,
  undecidableText,
} from '#services/optimizations/reading/texts.ts';

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
        return isOpen(state)
          ? fieldsOfReply(asked, parseSlot(event.data.slot), state)
          : fieldsOfBase(asked, parseSlot(event.data.slot));
      default:
        return [];
    }
  };
}

const fieldsOfQuestion: Readonly<Record<SlotParts['kind'], readonly string[]>> = {
  opinion: questionFields,
  claims: questionFields.filter((field) => field !== 'files'),
  review: [...questionFields, 'instruction'],
  draft: [...questionFields, 'instruction'],
  verify: ['files', 'instruction'],
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
  if (given.kind === 'review') return asked.kind === 'draft' ? ['notes'] : [];
  if (given.kind !== 'draft') return [];
  const isRead =
    (asked.kind === 'draft' && given.round === asked.round - 1) ||
    (asked.kind === 'verify' && given.round === asked.round);
  return isRead ? ['reply'] : [];
}

/** Of a run that has ended, whose result a refinement starts from. */
function fieldsOfBase({ kind: asked }: SlotParts, { kind }: SlotParts): readonly string[] {
  if (kind === 'review') return asked === 'review' || asked === 'draft' ? ['notes'] : [];
  if (asked !== 'draft') return [];
  if (kind === 'opinion') return ['reply', 'shown'];
  return kind === 'draft' ? ['reply'] : [];
}

/** The seats that a reviewer reads, in the order of the design. */
function answersFor(state: RunState, reviewer: string): readonly string[] {
  if (!('order' in state)) throw new RangeError('No reviews before the opinions have closed');
  return reviewAssignments(state.order, state.offsets)[reviewer] ?? [];
}

/**
 * Of the words of all prompts, and of how replies are read. Raise it with any change of either, because
 * prompts are made again when a run is checked: `tests/golden/evidence-1.ndjson` notices.
 */
export const promptVersion = 1;

/** A request as one text: what `CallStarted.promptMac` is computed of. */
export function promptText({ system, prompt, schema }: PreparedCall['request']): string {
  return JSON.stringify([system, prompt, schema]);
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
      return run.view.refines === null
        ? reviewCall(run, questionOf(run), parts.seat, delimiter)
        : secondVoteCall(run, questionOf(run), parts.seat, delimiter);
    case 'draft':
      return draftCall(run, questionOf(run), parts.round, delimiter);
    case 'verify':
      return verifyCall(run, parts.round, delimiter);
  }
}

export function questionOf({ view }: OpenRun): Challenge {
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
        ({ title, claims, options, rejectedQuotes, quotesRepaired, unplaced }) => {
          const isListed = options.some(({ id }) => id === undecidableOption);
          const numbered = options.length - Number(isListed);
          // An answer that the extractor forgot keeps a decision of its own to vote for.
          const own = toSeats(unplaced).map((seat, index) => ({
            id: `o${numbered + index + 1}`,
            text: opinionOf(run.view, seat)?.recommendation.option_label ?? seat,
            seats: [seat],
          }));
          const allOptions = [
            ...options.map(({ id, text, labels: by }) => ({ id, text, seats: toSeats(by) })),
            ...own,
            ...(isListed ? [] : [{ id: undecidableOption, text: undecidableText, seats: [] }]),
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
            ...(title === '' ? {} : { title }),
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
            notes: JSON.stringify({
              critique: found.critique,
              flaws,
              reasons: found.reasons,
              decisionReason: found.decision.reason,
            } satisfies ReviewNotes),
          },
        };
      });
    },
  };
}

function countBySeat(flaws: readonly { seat: string }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { seat } of flaws) counts[seat] = (counts[seat] ?? 0) + 1;
  return counts;
}
