import { describe, expect, test } from 'vitest';
import { createdFor, variationOf } from '#services/evaluation/answers/conditions.ts';
import { driveRun } from '#services/evaluation/answers/drive.ts';
import { partsOfRun, rendered } from '#services/evaluation/answers/render.ts';
import type { Condition } from '#services/evaluation/records/records.ts';
import { ModelFailure } from '#services/models/model.ts';
import type { ModelPart, ModelRequest } from '#services/models/model.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import { acceptedDraft } from '#services/optimizations/reading/describe-result.ts';
import { opinionOf } from '#services/optimizations/reading/texts.ts';
import { createLog } from '#services/platform/process/log.ts';
import { simulate } from '#tests/sandbox/simulated-run.ts';
import { planHere } from './evaluations.ts';

const words = '--sandbox --out unused --cases bakery-second-shop --plant none';
const plan = await planHere(words.split(' '));
const [planned] = plan.cases;
if (planned === undefined) throw new Error('There is no case');
const { council, evaluated } = planned;
const seats = council.seats.length;
const log = createLog({ level: 'silent', process: 'eval' });

type Fault = (request: ModelRequest, count: number) => ModelFailure | null;

/** The run of a condition, and every request that it made. */
async function driven(
  condition: Condition,
  fault: Fault = () => null,
  /** On what a model replies. */
  change: (part: ModelPart) => ModelPart = (part) => part,
) {
  const asked: ModelRequest[] = [];
  const models = plan.registryFor(condition);
  const registry: ModelRegistry = {
    ...models,
    provider(name, simulated) {
      const provider = models.provider(name, simulated);
      return (
        provider && {
          ...provider,
          async *call(request) {
            asked.push(request);
            const failure = fault(request, asked.length);
            if (failure !== null) throw failure;
            for await (const part of provider.call(request)) yield change(part);
          },
        }
      );
    },
  };
  const { catalogue } = plan;
  const result = await driveRun(
    createdFor(condition, council),
    variationOf(condition, council, Date.now),
    {
      registry,
      catalogue,
      clock: Date.now,
      log,
      callsPerProvider: 32,
      lanes: new Map(),
      signal: new AbortController().signal,
    },
  );
  const callsOf = (schema: string) => asked.filter((request) => request.schema?.name === schema);
  return { ...result, asked, callsOf };
}

/** As the simulator replies where no merit is planted. */
function withoutMerit(part: ModelPart): ModelPart {
  if (part.type === 'text') return part;
  const text = part.reply.text.replaceAll(/ \(Simulated, merit [a-j]{4}\.\)/g, '');
  return { ...part, reply: { ...part.reply, text } };
}

describe('the council', () => {
  test('is the reference run of the simulator: the same seats, votes, decision and words', async () => {
    const { run, callsOf } = await driven('council', () => null, withoutMerit);
    const question = {
      type: evaluated.type,
      challenge: evaluated.question,
      context: evaluated.context,
      objectives: evaluated.objectives,
      constraints: evaluated.constraints,
    };
    const reference = simulate(question, { seed: String(plan.seed), strategy: 'balanced' });
    const { view } = run;
    expect(view.scores?.decision.votes).toEqual(reference.scores.decision.votes);
    expect(view.scores?.order).toEqual(reference.scores.order);
    expect(view.scores?.consensus).toEqual(reference.scores.consensus);
    const written = acceptedDraft(view);
    expect(written).toEqual(reference.draft);
    expect(callsOf('opinion')).toHaveLength(seats);
    expect(callsOf('review')).toHaveLength(seats);
    expect(callsOf('claim_ledger')).toHaveLength(1);
    expect(callsOf('draft')).toHaveLength(1);
    expect(callsOf('verification')).toHaveLength(2);
  });

  test('asks a seat again whose provider was unavailable', async () => {
    const { run, callsOf } = await driven('council', (_request, count) =>
      count === 1 ? new ModelFailure('unavailable', 'away') : null,
    );
    expect(callsOf('opinion')).toHaveLength(seats + 1);
    expect(run.view.missing).toEqual([]);
    expect(partsOfRun(run)).not.toBeNull();
  });

  test('ends without an answer when too few seats answer', async () => {
    const { run, events } = await driven('council', ({ schema }) =>
      schema?.name === 'opinion' ? new ModelFailure('refusal', 'no') : null,
    );
    expect(partsOfRun(run)).toBeNull();
    expect(run.view.conclusion).toMatchObject({ outcome: 'failed', reason: 'quorum' });
    expect(events.filter(({ type }) => type === 'CallFailed').length).toBeGreaterThanOrEqual(3);
  });
});

