/**
 * Every weight, cut-off and band of the council's figures, under one version that each result carries.
 * A changed number is a new version, because figures of different versions must not be compared.
 * Shares are 0–1, confidences 0–100.
 */
export type Metric = {
  version: string;
  /** A seat's vote weighs (seats of its family)^−exponent: 0.5 is 1/√size, 1 is 1/size. */
  familyExponent: number;
  /** Votes with a stance below which a question is not counted at all. */
  minimumVotes: number;
  /** Share of voters who took a stance below which a claim is called uncertain and not scored. */
  minimumParticipation: number;
  /** Weights of the three parts; `withoutRank` holds when the order's agreement is not measurable. */
  weights: {
    all: PartWeights;
    withoutRank: PartWeights;
  };
  /** The score is at most `score` when a claim of that importance has such a minority. */
  cap: { score: number; importance: number; minorityShare: number };
  /**
   * Copies of one model tend to agree. With fewer makers or different models than these no winner is
   * clear and the score is at most `score`. Null: the version did not count them.
   */
  copies: { makers: number; models: number; score: number } | null;
  /**
   * The vote chooses the option, and what is contested is no consensus. Before, the draft chose.
   */
  decides: boolean;
  /** Flags by reviewers that leave out a seat whose answer code found to instruct them. */
  suspicion: { flags: number };
  /** Lowest score of each band. */
  bands: { strong: number; majority: number; contested: number };
  rank: {
    /** Answers that two reviewers must both have ranked for their orders to be compared. */
    commonAnswers: number;
    /** Pairs of reviewers that can be compared below which nothing is said. */
    minimumPairs: number;
    /**
     * Reviewers who compared each two answers below which win rates order the answers. Null: Kemeny
     * always did.
     */
    kemenyCoverage: number | null;
  };
  clearWinner: {
    /** Reviewers who compared the first two answers below which nothing is said. */
    comparisons: number;
    /** How many of the best answers must all have been compared with each other. */
    amongFirst: number;
    margin: number;
    rankAgreement: number;
  };
  camps: {
    /** Fewest reviewers of a camp, and the least share of all weight that it holds. */
    seats: number;
    share: number;
    /** Mean τ that each camp needs within itself, and that the two may at most have between them. */
    within: number;
    between: number;
  };
  consensus: { agreeShare: number; voterShare: number; families: number; firmDissent: number };
  disagreement: {
    minorityShare: number;
    dissenters: number;
    /** Or as many as are seated. */
    families: number;
    firmDissent: number;
    firmImportance: number;
    /** The decision has no importance of its own; it weighs like the most important claim. */
    decisionImportance: number;
  };
  uncertainty: { unsureShare: number; seats: number };
  confidence: {
    q: number;
    support: number;
    stated: number;
    /** How much of a stated confidence is believed, until its model is calibrated on outcomes. */
    shrinkage: number;
  };
  bias: {
    /** Degrees of freedom of the residuals below which a slope is not given. */
    residualDegrees: number;
    /** Answers below which no τ between length and q could be distinguished from chance. */
    verbosityAnswers: number;
  };
};

type PartWeights = { decision: number; claims: number; rank: number };

const agreementV1: Metric = {
  version: 'agreement_v1',
  familyExponent: 0.5,
  minimumVotes: 3,
  minimumParticipation: 1 / 2,
  weights: {
    all: { decision: 0.45, claims: 0.4, rank: 0.15 },
    withoutRank: { decision: 0.53, claims: 0.47, rank: 0 },
  },
  cap: { score: 60, importance: 3, minorityShare: 1 / 3 },
  copies: null,
  decides: false,
  suspicion: { flags: 1 },
  bands: { strong: 80, majority: 60, contested: 40 },
  rank: { commonAnswers: 3, minimumPairs: 3, kemenyCoverage: null },
  clearWinner: { comparisons: 3, amongFirst: 3, margin: 0.34, rankAgreement: 0.2 },
  camps: { seats: 3, share: 1 / 3, within: 0.5, between: -0.25 },
  consensus: { agreeShare: 2 / 3, voterShare: 2 / 3, families: 3, firmDissent: 80 },
  disagreement: {
    minorityShare: 1 / 3,
    dissenters: 2,
    families: 2,
    firmDissent: 80,
    firmImportance: 3,
    decisionImportance: 3,
  },
  uncertainty: { unsureShare: 1 / 2, seats: 2 },
  confidence: { q: 0.5, support: 0.3, stated: 0.2, shrinkage: 0.5 },
  bias: { residualDegrees: 3, verbosityAnswers: 5 },
};

const agreementV2: Metric = {
  ...agreementV1,
  version: 'agreement_v2',
  // Below the band `majority`, so that a contested decisive claim reads "contested".
  cap: { ...agreementV1.cap, score: 59 },
  copies: { makers: 2, models: 4, score: 79 },
  decides: true,
  // Ordinary advice can look like an instruction, so one hostile reviewer must not leave a seat out.
  suspicion: { flags: 2 },
  rank: { ...agreementV1.rank, kemenyCoverage: 4 },
};

/** Every run counted from now on. */
export const currentMetric: Metric = agreementV2;

const metrics: readonly Metric[] = [agreementV1, agreementV2];

/** The metric that a run's scores name; null for a version that this program does not know. */
export function metricOf(version: string): Metric | null {
  return metrics.find((metric) => metric.version === version) ?? null;
}

/**
 * `value` ≥ `limit`, where a sum may miss an exact limit by its last digits: which digits those are
 * depends on the order of its terms, and no order of seats may decide anything.
 */
export function reaches(value: number, limit: number): boolean {
  return value >= limit - precision;
}

/** Figures nearer to each other than this are the same figure. */
export const precision = 1e-9;
