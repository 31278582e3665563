import { beforeAll, describe, expect, it } from 'vitest';
import { loadCatalogue } from '#services/models/catalogue.ts';
import { statementsOf } from '#services/optimizations/prompts/draft.ts';
import {
  ledgerPrompt,
  opinionPrompt,
  verificationPrompt,
} from '#services/optimizations/prompts/prompts.ts';
import type { StagePrompt } from '#services/optimizations/prompts/prompts.ts';
import { opinionText } from '#services/optimizations/prompts/reply-checks.ts';
import type { Draft } from '#services/optimizations/prompts/reply-schemas.ts';
import { findsInjection } from '#services/optimizations/prompts/scrub.ts';
import type { ChallengeType } from '#services/optimizations/run/events.ts';
import { optionsOf, preparedCases } from '#services/sandbox/models/cases.ts';
import type { PreparedCase } from '#services/sandbox/models/cases.ts';
import { turnOf } from '#services/sandbox/models/personas.ts';
import type { Respond } from '#services/sandbox/models/personas.ts';
import { createSimulator } from '#services/sandbox/models/simulator/respond.ts';
import { oneIn } from '#tests/support/properties.ts';
import { signFaults } from './check-case.ts';
import { challenge, simulate } from './simulated-run.ts';
import type { SimulatedRun } from './simulated-run.ts';

const catalogue = loadCatalogue(null);
const { strategies } = catalogue;
const cases = preparedCases();
const ask = ({ question }: PreparedCase) => ({
  ...question,
  type: question.type as ChallengeType,
});
const [anyCase] = cases as [PreparedCase];
const raise = cases.find((each) => each.case === 'raise-prices') ?? anyCase;

/** Every case with every strategy once. */
const rendered: { prepared: PreparedCase; run: SimulatedRun; name: string }[] = [];
beforeAll(() => {
  for (const [place, prepared] of cases.entries())
    for (const [turn, { id: strategy }] of strategies.entries()) {
      const seed = `seed ${turn * cases.length + place}`;
      const run = simulate(ask(prepared), { seed, strategy });
      rendered.push({ prepared, run, name: `${prepared.case}, ${strategy}, ${seed}` });
    }
});

/** What is wrong with a run, one sentence each. */
function problemsOf(prepared: PreparedCase, run: SimulatedRun): string[] {
  const answers = run.opinions.map((opinion) => opinionText(opinion));
  const shown = [
    ...answers.flatMap((text) => text.split('\n')),
    ...run.reviews.flatMap(({ critique, fatalFlaws }) => [
      critique,
      ...fatalFlaws.map((f) => f.text),
    ]),
    ...statementsOf(run.draft).map(({ text }) => text),
  ];
  const reasons = run.reviews.flatMap((review) => [
    ...Object.values(review.reasons),
    review.decision.reason,
  ]);
  const spoken = reasons.filter((reason) => reason !== '');
  const dissent = run.draft.dissent.map(({ text }) => text).join(' ');
  const whys = new Set(prepared.claims.map(({ why }) => why));
  const found: [boolean, string][] = [
    [run.ledger.rejectedQuotes > 0, 'a quote is rejected'],
    [run.ledger.unplaced.length > 0, 'an answer has no option'],
    [run.reviews.some((review) => review.scoresContradict), 'marks contradict their ranking'],
    [run.checks.failed.length > 0, `the draft fails ${run.checks.failed.join(', ')}`],
    [run.contradicts, 'the draft contradicts the consensus'],
    [run.draft.next_steps.length < 3, 'fewer than three steps remain'],
    [answers.some((text, at) => text !== run.texts[at]), 'scrubbing changes an answer'],
    [answers.some(findsInjection), 'an answer seems to address its reviewers'],
    [
      run.opinions.some(({ reasoning }) => !reasoning.some((each) => whys.has(each))),
      'an answer gives no reason',
    ],
    [shown.some((text) => signFaults(text).length > 0), 'a text has a fault in its signs'],
    [answers.some((text) => hasRepeats(sentencesIn(text))), 'an answer repeats a sentence'],
    [
      hasRepeats(
        sentencesIn(
          statementsOf(run.draft)
            .map(({ text }) => text)
            .join(' '),
        ),
      ),
      'the draft repeats a sentence',
    ],
    [
      hasRepeats(run.opinions.flatMap(({ reasoning }) => reasoning)),
      'two seats give the same reason',
    ],
    [hasRepeats(spoken), 'two votes have the same reason'],
    [
      spoken.some((reason) => answers.some((text) => text.includes(reason))),
      'a vote has a sentence of an answer for a reason',
    ],
    [run.reviews.some(isSilentDissent), 'a seat disagrees without a reason'],
    [
      optionsWithoutVotes(prepared, run).some(({ minority }) => dissent.includes(minority.text)),
      'the draft speaks for an option without votes',
    ],
    [needlessSharing(prepared, run), 'two seats of a role share a claim that they need not share'],
    [
      new Set(undecidedRoles(prepared, run)).size < undecidedRoles(prepared, run).length,
      'two seats of a role cannot decide',
    ],
  ];
  return found.flatMap(([isSo, what]) => (isSo ? [what] : []));
}

