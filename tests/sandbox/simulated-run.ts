import { checkDraft } from '#services/optimizations/prompts/draft.ts';
import type { DraftCheckResult } from '#services/optimizations/prompts/draft.ts';
import { scrubOf } from '#services/optimizations/prompts/scrub.ts';
import {
  draftAsText,
  draftPrompt,
  ledgerPrompt,
  opinionPrompt,
  reviewPrompt,
  verificationPrompt,
} from '#services/optimizations/prompts/prompts.ts';
import type {
  Challenge,
  StagePrompt,
  TalliedClaim,
} from '#services/optimizations/prompts/prompts.ts';
import {
  checkLedger,
  checkReview,
  checkVerification,
  opinionText,
} from '#services/optimizations/prompts/reply-checks.ts';
import { parseReply } from '#services/optimizations/prompts/reply-schemas.ts';
import type { CheckedLedger, CheckedReview } from '#services/optimizations/prompts/reply-checks.ts';
import type { Checked, Draft, Opinion } from '#services/optimizations/prompts/reply-schemas.ts';
import { computeScores } from '#services/optimizations/council/council.ts';
import { votedOption } from '#services/optimizations/run/events.ts';
import type { Ballot, Scores, Seat } from '#services/optimizations/run/events.ts';
import { reviewAssignments, reviewOffsets } from '#services/optimizations/council/assignments.ts';
import { dataDelimiter, labelsFor, simulatedRunSeed } from '#services/platform/seeded.ts';
import { loadCatalogue } from '#services/models/catalogue.ts';
import type { StrategyId } from '#services/models/strategy-list.ts';
import type { Respond } from '#services/sandbox/models/personas.ts';
import { createSimulator } from '#services/sandbox/models/simulator/respond.ts';

/**
 * A run without its state machine: our prompts, the simulator's answers, our checks and our figures,
 * with the codes that a run of the strategy would draw.
 */
export type SimulatedRun = {
  seats: readonly Seat[];
  opinions: Opinion[];
  texts: string[];
  ledger: CheckedLedger;
  /** Seat → its review. */
  reviews: CheckedReview[];
  claims: TalliedClaim[];
  consensusIds: string[];
  contestedIds: string[];
  /** Reviewer → seats, best first, in groups of equals. */
  rankings: Record<string, string[][]>;
  scores: Scores;
  draft: Draft;
  checks: DraftCheckResult;
  contradicts: boolean;
};

export type Options = {
  seed?: string;
  strategy?: StrategyId;
  /** All seats get this model, and the run a seed of its own. */
  copiesOf?: string;
  /** Draws the labels and the order of what is shown. */
  labelSeed?: string;
  respond?: Respond;
};

const { strategyOf, strategies } = loadCatalogue(null);

