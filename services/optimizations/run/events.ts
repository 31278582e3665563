import type {
  Effort,
  FailureClass,
  StructuredOutput,
  UsageRecord,
} from '#services/models/model.ts';
import type { PriceRow } from '#services/models/catalogue/prices.ts';
import type { ProviderClass } from '#services/models/offer.ts';
import type { SeatRole, StrategyId } from '#services/models/strategy-list.ts';
import type { Lanes } from '#services/models/waiting.ts';

/**
 * The events of one run, stream `optimization-opt_…`. They are a file format: plain JSON, never
 * changed after they ship; a field may be added as optional, anything else is a new type.
 *
 * Text of a person or a model is in `sealed` only (AES-256-GCM, see
 * `platform/seal.ts`); ids, numbers, statuses, usage and times are plain, so that every decision can
 * be replayed after the text has been erased. Costs are integer micro-dollars, times ISO 8601 UTC.
 */

export const challengeTypes = [
  'business_strategy',
  'marketing',
  'operations',
  'finance',
  'product',
  'sales',
  'hiring',
  'other',
] as const;
export type ChallengeType = (typeof challengeTypes)[number];

/** A model in a run: on the panel, or as extractor, synthesiser or verifier. */
export type CouncilModel = {
  model: string;
  /** As people read it; absent in runs of v0.1. */
  name?: string;
  provider: string;
  effort: Effort | null;
  simulated: boolean;
  /** The id that the provider knows it by; absent where that is `model`. */
  remoteId?: string;
  /** The levels that it knows. */
  efforts?: readonly Effort[];
  /** Absent: `schema`. */
  structuredOutput?: StructuredOutput;
  /** The most tokens that it can write; absent: as many as the run allows. */
  maxOutputTokens?: number;
};

/** The part of it that a call's start records. */
export type CalledModel = Pick<
  CouncilModel,
  'model' | 'provider' | 'effort' | 'simulated' | 'remoteId'
>;

/** `seat` is the code people see: S1, R2, I3. */
export type Seat = CouncilModel & {
  seat: string;
  role: SeatRole;
  family: string;
  /** Of its review, which `effort` is not; absent in runs of v0.1, where one effort served both. */
  reviewEffort?: Effort | null;
};

/** How the panel differs from the strategy's design, in words. */
export type SeatingFacts = {
  substitutions: readonly {
    /** The seat, or the role in words. */
    seat: string;
    wanted: string;
    seated: string;
    reason: string;
  }[];
  independence: readonly string[];
};

/** All other input of a run's decisions besides the panel, fixed when it is created. */
export type Schedule = {
  reviewsPerSeat: number;
  /** First and second. */
  extractors: readonly CouncilModel[];
  /** First and other. */
  synthesizers: readonly CouncilModel[];
  /** For each synthesiser the two models that verify its draft. */
  verifiers: readonly (readonly CouncilModel[])[];
  minFamilies: number;
  /** What a run of this strategy usually takes, for the estimate that people see. */
  typicalSeconds: number;
  /** The seat with the most expensive model: its absence matters most. */
  strongest: string;
  /** In runs of v0.1: a price was last read more than 30 days before it was created. */
  pricesStale?: boolean;
  /**
   * By model, the prices that this run's costs use: a call costs the row in force when it starts.
   * Absent in runs of v0.1, as is `maxOutputTokens`, the bound of one call's output.
   */
  prices?: Readonly<Record<string, readonly PriceRow[]>>;
  maxOutputTokens?: number;
  /** By model: the tokens of context that a local server loads it with. */
  numCtx?: Readonly<Record<string, number>>;
  deadlinesMs: {
    opinionsSoft: number;
    opinionsHard: number;
    claims: number;
    reviewsSoft: number;
    reviewsHard: number;
    synthesis: number;
    run: number;
  };
  /** The providers whose calls wait for a place over all processes; absent when none does. */
  lanes?: Lanes;
};

/**
 * A call's place: `opinion.S1`, `claims.1` and `claims.2` (first and second extractor), `review.S1`,
 * `draft.1` to `draft.3`, `verify.<round>.<1|2>`. A call is a slot and an attempt.
 */
export type Slot = string;

export type Stance = 'agree' | 'disagree' | 'unsure';

export type Rubric = {
  correctness: number;
  relevance: number;
  completeness: number;
  feasibility: number;
  riskAwareness: number;
};

/** `reason` is in views only: an event seals it. */
export type Vote = { stance: Stance; confidence: number; reason?: string };

