import * as v from 'valibot';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadCatalogue } from '#services/models/catalogue.ts';
import type { CheckReply } from '#services/optimizations/contract/requests.ts';
import type { ListedRun, Optimization } from '#services/optimizations/contract/run.ts';
import { OptimizationSummary } from '#services/optimizations/contract/summary.ts';
import { openTexts, runEventOf } from '#services/optimizations/reading/read-run.ts';
import { streamOf } from '#services/optimizations/run/events.ts';
import type { OptimizationEvent } from '#services/optimizations/run/events.ts';
import { preparedCases } from '#services/sandbox/models/cases.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { give } from '#tests/support/processes/service.ts';

/**
 * Whole runs of every strategy, each compared with what its models wrote: the replies are opened and
 * counted here again, by none of the code that made the result.
 */
const { strategies } = loadCatalogue(null);
const cases = preparedCases();
const asked = strategies.flatMap(({ id: strategy }, at) =>
  [0, 1, 2, 3].map((turn) => ({ strategy, prepared: cases[(at * 4 + turn) % cases.length]! })),
);

type Run = { name: string; run: Optimization; replies: Replies };
/** Slot → what the model wrote; of drafts the accepted one alone. */
type Replies = { reviews: Record<string, ReviewReply>; answers: Record<string, string> };
type ReviewReply = {
  fatal_flaws: { text: string }[];
  votes: { claim_id: string; stance: string; reason: string }[];
  decision_vote: { option_id: string; reason: string };
};

let council: TestCouncil;
let asker: Person;
let runs: Run[] = [];
beforeAll(async () => {
  council = await createTestCouncil({ seed: 'evidence' });
  asker = await council.signUp();
  await give(council, asker.userId, 2000);
  runs = await Promise.all(
    asked.map(async ({ strategy, prepared }): Promise<Run> => {
      const { title: _title, type, ...question } = prepared.question;
      const body = { ...question, challenge_type: type, strategy };
      const run = await council.ask(asker, body);
      return { name: `${strategy}, ${prepared.case}`, run, replies: await repliesOf(run.id) };
    }),
  );
}, 120_000);
afterAll(async () => council.close());

async function repliesOf(runId: string): Promise<Replies> {
  const { events } = await council.core.readStream(streamOf(runId));
  const replies: Replies = { reviews: {}, answers: {} };
  for (const recorded of events) {
    const event: OptimizationEvent = runEventOf(recorded);
    if (event.type !== 'CallSucceeded') continue;
    const { kind } = event.data.outcome;
    const seat = event.data.slot.split('.')[1] ?? '';
    const { reply, shown } = await openTexts(council.core.sealer, recorded);
    if (kind === 'review') replies.reviews[seat] = JSON.parse(reply ?? '') as ReviewReply;
    if (kind === 'opinion') replies.answers[seat] = shown ?? '';
  }
  return replies;
}

/** Option → how many seats wrote its id into their votes. */
function countedVotes({ reviews }: Replies): Map<string, number> {
  const votes = new Map<string, number>();
  for (const { decision_vote: vote } of Object.values(reviews))
    votes.set(vote.option_id, (votes.get(vote.option_id) ?? 0) + 1);
  return votes;
}

function faultsOf(of: (run: Run) => readonly string[]): string[] {
  return runs.flatMap((each) => of(each).map((fault) => `${each.name}: ${fault}`));
}