function isSilentDissent({ votes, reasons }: SimulatedRun['reviews'][number]): boolean {
  return Object.entries(votes).some(
    ([id, { stance }]) => stance === 'disagree' && reasons[id] === undefined,
  );
}

function optionsWithoutVotes(prepared: PreparedCase, { ledger, reviews }: SimulatedRun) {
  const voted = new Set(
    reviews.map(({ decision }) => ledger.options.find(({ id }) => id === decision.optionId)?.text),
  );
  return optionsOf(prepared).filter(({ label }) => !voted.has(label));
}

function sentencesIn(text: string): string[] {
  return text.split(/(?<=[.?!])\s+|\n/).filter((sentence) => sentence.length >= 25);
}

function hasRepeats(texts: readonly string[]): boolean {
  return new Set(texts).size < texts.length;
}

function optionBy(prepared: PreparedCase, label: string) {
  return optionsOf(prepared).find((option) => option.label === label);
}

function undecidedRoles(prepared: PreparedCase, { seats, opinions }: SimulatedRun): string[] {
  return opinions.flatMap(({ recommendation }, index) =>
    recommendation.option_label === prepared.undecidable.label ? [seats[index]?.role ?? ''] : [],
  );
}

/** A seat may repeat a claim of its role only when its role has said all that supports its option. */
function needlessSharing(prepared: PreparedCase, { seats, opinions }: SimulatedRun): boolean {
  return seats.some(({ role }, at) => {
    const saidBy = opinions.map((opinion) => opinion.claims.map(({ text }) => text));
    const fellows = seats.flatMap((seat, index) =>
      seat.role === role && index !== at ? [index] : [],
    );
    const others = fellows.flatMap((index) => saidBy[index] ?? []);
    const own = saidBy[at] ?? [];
    if (!own.some((text) => others.includes(text))) return false;
    const said = new Set([...own, ...others]);
    const sharers = [at, ...fellows].filter((index) =>
      saidBy[index]?.some((text) => own.includes(text)),
    );
    return !sharers.some((index) => {
      const option = optionBy(prepared, opinions[index]?.recommendation.option_label ?? '');
      return prepared.claims
        .filter(({ supports }) => supports.includes(option?.id ?? ''))
        .every(({ says }) => said.has(says[role]));
    });
  });
}

function winnerOf(prepared: PreparedCase, { draft }: SimulatedRun): string {
  return optionsOf(prepared).find((option) => option.draft.decision === draft.decision)?.id ?? '';
}

function votesOf(run: SimulatedRun): number[] {
  return run.ledger.options
    .map(({ id }) => run.reviews.filter((review) => review.decision.optionId === id).length)
    .toSorted((one, other) => other - one);
}