/** One reviewer's answer in plain ids: labels are already turned back into seats. */
export type Ballot = {
  /** Best first; seats in one group are tied. Only the seats that were shown. */
  ranking: readonly (readonly string[])[];
  scores: Readonly<Record<string, Rubric>>;
  votes: Readonly<Record<string, Vote>>;
  /** `seat`: the best argument for it; null when no shown answer argues for it. */
  decision: { optionId: string; seat: string | null; reason?: string };
  suspects: readonly string[];
  /** The scores contradicted the ranking; the ranking counts. */
  scoresContradict: boolean;
  fatalFlaws: Readonly<Record<string, number>>;
};

/** A ballot of a refinement: it votes again on some claims and on the decision, and ranks nothing. */
export type SecondVote = Pick<Ballot, 'votes'> & { optionId: string };

export type ClaimFixed = {
  id: string;
  importance: 1 | 2 | 3;
  /** Seats that hold this claim. */
  authors: readonly string[];
  /** Authors who said that their recommendation flips if this is false. */
  flips: readonly string[];
  /** In a fallback ledger: the place of the text. */
  from?: { seat: string; index: number };
};

export type OptionFixed = { id: string; seats: readonly string[] };

/** Assumptions or missing information that two or more seats named; the texts are sealed. */
export type SharedNote = {
  id: string;
  kind: 'assumption' | 'missing_info';
  seats: readonly string[];
};

export type Ledger = {
  claims: readonly ClaimFixed[];
  options: readonly OptionFixed[];
  notes: readonly SharedNote[];
};

export type DraftChecks = {
  /** Share of consensus claim ids that the draft cites, 0–1; 1 when there are none. */
  consensusCoverage: number;
  /** Share of disagreement and minority claim ids, 0–1. */
  disagreementCoverage: number;
  /** Share of statements without a claim id, 0–1. */
  uncitedShare: number;
  /** Numbers in the draft that are in no source. */
  unknownNumbers: number;
  passed: boolean;
  /** Names of the checks that failed. */
  failed: readonly string[];
};

/** The findings of a reply, made by the task because only a task can read the text. */
export type CallOutcome =
  | {
      kind: 'opinion';
      confidence: number;
      claims: readonly { importance: 1 | 2 | 3; flips: boolean }[];
      characters: number;
      /** Code found an attempt to instruct its reviewers. */
      injectionFound: boolean;
    }
  | ({ kind: 'claims'; rejectedQuotes: number } & Ledger)
  | { kind: 'review'; ballot: Ballot }
  | ({ kind: 'second_vote' } & SecondVote)
  | { kind: 'draft'; optionId: string; checks: DraftChecks }
  /** A contradiction counts only with words of the draft as they are there. */
  | { kind: 'verify'; contradicts: boolean; claimIds: readonly string[] };

/**
 * `excluded` answered, but was left out of the vote. `not_offered`: of a refinement, whose model has
 * gone since.
 */
export type MissingSeat = { seat: string; why: FailureClass | 'lost' | 'late' | 'not_offered' };

/** How the hold of a run ends. */
export type Charge = { kind: 'release' } | { kind: 'capture'; capture: number; refund: number };

/** `nothing`: the run cost nothing, so there is no hold. */
export type Settlement = Charge | { kind: 'nothing' };

/** What a completed run publishes; `docs/method.md` defines each. */
export const headings = [
  'recommendation',
  'no_majority',
  'best_single_answer',
  'undecidable',
] as const;
export type Heading = (typeof headings)[number];

/** The days after a result on which its owner is asked what came of it. */
export const askedDays = [30, 90] as const;
export type AskedDay = (typeof askedDays)[number];

/** What happened, in the words of who asked. Only the first two speak for a result, and the last for none. */
export const happenings = ['better', 'as_expected', 'worse', 'too_early'] as const;
export type Happened = (typeof happenings)[number];

/** The option of every ledger that says that the question cannot be decided from what was given. */
export const undecidableOption = 'undecidable';

/** Claims that a refinement votes on, at most. */
export const refinedClaims = 10;

/**
 * What a refinement needs of the run that it starts from, in ids and numbers: it is decided and counted
 * from its own events alone. The texts are read from the runs themselves.
 */
export type Refines = {
  /** The run that is no refinement. Its key seals all texts. */
  root: string;
  /** The root, or the completed refinement of it that this one starts from. */
  previous: string;
  /** Its last event when the refinement was created, so that its own hash covers the run before. Absent in v0.1. */
  previousHead?: { version: number; hash: string };
  /** 1 for the first refinement of its root. */
  number: number;
  /** What is new: `contested` is nothing but a second vote. */
  about: 'instruction' | 'fact' | 'contested';
  /** The claim that the changed fact is about. */
  claimId?: string;
  /** The claims that are voted on again, at most ten. */
  claims: readonly string[];
  /** Seats whose model is no longer offered. */
  notOffered: readonly string[];
  before: Before;
};