describe('a result and the replies of its models', () => {
  test('a result has every heading that a vote can have, among runs of all strategies', () => {
    expect(runs).toHaveLength(32);
    expect(runs.every(({ run }) => run.status === 'completed')).toBe(true);
    const headings = new Set(runs.flatMap(({ run }) => run.result?.heading ?? []));
    expect([...headings].toSorted()).toEqual(['no_majority', 'recommendation', 'undecidable']);
  });

  test('a row of the list says of a run what its page says', async () => {
    const read = async () => {
      const rows = await council.call('/optimizations?limit=100', { token: asker.token });
      return ((await rows.json()) as { data: ListedRun[] }).data;
    };
    await expect.poll(async () => (await read()).every((row) => row.outcome !== null)).toBe(true);
    const rows = new Map((await read()).map((row) => [row.id, row]));
    const pages = runs.map(({ run }) => v.parse(OptimizationSummary, run));
    expect(pages.map(({ id }) => v.parse(OptimizationSummary, rows.get(id)))).toEqual(pages);
  });

  test('a result quotes on each side what a seat of that side wrote about exactly that', () => {
    let reasons = 0;
    const wrong = faultsOf(({ run, replies }) =>
      (run.evolution.bias?.disagreement_areas ?? []).flatMap(({ about, text, sides }) =>
        sides.flatMap(({ stance, seats, quote }) => {
          if (quote === null) return [];
          const fault = [`"${quote.text}" on the side ${stance} of ${about}`];
          if (!seats.includes(quote.seat)) return fault;
          if (quote.source === 'answer') {
            const isSaid = replies.answers[quote.seat]?.includes(quote.text) ?? false;
            return stance === 'agree' && isSaid && text !== '' ? [] : fault;
          }
          reasons += 1;
          const { votes = [], decision_vote } = replies.reviews[quote.seat] ?? {};
          const vote = votes.find(({ claim_id }) => claim_id === about);
          const isReason =
            about === 'decision'
              ? decision_vote?.reason === quote.text
              : vote?.reason === quote.text && vote.stance === stance;
          return isReason ? [] : fault;
        }),
      ),
    );
    expect(wrong).toEqual([]);
    expect(reasons).toBeGreaterThan(50);
  });

  test('a result advises the option that most seats voted for, and none without a majority', () => {
    const wrong = faultsOf(({ run, replies }) => {
      const { heading, option_id: option, votes_for: count, votes_total } = run.result!;
      const votes = countedVotes(replies);
      const most = Math.max(...votes.values());
      const isFirst = [...votes].every(
        ([id, each]) => (id === option) === (each === most) || id === option,
      );
      const writer = Object.entries(run.council.rounds).find(([, one]) => one.verdict === 'accept');
      const draft = run.council.calls[`draft.${writer?.[0]}`]?.outcome;
      const written = draft?.kind === 'draft' ? draft.optionId : null;
      if (heading === 'no_majority')
        return option === null && written === run.result?.tie_break
          ? []
          : ['it owns a decision without a majority'];
      return [
        ...(isFirst && votes.get(option ?? '') === most ? [] : ['its option is not first']),
        ...(written === option ? [] : ['its draft is for another option']),
        ...((heading === 'undecidable') === (option === 'undecidable') ? [] : ['a wrong heading']),
        ...(count === most && votes_total === run.models.length ? [] : ['its count is wrong']),
      ];
    });
    expect(wrong).toEqual([]);
  });

  test('a result shows every flaw that two reviewers found in an answer of its option, with the answer to it', () => {
    let found = 0;
    const wrong = faultsOf(({ run, replies }) => {
      const { result, council: view } = run;
      const shown = new Map((result?.flaws ?? []).map((flaw) => [flaw.about_seat, flaw]));
      const options = result?.option_id
        ? [result.option_id]
        : Object.keys(view.scores?.decision.votes ?? {});
      const proposers = options.flatMap((id) => view.ledger?.options[id]?.seats ?? []);
      return proposers.flatMap((answer) => {
        const against = run.models.flatMap(({ seat }) => {
          const texts = (view.calls[`review.${seat}`]?.notes?.flaws ?? [])
            .filter((flaw) => flaw.seat === answer)
            .map(({ text }) => text);
          return texts.length === 0 ? [] : [{ seat, texts }];
        });
        const flaw = shown.get(answer);
        if (against.length < 2) return [];
        found += 1;
        const written = against.flatMap(({ seat }) =>
          (replies.reviews[seat]?.fatal_flaws ?? []).map(({ text }) => text),
        );
        const isWhole =
          against.length === flaw?.reviewers.length &&
          against.every(
            ({ seat, texts }) =>
              flaw.reviewers.includes(seat) &&
              texts.every((text) =>
                flaw.texts.some((one) => one.text === text && one.seats.includes(seat)),
              ),
          ) &&
          flaw.texts.every(({ text }) => written.includes(text)) &&
          (flaw.reply ?? '').length >= 20;
        return isWhole ? [] : [`the flaw of ${answer} is not shown`];
      });
    });
    expect(wrong).toEqual([]);
    expect(found).toBeGreaterThan(2);
  });

  test('a result lists no claim as agreed and as disputed', () => {
    const wrong = faultsOf(({ run }) => {
      const { consensus_points = [], disagreement_areas = [] } = run.evolution.bias ?? {};
      const disputed = new Set(disagreement_areas.map(({ about }) => about));
      return consensus_points.flatMap(({ claim_id: id }) => (disputed.has(id) ? [id] : []));
    });
    expect(wrong).toEqual([]);
  });

  test('a result has the title of the ledger until the person gives it another', async () => {
    for (const { run, name } of runs) {
      const prepared = cases.find((each) => name.endsWith(`, ${each.case}`));
      expect(run.title).toBe(prepared?.question.title);
    }
  });
});