describe('a simulated run', () => {
  it('a simulated run passes all our checks and says nothing twice, whatever is drawn', () => {
    const faults = rendered.flatMap(({ prepared, run, name }) =>
      problemsOf(prepared, run).map((problem) => `${name}: ${problem}`),
    );
    expect(faults).toEqual([]);
  });

  it('a simulated run draws its outcome from the seed alone', () => {
    const used = createSimulator(strategies);
    simulate(ask(raise), { seed: 'a', strategy: 'fast', respond: used });
    expect(simulate(ask(raise), { seed: 'a', respond: used })).toEqual(
      simulate(ask(raise), { seed: 'a' }),
    );
    expect(simulate(ask(raise), { seed: 'b' }).texts).not.toEqual(
      simulate(ask(raise), { seed: 'a' }).texts,
    );
  });

  it('a simulated run is the same under other labels and another order', () => {
    const one = simulate(ask(raise), { labelSeed: 'one' });
    const other = simulate(ask(raise), { labelSeed: 'other' });
    expect(other.claims).toEqual(one.claims);
    expect(other.draft).toEqual(one.draft);
    expect(other.rankings).toEqual(one.rankings);
  });

  it('a simulated run of another question says nothing of that question', () => {
    const asked = challenge('Should I breed alpacas or plant saffron at 98765 a field?');
    const { texts, draft, checks } = simulate(asked);
    expect([...texts, ...statementsOf(draft).map(({ text }) => text)].join(' ')).not.toMatch(
      /alpaca|saffron|98765/,
    );
    expect(checks.failed).toEqual([]);
  });

  it.each(['slow', '429-then-ok', 'injection'] as const)(
    'a simulated run whose models are all %s passes our checks with every strategy',
    (persona) => {
      for (const { id: strategy } of strategies) {
        const run = simulate(ask(raise), { strategy, respond: under(persona) });
        expect([run.checks.failed, run.ledger.rejectedQuotes, run.contradicts]).toEqual([
          [],
          0,
          false,
        ]);
        const suspects = new Set(run.reviews.flatMap((review) => review.suspects));
        expect(suspects.size > 0).toBe(persona === 'injection');
      }
    },
  );
});

/** The simulator behind a persona, which all models have, at the second call. */
function under(persona: 'slow' | '429-then-ok' | 'injection'): Respond {
  const settings = {
    respond: createSimulator(strategies),
    catalogue,
    seed: 'sandbox',
    personas: { '*': persona },
  };
  return (request) => {
    const wire = { maxOutputTokens: null, effort: null, stream: true, wantsUsage: true };
    const turn = turnOf({ ...request, ...wire, provider: 'compatible' }, 2, settings);
    if (turn.kind !== 'reply') throw new Error(`The turn is a ${turn.kind}`);
    return { text: turn.text, thinkingTokens: 0 };
  };
}

describe('copies of one model', () => {
  it.each(
    oneIn(4, strategies).map(
      ({ id, panel, reviewsPerSeat }) => [id, reviewsPerSeat < panel.length - 1] as const,
    ),
  )(
    'copies of one model in all seats of %s answer differently, again and again',
    (strategy, fewReviews) => {
      const remembering = createSimulator(strategies);
      for (const [index, prepared] of [...cases, anyCase, anyCase].entries()) {
        const copies = { seed: `${index}`, strategy, copiesOf: 'qwen3:8b', respond: remembering };
        const run = simulate(ask(prepared), copies);
        const known = new Set(problemsOf(prepared, run));
        // How many sit in which role is not known beforehand, so some claims are dealt twice.
        known.delete('two seats of a role share a claim that they need not share');
        // A reviewer is recognised by the answers that it is not shown, which are many here.
        if (fewReviews) known.delete('two votes have the same reason');
        expect([...known]).toEqual([]);
        expect(new Set(run.texts).size).toBe(run.texts.length);
      }
    },
  );

  it('copies of one model vote as many ways as they recommend, each in its own seat', () => {
    const run = simulate(ask(raise), { copiesOf: 'qwen3:8b', seed: 'agree:4-3:x' });
    expect(votesOf(run)).toEqual([4, 3, 0]);
  });
});