/** The council as it stood before a refinement, without seats that were left out of the vote. */
export type Before = {
  /** Of the root: ties are broken as they were there. */
  seed: string;
  order: readonly string[];
  offsets: readonly number[];
  ledger: Ledger;
  scored: boolean;
  opinions: Readonly<Record<string, { confidence: number; characters: number }>>;
  ballots: Readonly<Record<string, Ballot>>;
  /** Slots of these ballots, such as `opt_…/review.S1`. */
  inputs: readonly Slot[];
  /** What made the result less certain, such as `seats_missing`. */
  process: readonly string[];
};

/** What the vote decided. */
export type Verdict = {
  /** The heading if a draft passes. */
  heading: Heading;
  /** The option that the vote chose; null without one. */
  optionId: string | null;
  /** Without a majority: the option with most votes; of several, that of the better placed answer. */
  tieBreak: string | null;
  /** The options to compare where none is chosen. */
  contenders: readonly string[];
  /** The reviewers of two camps, where only they keep the first option from being chosen; else empty. */
  camps: readonly (readonly string[])[];
  /** The best answer that proposes the option or that its voters named; null when none does. */
  bestSeat: string | null;
};

/** An answer of the chosen option that two or more reviewers called a mistake to follow. */
export type Flaw = {
  id: string;
  aboutSeat: string;
  reviewers: readonly string[];
};

export type ConclusionReason =
  | 'quorum'
  | 'reviews'
  | 'timeout'
  | 'not_seatable'
  | 'person'
  /** Of a refinement: its start was refused, or ended before it was done. */
  | 'refused'
  | 'drafts_failed'
  /** Nothing to write about: the claims of the answers could not be merged. */
  | 'no_ledger'
  | null;

/** Numbers of `ScoresComputed`; formulas in `council.ts`. Shares are 0–1, rounded to 4 decimals. */
export type Scores = {
  metricVersion: string;
  /** Best first. */
  order: readonly string[];
  /** What made it; absent before `agreement_v2`: Kemeny. */
  ordering?: 'kemeny' | 'win_rate';
  q: Readonly<Record<string, number | null>>;
  rubricMeans: Readonly<Record<string, number | null>>;
  condorcetWinner: string | null;
  clearWinner: boolean | null;
  clearWinnerReason:
    | 'clear'
    | 'tied_orders'
    /** The win rates place another answer first; since `agreement_v2`. */
    | 'orders_differ'
    | 'narrow_margin'
    | 'no_rank_agreement'
    | 'not_enough_comparisons'
    /** One maker, or few different models; since `agreement_v2`. */
    | 'copies';
  twoCamps: boolean;
  agreement: {
    /** 0–100; null when it could not be scored. */
    score: number | null;
    band: 'strong' | 'majority' | 'contested' | 'split' | null;
    decision: number | null;
    claims: number | null;
    rank: number | null;
    /** The cap that lowered the score; `agreement_v1` stored whether its only one did. */
    capped: boolean | 'contested' | 'copies' | null;
    /** The score with the decision read from answer labels instead of options. */
    byAnswer: number | null;
    whyNull: 'no_ledger' | 'too_few_votes' | null;
  };
  claims: Readonly<
    Record<
      string,
      {
        agree: readonly string[];
        disagree: readonly string[];
        unsure: readonly string[];
        /** Family-weighted share of agreement among those who did not abstain. */
        agreeShare: number | null;
        a: number | null;
        scored: boolean;
      }
    >
  >;
  decision: {
    modal: string | null;
    share: number | null;
    votes: Readonly<Record<string, readonly string[]>>;
  };
  /** Absent in runs of v0.1, whose draft chose the decision. */
  verdict?: Verdict;
  flaws?: readonly Flaw[];
  consensus: readonly string[];
  disagreements: readonly {
    /** A claim id, or `decision`. */
    about: string;
    sides: readonly { stance: string; seats: readonly string[] }[];
    /** Seats of the minority that are so sure that they alone make it disputed. */
    firm?: readonly string[];
    weight: number;
  }[];
  minority: { seat: string; optionId: string; against: readonly string[] } | null;
  uncertainty: readonly {
    kind: 'unsure_claim' | 'assumption' | 'flips' | 'missing_info' | 'process';
    /** A claim id, a note id, or the name of a process fact. */
    ref: string;
    count: number;
  }[];
  confidence: Readonly<
    Record<string, { value: number; q: number; support: number; stated: number }>
  >;
  /** Signed distance from the majority, −1 to 1, for the braid; 0 is with the majority. */
  placement: Readonly<Record<string, number>>;
  bias: {
    positionSlope: number | null;
    leniency: Readonly<Record<string, number>>;
    leniencySpread: number | null;
    verbosityTau: number | null;
  };
};