describe('a question without facts', () => {
  test('a question that says nothing is checked as undecidable, and a run of it all the same cannot be decided', async () => {
    const person = await council.signUp();
    await give(council, person.userId, 50);
    // cspell:disable-next-line
    const body = { challenge: 'asdf qwer zxcv 12345 ???', challenge_type: 'other' };
    const check = await council.data<CheckReply>('/optimizations/check', {
      token: person.token,
      body,
    });
    expect(check).toMatchObject({ verdict: 'undecidable', skipped: false });
    expect(check.why?.length).toBeGreaterThan(20);
    const { result, credits } = await council.ask(person, { ...body, strategy: 'balanced' });
    expect(result).toMatchObject({ heading: 'undecidable', option_id: 'undecidable' });
    expect(result?.missing_facts).not.toEqual([]);
    expect(credits).toMatchObject({ charged: 14, refunded: 0 });
  });

  test('a question with no facts is asked for them', async () => {
    const person = await council.signUp();
    await give(council, person.userId, 50);
    const check = await council.data<CheckReply>('/optimizations/check', {
      token: person.token,
      body: { challenge: 'Should I hire somebody?', challenge_type: 'hiring' },
    });
    expect(check.verdict).toBe('ask');
    expect(check.questions.length).toBeGreaterThan(0);
  });
});

test('a German question gets its answer in German, from its decision to its last quote', () => {
  const german = runs.filter(({ name }) => name.endsWith('-de'));
  expect(german.length).toBeGreaterThan(0);
  // cspell:disable-next-line
  const ours = /\b(?:der|die|das|den|dem|und|ist|nicht|Sie|Kunden|Preis|mit|von|für|kann)\b/i;
  for (const { run } of german) {
    const { result, evolution } = run;
    const texts = [
      run.title,
      result?.decision,
      result?.decision_option,
      ...(result?.sections ?? []).flatMap(({ blocks }) => blocks.map(({ text }) => text)),
      ...(result?.next_steps ?? []).map(({ action }) => action),
      ...(result?.flaws ?? []).flatMap(({ texts: written, reply }) => [
        ...written.map(({ text }) => text),
        reply,
      ]),
      ...(evolution.bias?.disagreement_areas ?? []).flatMap(({ about, text, sides }) => [
        ...(about === 'decision' ? [] : [text]),
        ...sides.flatMap(({ quote }) => quote?.text ?? []),
      ]),
      ...Object.values(run.council.ledger?.options ?? {}).map(({ text }) => text),
    ].filter((text) => text !== null && text !== undefined);
    expect(texts.filter((text) => !ours.test(text) && text.length > 40)).toEqual([]);
    expect(texts.length).toBeGreaterThan(20);
  }
});