export function simulate(
  asked: Challenge,
  { seed = 'sandbox', strategy = 'balanced', copiesOf, ...options }: Options = {},
): SimulatedRun {
  const definition = strategyOf(strategy);
  if (definition === null) throw new Error(`No strategy ${strategy}`);
  const { panel, reviewsPerSeat, extractors, synthesizers, verifiers } = definition;
  const answer = options.respond ?? createSimulator(strategies);
  const runSeed =
    copiesOf === undefined ? simulatedRunSeed(seed, asked.challenge, strategy) : `random ${seed}`;
  const labelSeed = options.labelSeed ?? runSeed;
  const ask = (slot: string, model: string, prompt: (delimiter: string) => StagePrompt) => {
    const { system, prompt: text, schema } = prompt(dataDelimiter(runSeed, slot, 1));
    const reply = answer({
      provider: 'any',
      model: copiesOf ?? model,
      system,
      prompt: text,
      schemaName: schema?.name ?? null,
      seed,
    });
    return { value: JSON.parse(reply.text) as unknown, isRepaired: false };
  };
  const seats: Seat[] = panel.map((seat) => ({
    ...seat,
    provider: familyOf(seat.model),
    family: familyOf(seat.model),
    simulated: true,
  }));
  const order = seats.map((each) => each.seat);

  const opinions = seats.map(({ seat, model, role }) =>
    must(
      parseReply(
        'opinion',
        ask(`opinion.${seat}`, model, (delimiter) => opinionPrompt(asked, role, { delimiter })),
      ),
    ),
  );
  const texts = opinions.map((opinion) => scrubOf(seats)(opinionText(opinion)));
  const textOf = (seat: string) => texts[order.indexOf(seat)] ?? '';

  const shownAll = labelled(labelSeed, 'ledger', order, textOf);
  const ledger = must(
    checkLedger(
      must(
        parseReply(
          'claim_ledger',
          ask('claims.1', extractors[0].model, (delimiter) =>
            ledgerPrompt(asked, shownAll, { delimiter }),
          ),
        ),
      ),
      shownAll.map((each, index) => ({ ...each, claims: opinions[index]?.claims ?? [] })),
    ),
  );

  const offsets = reviewOffsets(order.length, reviewsPerSeat);
  const assigned = reviewAssignments(order, offsets);
  const reviews = seats.map(({ seat, model }) => {
    const answers = labelled(labelSeed, seat, assigned[seat] ?? [], textOf);
    return must(
      checkReview(
        must(
          parseReply(
            'review',
            ask(`review.${seat}`, model, (delimiter) =>
              reviewPrompt(
                asked,
                { answers, claims: ledger.claims, options: ledger.options },
                { delimiter, seed: labelSeed, reviewer: seat },
              ),
            ),
          ),
        ),
        {
          labels: answers.map(({ label }) => label),
          claimIds: ledger.claims.map(({ id }) => id),
          optionIds: ledger.options.map(({ id }) => id),
        },
      ),
    );
  });

  const ballots = Object.fromEntries(
    order.map((seat, index): [string, Ballot] => [
      seat,
      ballotOf(reviews[index], seatsByLabel(labelSeed, seat, assigned[seat] ?? [])),
    ]),
  );
  const seatOf = seatsByLabel(labelSeed, 'ledger', order);
  const named = (labels: readonly string[]) => labels.map((label) => seatOf.get(label) ?? '');
  const scores = computeScores({
    seed: labelSeed,
    seats,
    ballots,
    ledger: {
      scored: true,
      notes: [],
      claims: ledger.claims.map(({ id, importance, authors, flips }) => ({
        id,
        importance,
        authors: named(authors),
        flips: named(flips),
      })),
      options: ledger.options.map(({ id, labels }) => ({ id, seats: named(labels) })),
    },
    opinions: Object.fromEntries(
      order.map((seat, index) => [
        seat,
        {
          confidence: opinions[index]?.stated_confidence ?? 0,
          characters: texts[index]?.length ?? 0,
        },
      ]),
    ),
    reviewOrder: { order, offsets },
    minFamilies: 3,
    process: [],
  });
  const claims = ledger.claims.map(({ id, text, importance }) => ({
    id,
    text,
    importance,
    agree: scores.claims[id]?.agree.length ?? 0,
    disagree: scores.claims[id]?.disagree.length ?? 0,
    unsure: scores.claims[id]?.unsure.length ?? 0,
  }));
  const consensusIds = [...scores.consensus];
  const flaws = (scores.flaws ?? []).map(({ id, aboutSeat, reviewers }) => ({
    id,
    texts: reviewers.flatMap((reviewer) => {
      const bySeat = seatsByLabel(labelSeed, reviewer, assigned[reviewer] ?? []);
      return (reviews[order.indexOf(reviewer)]?.fatalFlaws ?? []).flatMap(({ label, text }) =>
        bySeat.get(label) === aboutSeat ? [text] : [],
      );
    }),
  }));
  const optionId = votedOption(scores) ?? '';
  const contestedIds = scores.disagreements
    .map(({ about }) => about)
    .filter((about) => about !== 'decision');
  const prompt = (delimiter: string) =>
    draftPrompt(
      asked,
      {
        decision: { optionId, heading: headingOf(scores) },
        flaws,
        critiques: [],
        reasons: [],
        claims,
        options: ledger.options.map((option) => ({
          ...option,
          votes: scores.decision.votes[option.id]?.length ?? 0,
        })),
        topAnswers: shownAll.slice(0, 3),
        consensusIds,
        disagreements: contestedIds.map((claimId) => ({ claimId, for: '', against: '' })),
        minority: null,
        complaints: [],
        lastDraft: null,
      },
      { delimiter },
    );
  const draft = must(parseReply('draft', ask('draft.1', synthesizers[0].model, prompt)));
  const checks = checkDraft(draft, {
    claimIds: claims.map(({ id }) => id),
    optionId,
    flawIds: flaws.map(({ id }) => id),
    consensusIds,
    disagreementIds: contestedIds,
    minorityIds: [],
    question: [asked.challenge, asked.context, ...asked.objectives, ...asked.constraints],
    corpus: [
      ...claims.map(({ text }) => text),
      ...ledger.options.map(({ text }) => text),
      ...flaws.flatMap(({ texts: all }) => all),
    ],
  });
  const consensus = claims.filter(({ id }) => consensusIds.includes(id));
  const { contradicts } = checkVerification(
    must(
      parseReply(
        'verification',
        ask('verify.1.1', verifiers[0][0].model, (delimiter) =>
          verificationPrompt(draft, consensus, { delimiter }),
        ),
      ),
    ),
    consensusIds,
    draftAsText(draft),
  );
  return {
    seats,
    opinions,
    texts,
    ledger,
    reviews,
    claims,
    consensusIds,
    contestedIds,
    rankings: Object.fromEntries(
      Object.entries(ballots).map(([seat, { ranking }]) => [
        seat,
        ranking.map((group) => [...group]),
      ]),
    ),
    scores,
    draft,
    checks,
    contradicts,
  };
}