/** The option that a recommendation is written for; null without a vote. */
export function votedOption({ verdict, decision }: Scores): string | null {
  return verdict ? (verdict.optionId ?? verdict.tieBreak) : decision.modal;
}

/** The seat whose answer stands for that option; null when no answer does. */
export function representative({ verdict, order }: Scores): string | null {
  return verdict ? verdict.bestSeat : (order[0] ?? null);
}

type CallAt = { slot: Slot; attempt: number };
/** Where a cost comes from: the provider's bill, usage times price, or nobody charges anything. */
export type CostSource = 'billed' | 'priced' | 'local';

type CallEnd = CallAt & {
  usage: UsageRecord;
  costMicros: number | null;
  /** Absent while the cost is unknown. */
  costSource?: CostSource;
  latencyMs: number;
};

/**
 * What a reply's form needed before it could be read: `json` its syntax, `clamped` a value of another
 * type or range, `defaults` a missing field, `quotes` a quote that differed in its punctuation.
 */
export type Repair = 'json' | 'clamped' | 'defaults' | 'quotes';

/** `creditsVersion` is 0 when nothing was held: a draft was cancelled. */
type Closed = { captured: number; refunded: number; creditsVersion: number };

type Event<Type extends string, Data extends Record<string, unknown>> = Readonly<{
  type: Type;
  data: Readonly<Data>;
}>;