describe('a seed that forces camps', () => {
  const sizes = ['7', '6-1', '5-2', '4-3', '4-2-1', '5-1-1'];
  const sevens = strategies.filter(({ panel }) => panel.length === 7);

  it.each(sizes)('a seed that forces camps of %s splits every panel of seven so', (written) => {
    for (const { id: strategy } of sevens) {
      const run = simulate(ask(raise), { seed: `agree:${written}:x`, strategy });
      expect(
        votesOf(run)
          .filter((votes) => votes > 0)
          .join('-'),
      ).toBe(written);
      expect(run.claims.every(({ unsure }) => unsure === 0)).toBe(true);
      expect(run.checks.failed).toEqual([]);
    }
  });

  it.each(cases.map((each) => [each.case, each] as const))(
    'a seed that forces the winner makes %s end with that option',
    (_name, prepared) => {
      for (const { id } of optionsOf(prepared)) {
        const run = simulate(ask(prepared), { seed: `agree:6-1:${id}:x` });
        expect([run.scores.verdict?.heading, winnerOf(prepared, run)]).toEqual([
          id === 'undecidable' ? id : 'recommendation',
          id,
        ]);
      }
    },
  );

  it('a draft says of each option that lost how many models chose it', () => {
    const { dissent } = simulate(ask(raise), { seed: 'agree:5-2:x' }).draft;
    const text = dissent.map((entry) => entry.text).join(' ');
    expect(text.match(/\d of \d models would/g)).toEqual(['2 of 7 models would']);
  });

  it.each([
    ['agree:7:x', 100, 'strong'],
    ['agree:6-1:x', 68, 'majority'],
    ['agree:5-2:x', 40, 'contested'],
    ['agree:4-3:x', 7, 'split'],
  ])('the seed %s leads to an agreement score of %i, which reads %s', (seed, score, band) => {
    const { agreement } = simulate(ask(raise), { seed }).scores;
    expect([agreement.score, agreement.band]).toEqual([score, band]);
  });

  it('a seed that forces camps makes the minority rank the other way round, so that two camps show', () => {
    const { scores } = simulate(ask(raise), { seed: 'agree:4-3:x' });
    expect(scores.agreement.rank).toBe(0);
    expect(scores.twoCamps).toBe(true);
  });
});

describe('a call from elsewhere', () => {
  const send = (prompt: Omit<StagePrompt, 'schema'>, schemaName: string | null) =>
    createSimulator(strategies)({
      provider: 'x',
      model: 'unheard-of',
      ...prompt,
      schemaName,
      seed: 's',
    });

  it('a call without a schema is answered in prose', () => {
    const { text, thinkingTokens } = send({ system: '', prompt: 'Lease a tractor?' }, null);
    expect(text).toMatch(/^[A-Z].*\.\n\n/);
    expect(thinkingTokens).toBeGreaterThan(0);
  });

  it('a call is answered whatever its question looks like', () => {
    for (const text of [
      '',
      '?',
      'おすすめは？',
      'A'.repeat(4000),
      'should should or ?? $$$ 12 %',
    ]) {
      const delimiter = 'abcdef0123456789';
      const { system, prompt } = opinionPrompt(challenge(text), 'risk', { delimiter });
      expect(() => JSON.parse(send({ system, prompt }, 'opinion').text) as unknown).not.toThrow();
    }
  });

  it('a ledger also lists what answers say that no case wrote', () => {
    const foreign =
      'Recommended option: Sell the van\nDo it now.\n\nClaims:\nA van rusts.\n\nRisks:\nRain.';
    const prompt = ledgerPrompt(ask(raise), [{ label: 'D4D', text: foreign }], {
      delimiter: 'a'.repeat(16),
    });
    expect(JSON.parse(send(prompt, 'claim_ledger').text)).toEqual({
      title: raise.question.title,
      claims: [
        {
          claim_id: 'c1',
          text: 'A van rusts.',
          importance: 2,
          supporting_quotes: [{ answer_label: 'D4D', quote: 'A van rusts.' }],
        },
      ],
      options: [
        { option_id: 'undecidable', text: raise.undecidable.label, answer_labels: [] },
        { option_id: 'o2', text: 'Sell the van', answer_labels: ['D4D'] },
      ],
    });
  });

  it('a verifier finds a draft that says the opposite of a point', () => {
    const draft: Draft = {
      decision: 'Customers will not notice the price rise in the spring.',
      option_id: 'o1',
      sections: [],
      next_steps: [],
      flaw_replies: [],
      dissent: [],
      uncertainties: [],
    };
    const verdict = (text: string) =>
      JSON.parse(
        send(
          verificationPrompt(draft, [{ id: 'c1', text }], { delimiter: 'a'.repeat(16) }),
          'verification',
        ).text,
      ) as { contradictions: { claim_id: string }[] };
    expect(
      verdict('Customers will notice the price rise in the spring.').contradictions,
    ).toMatchObject([{ claim_id: 'c1' }]);
    expect(verdict(draft.decision).contradictions).toEqual([]);
  });
});