export function challenge(text: string, more: Partial<Challenge> = {}): Challenge {
  return {
    type: 'business_strategy',
    challenge: text,
    context: '',
    objectives: [],
    constraints: [],
    ...more,
  };
}

function headingOf({ verdict }: Scores): 'recommendation' | 'no_majority' | 'undecidable' {
  const heading = verdict?.heading ?? 'recommendation';
  return heading === 'best_single_answer' ? 'recommendation' : heading;
}

function ballotOf(review: CheckedReview | undefined, seatOf: ReadonlyMap<string, string>): Ballot {
  if (review === undefined) throw new Error('A review is missing.');
  const seat = (label: string) => seatOf.get(label) ?? '';
  return {
    ranking: review.ranking.map((group) => group.map(seat)),
    scores: Object.fromEntries(
      Object.entries(review.scores).map(([label, marks]) => [seat(label), marks]),
    ),
    votes: review.votes,
    decision: {
      optionId: review.decision.optionId,
      seat: review.decision.label === null ? null : seat(review.decision.label),
    },
    suspects: review.suspects.map(seat),
    scoresContradict: review.scoresContradict,
    fatalFlaws: Object.fromEntries(review.fatalFlaws.map(({ label }) => [seat(label), 1])),
  };
}

function seatsByLabel(seed: string, reader: string, shown: readonly string[]): Map<string, string> {
  return new Map(
    Object.entries(labelsFor(seed, reader, shown)).map(([seat, label]) => [label, seat]),
  );
}

function familyOf(model: string): string {
  if (model.startsWith('gpt')) return 'openai';
  if (model.startsWith('claude')) return 'anthropic';
  return model.startsWith('gemini') ? 'google' : 'mistral';
}

function labelled(
  seed: string,
  reader: string,
  seats: readonly string[],
  textOf: (seat: string) => string,
): { label: string; text: string }[] {
  const labels = labelsFor(seed, reader, seats);
  return seats.map((seat) => ({ label: labels[seat] ?? '', text: textOf(seat) }));
}

function must<Value>(checked: Checked<Value>): Value {
  if (!checked.ok) throw new Error(checked.reason);
  return checked.value;
}