export type OptimizationEvent =
  | Event<
      'OptimizationCreated',
      {
        userId: string;
        challengeType: ChallengeType;
        strategy: StrategyId;
        /** Of the strategy, and who answers: runs alike in both are timed together. Absent in v0.1. */
        strategyVersion?: number;
        providerClass?: ProviderClass;
        /** Credits. */
        price: number;
        /** The price holds until here. */
        priceUntil: string;
        catalogueVersion: string;
        seats: readonly Seat[];
        schedule: Schedule;
        /** Absent in runs of v0.1. */
        seating?: SeatingFacts;
        /** 32 hex characters; everything random in the run is derived from it. */
        seed: string;
        retryOf?: string;
        /** In a refinement, whose seats are those whose answers were counted before. */
        refines?: Refines;
        /** The prepared case that simulated seats answer from; absent when no seat is simulated. */
        preparedCase?: string;
        createdAt: string;
        sealed: {
          title: string;
          challenge: string;
          /** The rest of the question; a refinement finds it in its root. */
          context?: string;
          /** JSON arrays of text. */
          objectives?: string;
          constraints?: string;
          /** A JSON array of names and texts; absent without files. */
          files?: string;
          /** Of a refinement: the instruction or the changed fact. */
          instruction?: string;
        };
      }
    >
  | Event<
      'ProcessingStarted',
      {
        startedAt: string;
        runDeadlineAt: string;
        /** Part of these deadlines: runs that began before may have the lanes for so long. */
        waitMs?: number;
      } & (
        | { opinionsSoftAt: string; opinionsHardAt: string }
        /** A refinement begins with its votes. */
        | { reviewsSoftAt: string; reviewsHardAt: string }
      )
    >
  | Event<
      'CallStarted',
      CallAt &
        CalledModel & {
          startedAt: string;
          /**
           * `promptText` of the request under a subkey of the run's data key, 64 hex digits. Absent in
           * runs of v0.1, and when the run's texts were erased before the call.
           */
          promptMac?: string;
          /** `promptVersion` of the software that wrote the prompt, beside its code; absent: 1. */
          promptVersion?: number;
        }
    >
  | Event<'CallLost', CallAt & { final: boolean }>
  | Event<
      'CallSucceeded',
      CallEnd & {
        answeredBy: string;
        outcome: CallOutcome;
        /** Absent when nothing was. */
        repaired?: readonly Repair[];
        /**
         * `reply`: the model's text. Opinions add `shown`, the scrubbed text that reviewers read;
         * reviews add `notes`, JSON of ReviewNotes.
         */
        sealed: { reply: string; shown?: string; notes?: string };
      }
    >
  | Event<'CallFailed', CallEnd & { failure: FailureClass; final: boolean; retryAt: string | null }>
  /** The usage of a call that was answered too late to matter. */
  | Event<'CallCostRecorded', CallEnd>
  | Event<'SoftPassed', { stage: 'opinions' | 'reviews' }>
  | Event<
      'OpinionsClosed',
      {
        reason: 'all' | 'soft' | 'hard' | 'quorum';
        accepted: readonly string[];
        missing: readonly MissingSeat[];
        /** Base order of the accepted seats and the offsets of the review design. */
        order: readonly string[];
        offsets: readonly number[];
        /** reviewer → answer → label. */
        labels: Readonly<Record<string, Readonly<Record<string, string>>>>;
        claimsHardAt: string;
      }
    >
  | Event<
      'ClaimsFixed',
      Ledger & {
        source: 'extractor' | 'second_extractor' | 'fallback';
        /** False for a fallback ledger: votes are shown, the score is null. */
        scored: boolean;
        reviewsSoftAt: string;
        reviewsHardAt: string;
        /** Absent for a fallback, because the opinions hold its texts. JSON of LedgerTexts. */
        sealed?: { ledger: string; title?: string };
      }
    >
  | Event<
      'ReviewsClosed',
      {
        reason: 'all' | 'soft' | 'hard' | 'quorum';
        reviewers: readonly string[];
        missing: readonly MissingSeat[];
        excluded: { seat: string; why: 'injection'; flags: number } | null;
      }
    >
  | Event<
      'ScoresComputed',
      Scores & {
        /** Slots of the ballots that were counted; those of another run as `opt_…/review.S1`. */
        inputs: readonly Slot[];
        synthesisHardAt: string;
      }
    >
  | Event<'DraftChecked', { round: number; checks: DraftChecks }>
  | Event<
      'SynthesisJudged',
      {
        round: number;
        verdict: 'accept' | 'repair' | 'other_synthesizer' | 'fallback';
        verified: 'two' | 'one' | 'none';
        failed: readonly string[];
      }
    >
  | Event<
      'RunConcluded',
      {
        outcome: 'completed' | 'failed' | 'cancelled' | 'not_started';
        heading: Heading | null;
        reason: ConclusionReason;
        /** The author of the answer published under "best single answer". */
        bestSeat: string | null;
        /** No draft passed. Absent in runs of v0.1: true of their best single answers. */
        draftFailed?: boolean;
        callsStarted: number;
        missing: number;
        seats: number;
        /** An attempt returned an unusable answer with known usage. */
        answeredUnusable: boolean;
        price: number;
        settlement: Settlement;
      }
    >
  | Event<'OptimizationCompleted', Closed>
  | Event<'OptimizationFailed', Closed>
  | Event<'OptimizationCancelled', Closed>
  | Event<'OptimizationHidden', { at: string }>
  | Event<'OptimizationRestored', { at: string }>
  | Event<'OptimizationRenamed', { sealed: { title: string } }>
  /** Of a run that is no refinement. A later one of the same day replaces it. */
  | Event<
      'OutcomeRecorded',
      {
        asked: AskedDay;
        happened: Happened;
        at: string;
        /** The run whose result it is about: this one, or its newest completed refinement. */
        result: string;
        /** What its owner did; may be empty. */
        sealed: { did: string };
      }
    >;

export type OptimizationEventType = OptimizationEvent['type'];

/** The content of `CallSucceeded.sealed.notes`. Runs of v0.1 have no reasons. */
export type ReviewNotes = {
  critique: string;
  flaws: readonly { seat: string; text: string }[];
  /** By claim. */
  reasons?: Readonly<Record<string, string>>;
  decisionReason?: string;
};

/** The content of `ClaimsFixed.sealed.ledger`. */
export type LedgerTexts = {
  claims: Readonly<
    Record<string, { text: string; quotes: readonly { seat: string; quote: string }[] }>
  >;
  options: Readonly<Record<string, string>>;
  notes: Readonly<Record<string, string>>;
};

export function streamOf(runId: string): string {
  return `optimization-${runId}`;
}

export function runIdOf(streamId: string): string {
  return streamId.slice('optimization-'.length);
}

type Conclusion = Extract<OptimizationEvent, { type: 'RunConcluded' }>['data'];

/** Runs of v0.1 do not say it; there only a best single answer stood for a failed draft. */
export function hasNoDraft({
  draftFailed,
  heading,
}: Pick<Conclusion, 'draftFailed' | 'heading'>): boolean {
  return draftFailed ?? heading === 'best_single_answer';
}
