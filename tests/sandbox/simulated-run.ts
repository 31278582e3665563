import { checkDraft } from '#services/optimizations/prompts/draft.ts';
import type { DraftCheckResult } from '#services/optimizations/prompts/draft.ts';
import { scrubOf } from '#services/optimizations/prompts/scrub.ts';
import {
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
import type { Ballot, Scores } from '#services/optimizations/run/events.ts';
import { reviewOffsets } from '#services/optimizations/council/assignments.ts';
import { labelsFor } from '#services/platform/seeded.ts';
import { respond } from '#services/sandbox/models/responder/respond.ts';

/**
 * A run without its state machine: our prompts, the sandbox's answers, our checks and our figures.
 */
export type Panel = readonly {
  seat: string;
  role: 'strategic' | 'risk' | 'implementation';
  model: string;
}[];

export const balancedPanel: Panel = [
  { seat: 'S1', role: 'strategic', model: 'gpt-6.1-terra' },
  { seat: 'S2', role: 'strategic', model: 'claude-sonnet-5-5' },
  { seat: 'S3', role: 'strategic', model: 'gemini-4-hydrogen' },
  { seat: 'R1', role: 'risk', model: 'mistral-medium-2604' },
  { seat: 'R2', role: 'risk', model: 'claude-haiku-5-5' },
  { seat: 'I1', role: 'implementation', model: 'gemini-3.8-flash' },
  { seat: 'I2', role: 'implementation', model: 'gpt-6-luna' },
];

export type SimulatedRun = {
  opinions: Opinion[];
  texts: string[];
  ledger: CheckedLedger;
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

const delimiter = '0123456789abcdef';

export function simulate(
  asked: Challenge,
  {
    seed = 'sandbox',
    labelSeed = 'labels',
    panel = balancedPanel,
  }: { seed?: string; labelSeed?: string; panel?: Panel } = {},
): SimulatedRun {
  const ask = (model: string, prompt: StagePrompt) =>
    respond({
      provider: 'any',
      model,
      system: prompt.system,
      prompt: prompt.prompt,
      schemaName: prompt.schema?.name ?? null,
      seed,
    }).text;

  const opinions = panel.map(({ model, role }) =>
    must(parseReply('opinion', ask(model, opinionPrompt(asked, role, { delimiter })))),
  );
  const texts = opinions.map((opinion) => scrubOf(panel)(opinionText(opinion)));
  const textOf = (seat: string) => texts[panel.findIndex((each) => each.seat === seat)] ?? '';

  const shownAll = labelled(
    labelSeed,
    'ledger',
    panel.map(({ seat }) => seat),
    textOf,
  );
  const ledger = must(
    checkLedger(
      must(
        parseReply(
          'claim_ledger',
          ask('gpt-5.6-luna', ledgerPrompt(asked, shownAll, { delimiter })),
        ),
      ),
      shownAll.map((answer, index) => ({ ...answer, claims: opinions[index]?.claims ?? [] })),
    ),
  );

  const reviews = panel.map(({ seat, model }) => {
    const others = panel.map((each) => each.seat).filter((each) => each !== seat);
    const answers = labelled(labelSeed, seat, others, textOf);
    const prompt = reviewPrompt(
      asked,
      { answers, claims: ledger.claims, options: ledger.options },
      { delimiter, seed: labelSeed, reviewer: seat },
    );
    return must(
      checkReview(must(parseReply('review', ask(model, prompt))), {
        labels: answers.map(({ label }) => label),
        claimIds: ledger.claims.map(({ id }) => id),
        optionIds: ledger.options.map(({ id }) => id),
      }),
    );
  });

  const seats = panel.map((seat) => ({
    ...seat,
    provider: familyOf(seat.model),
    family: familyOf(seat.model),
    effort: null,
    simulated: true,
  }));
  const order = panel.map(({ seat }) => seat);
  const ballots = Object.fromEntries(
    panel.map(({ seat }, index): [string, Ballot] => [
      seat,
      ballotOf(reviews[index], seatsByLabel(labelSeed, seat, order)),
    ]),
  );
  const seatOf = seatsByLabel(labelSeed, 'ledger', order, true);
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
      panel.map(({ seat }, index) => [
        seat,
        {
          confidence: opinions[index]?.stated_confidence ?? 0,
          characters: texts[index]?.length ?? 0,
        },
      ]),
    ),
    reviewOrder: { order, offsets: reviewOffsets(order.length, order.length - 1) },
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
  const contestedIds = scores.disagreements
    .map(({ about }) => about)
    .filter((about) => about !== 'decision');
  const prompt = draftPrompt(
    asked,
    {
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
  const draft = must(parseReply('draft', ask('claude-sonnet-5-5', prompt)));
  const checks = checkDraft(draft, {
    claimIds: claims.map(({ id }) => id),
    optionIds: ledger.options.map(({ id }) => id),
    consensusIds,
    disagreementIds: contestedIds,
    minorityIds: [],
    corpus: [
      asked.challenge,
      asked.context,
      ...asked.objectives,
      ...asked.constraints,
      ...texts,
      ...claims.map(({ text }) => text),
    ],
  });
  const consensus = claims.filter(({ id }) => consensusIds.includes(id));
  const { contradicts } = checkVerification(
    must(
      parseReply(
        'verification',
        ask('gpt-6.1-terra', verificationPrompt(draft, consensus, { delimiter })),
      ),
    ),
    consensusIds,
  );
  return {
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

/** Twenty different questions of the eight types. */
export const questions: readonly Challenge[] = [
  challenge(
    'Should I raise the price of my $29 watercolor course to $79 or add a monthly membership?',
    {
      context: 'I have 1,400 past students and about 12% buy again.',
      objectives: ['Reach $6,000 a month by summer'],
      constraints: ['No paid ads', 'No more than 15 hours a week'],
    },
  ),
  challenge(
    'I run a small bakery in Lyon and I am overwhelmed. Should I hire a part-time baker or buy a bigger oven?',
    {
      type: 'hiring',
      constraints: ['Budget of €8,000'],
    },
  ),
  challenge('How do I get more bookings for my yoga studio without paid ads?', {
    type: 'marketing',
    context: 'We have 60 members and 4 teachers.',
    objectives: ['Fill the weekday morning classes'],
  }),
  challenge('Should I sell my Notion templates on Gumroad or Etsy?', { type: 'sales' }),
  challenge(
    'Is it worth quitting my day job to go full-time on my newsletter with 4,200 subscribers and $1,800 a month?',
    {
      type: 'finance',
    },
  ),
  challenge(
    'Our agency has 12 clients. Should we niche down to dentists, stay general, or build a SaaS product?',
  ),
  challenge(
    'We are torn between hiring a virtual assistant and automating our invoicing with software.',
    {
      type: 'operations',
    },
  ),
  challenge('My sales have been flat for 6 months. What should I change first?', {
    type: 'sales',
    objectives: ['Win back former customers'],
  }),
  challenge('What should I charge for my career coaching?', { type: 'product' }),
  challenge('Should I open a second shop in Ghent?', { constraints: ['No bank loan'] }),
  challenge('Should my online store start running Google ads or invest in SEO?', {
    type: 'marketing',
  }),
  challenge(
    'I want to decide whether to take a loan of €20,000 for a new van or keep renting one.',
    {
      type: 'finance',
    },
  ),
  challenge('How can I reduce churn in my habit tracking app?', {
    type: 'product',
    context: 'About 9% of 800 users cancel each month.',
  }),
  challenge('Do I switch from hourly billing to a monthly retainer?', { type: 'finance' }),
  challenge('What is the best way to find my first 10 customers for an AI bookkeeping tool?', {
    type: 'sales',
  }),
  challenge(
    'I am a freelance photographer. Should I discount my wedding packages for the winter season?',
    {
      type: 'marketing',
    },
  ),
  challenge(
    'Should I fire my biggest client, who makes up 45% of my revenue but causes most of my stress?',
    {
      type: 'other',
    },
  ),
  challenge('How do I deliver custom furniture orders on time without working weekends?', {
    type: 'operations',
  }),
  challenge('Should I bring in a co-founder for my language school or stay solo?', {
    type: 'hiring',
  }),
  challenge('Should I accept a wholesale contract from a supermarket chain for my hot sauce?', {
    type: 'other',
    context: 'They want 2,000 bottles a month at half of my retail price.',
  }),
];

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
    fatalFlaws: {},
  };
}

function seatsByLabel(
  seed: string,
  reader: string,
  order: readonly string[],
  withReader = false,
): Map<string, string> {
  const shown = order.filter((seat) => withReader || seat !== reader);
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
