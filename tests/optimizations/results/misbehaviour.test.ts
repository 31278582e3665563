import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadCatalogue } from '#services/models/catalogue.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { preparedCases } from '#services/sandbox/models/cases.ts';
import { createSimulator } from '#services/sandbox/models/simulator/respond.ts';
import { readMaterial } from '#services/sandbox/models/simulator/material.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import type { Person } from '#tests/support/app.ts';
import { oneIn } from '#tests/support/properties.ts';
import { give } from '#tests/support/processes/service.ts';

/** Models that misbehave at one stage: always, or only at the first draft of a run. */
type Reply = Readonly<Record<string, unknown>>;
type Change = (reply: Reply, written: string) => Reply | string;
type Persona = { stage: string; isOnce?: true; change: Change };

const { strategies } = loadCatalogue(null);
/** With this seed each has a recommendation, a flaw, points of agreement and disputed claims. */
const seed = 'trouble 13';
const asked = [
  ['fast', 'build-next'],
  ['balanced', 'fixed-price-package'],
  ['economy', 'thin-quarter'],
] as const;

const otherOption: Change = (draft) => ({
  ...draft,
  option_id: draft['option_id'] === 'o1' ? 'o2' : 'o1',
});
const noFlawReplies: Change = (draft) => ({ ...draft, flaw_replies: [] });
const contradiction = (quote: string) => (claimId: string) => ({
  contradicts_consensus: true,
  contradictions: [{ claim_id: claimId, quote, explanation: 'It says the opposite.' }],
});

type Ending = {
  heading: 'recommendation' | 'best_single_answer';
  /** Drafts that were written. */
  drafts: number;
  /** Of the last draft that was judged, if it failed. */
  failed?: string;
  verified: 'two' | 'none';
  because: string | null;
  /** Of the price, rounded up. */
  returned: 0 | 0.25;
};
const asDesigned: Ending = {
  heading: 'recommendation',
  drafts: 1,
  verified: 'two',
  because: null,
  returned: 0,
};
const repaired: Ending = { ...asDesigned, drafts: 2 };
const withoutDraft: Ending = {
  heading: 'best_single_answer',
  drafts: 3,
  verified: 'none',
  because: 'No recommendation passed its checks, so the best single answer is shown instead.',
  returned: 0.25,
};

const table: readonly [string, Persona, Ending][] = [
  [
    'writes for another option than the vote chose',
    { stage: 'draft', change: otherOption },
    { ...withoutDraft, failed: 'decision_not_voted' },
  ],
  [
    'writes for another option once',
    { stage: 'draft', isOnce: true, change: otherOption },
    repaired,
  ],
  [
    'leaves a flaw unanswered',
    { stage: 'draft', change: noFlawReplies },
    { ...withoutDraft, failed: 'flaw_unanswered' },
  ],
  [
    'leaves a flaw unanswered once',
    { stage: 'draft', isOnce: true, change: noFlawReplies },
    repaired,
  ],
  [
    'invents a price',
    {
      stage: 'draft',
      change: (draft) => ({ ...draft, decision: `${String(draft['decision'])} It costs $98,765.` }),
    },
    { ...withoutDraft, failed: 'numbers' },
  ],
  [
    'writes no draft',
    { stage: 'draft', change: () => 'I would rather not.' },
    { ...withoutDraft, drafts: 0 },
  ],
  [
    'finds a contradiction in words that no draft has',
    { stage: 'verification', change: (_reply, claim) => contradiction('Never do it.')(claim) },
    asDesigned,
  ],
  [
    'finds a contradiction in the words of the draft',
    { stage: 'verification', change: (_reply, claim) => contradiction(quoteOfDraft)(claim) },
    { ...withoutDraft, failed: 'contradicts_consensus' },
  ],
  [
    'does not verify',
    { stage: 'verification', change: () => 'Looks fine.' },
    { ...asDesigned, verified: 'none' },
  ],
  [
    'gives no reason for its votes',
    {
      stage: 'review',
      change: (review) => ({
        ...review,
        votes: (review['votes'] as Reply[]).map((vote) => ({ ...vote, reason: '' })),
        decision_vote: { ...(review['decision_vote'] as Reply), reason: '' },
      }),
    },
    asDesigned,
  ],
  [
    'writes no ledger',
    { stage: 'claim_ledger', change: () => 'Many claims.' },
    {
      ...withoutDraft,
      drafts: 0,
      because: "The claims couldn't be merged, so no recommendation was written.",
    },
  ],
];
/** Stands in every draft, because the persona below puts it there. */
const quoteOfDraft = 'This is decided.';

let council: TestCouncil;
let person: Person;
let persona: Persona | null = null;
beforeAll(async () => {
  const simulated = createSimulator(strategies);
  council = await createTestCouncil({
    seed,
    respond: (request) => {
      const answer = simulated(request);
      const { stage, isOnce, change } = persona ?? { stage: null, change: null };
      const isRepair = request.prompt.includes('failed the checks listed');
      const reply = JSON.parse(answer.text) as Reply;
      const [[point = ''] = []] = readMaterial(request.prompt).rows('consensus');
      const own =
        request.schemaName === 'draft'
          ? { ...reply, decision: `${String(reply['decision'])} ${quoteOfDraft}` }
          : reply;
      const given =
        request.schemaName !== stage || change === null || (isOnce && isRepair)
          ? own
          : change(own, point);
      return { ...answer, text: typeof given === 'string' ? given : JSON.stringify(given) };
    },
  });
  person = await council.signUp();
  await give(council, person.userId, 2000);
});
afterAll(async () => council.close());

test.each(oneIn(2, table).map((row, at) => [...row, asked[at % asked.length]!] as const))(
  'a model that %s ends a run as designed',
  async (_, of, ending, [strategy, name]) => {
    persona = of;
    const found = preparedCases().find((each) => each.case === name);
    const { title: _title, type, ...question } = found!.question;
    const run = await council.ask(person, { ...question, challenge_type: type, strategy });
    const price = strategies.find(({ id }) => id === strategy)!.credits;
    const refunded = Math.ceil(price * ending.returned);
    expect(endingOf(run)).toEqual(ending);
    expect(run.credits).toMatchObject({ charged: price - refunded, refunded });
  },
);

function endingOf(run: Optimization): Ending {
  const { result, council: view, ended_because: because, credits } = run;
  const rounds = Object.values(view.rounds);
  const failed = rounds.findLast(({ failed: names }) => names.length > 0)?.failed;
  return {
    heading: result?.heading as Ending['heading'],
    drafts: Object.values(view.calls).filter(({ draft }) => draft !== null).length,
    ...(result?.heading === 'best_single_answer' && failed && !failed[0]?.startsWith('draft_')
      ? { failed: failed.join(', ') }
      : {}),
    verified: result?.verified as Ending['verified'],
    because,
    returned: credits.refunded === 0 ? 0 : 0.25,
  };
}