describe('the strongest seat alone', () => {
  test('is one call of that seat, with the prompt and the effort that the council gives it', async () => {
    const { asked, run } = await driven('strongest');
    const strongest = council.seats.find(({ seat }) => seat === council.schedule.strongest);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ model: strongest?.model, effort: strongest?.effort });
    const inCouncil = await driven('council');
    expect(inCouncil.asked).toContainEqual(
      expect.objectContaining({ prompt: asked[0]?.prompt, system: asked[0]?.system }),
    );
    expect(opinionOf(run.view, council.schedule.strongest)).not.toBeNull();
  });
});

describe.each(['fused', 'no-reviews'] as const)('the condition %s', (condition) => {
  test('asks for as many answers as the panel has seats, for one ledger and one text', async () => {
    const { asked, callsOf, run } = await driven(condition);
    expect(callsOf('opinion')).toHaveLength(seats);
    expect(callsOf('claim_ledger')).toHaveLength(1);
    expect(callsOf('draft')).toHaveLength(1);
    expect(asked).toHaveLength(seats + 2);
    expect(run.view.conclusion).toMatchObject({ outcome: 'completed', heading: 'recommendation' });
  });

  test('shows the writer every answer, and no vote', async () => {
    const { callsOf } = await driven(condition);
    const [{ prompt, system } = { prompt: '', system: '' }] = callsOf('draft');
    expect(prompt.match(/\[begin \w+ answer /g)).toHaveLength(seats);
    expect(prompt).toMatch(/\[begin \w+ decision\]\n\(none\)/);
    expect(prompt).toMatch(/\| not voted on \|/);
    expect(prompt).not.toMatch(/\bagree \d|\bvotes \d/);
    expect(system).toContain('nobody has voted');
    expect(system).not.toContain('The vote has chosen');
  });

  test('has the writer of the council, with the same bound of output and the same effort', async () => {
    const [own] = (await driven(condition)).callsOf('draft');
    const [ofCouncil] = (await driven('council')).callsOf('draft');
    for (const field of ['model', 'effort', 'maxOutputTokens'] as const)
      expect(own?.[field]).toBe(ofCouncil?.[field]);
  });

  test('has a failed text repaired, then publishes the strongest answer that there is', async () => {
    const { run, callsOf } = await driven(condition, ({ schema }) =>
      schema?.name === 'draft' ? new ModelFailure('refusal', 'no') : null,
    );
    expect(callsOf('draft').length).toBeGreaterThan(1);
    expect(run.view.conclusion).toMatchObject({
      heading: 'best_single_answer',
      reason: 'drafts_failed',
    });
    const found = partsOfRun(run);
    expect(found && rendered(found.parts)).toContain('Recommendation:\n');
  });
});

test('the fused answers all come from the model, the role and the effort of the strongest seat', async () => {
  const { asked, callsOf } = await driven('fused');
  const strongest = council.seats.find(({ seat }) => seat === council.schedule.strongest);
  const opinions = callsOf('opinion');
  expect(new Set(opinions.map(({ model }) => model))).toEqual(new Set([strongest?.model]));
  expect(new Set(opinions.map(({ system }) => system)).size).toBe(1);
  expect(new Set(opinions.map(({ effort }) => effort))).toEqual(new Set([strongest?.effort]));
  // Codes that are drawn for each call differ, so no provider answers from a cache.
  expect(new Set(asked.map(({ prompt }) => prompt)).size).toBe(asked.length);
});
