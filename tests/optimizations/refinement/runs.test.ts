import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readBalance } from '#projections/credit-account.ts';
import { projections } from '#projections/index.ts';
import { allRunsOf } from '#projections/optimization-list.ts';
import { verify } from '#projections/engine/verify.ts';
import { optimizationCommands } from '#services/cli/optimizations.ts';
import { runCommands } from '#services/cli/runs/run.ts';
import { creditStream } from '#services/credits/account/events.ts';
import type { Optimization, OptimizationList } from '#services/optimizations/contract/run.ts';
import { runMarkdown } from '#services/optimizations/reading/markdown/run-markdown.ts';
import { runExport } from '#services/optimizations/reading/export.ts';
import { openTexts, runEventOf } from '#services/optimizations/reading/read-run.ts';
import { refinementId, refineRun } from '#services/optimizations/refinement/begin.ts';
import { takenUpSummary } from '#services/optimizations/reading/words/taken-up.ts';
import { optimization } from '#services/optimizations/run/optimization.ts';
import { sweepRuns } from '#services/optimizations/sweep.ts';
import { streamOf } from '#services/optimizations/run/events.ts';
import { loadCatalogue } from '#services/models/catalogue.ts';
import { readMaterial } from '#services/sandbox/models/simulator/material.ts';
import { createSimulator } from '#services/sandbox/models/simulator/respond.ts';
import type { Respond } from '#services/sandbox/models/personas.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import type { Persona } from '#services/platform/process/env.ts';
import { runHere } from '#tests/cli/in-process.ts';
import type { CallOptions, Person } from '#tests/support/app.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { give } from '#tests/support/processes/service.ts';
import { testPassword } from '#tests/support/password.ts';
import { tracesOf } from '#tests/identity/erasure/traces.ts';

/** Whole refinements through the real application, its workers and the sandbox. */
const question = {
  challenge: 'Should I sell my course as a subscription, or keep the one-time price?',
  constraints: ['No more than five hours a week'],
  challenge_type: 'product',
  strategy: 'economy',
};
const fact = 'Half of my customers have asked for a monthly plan.';

/** Models without an entry answer. */
const personas: Record<string, Persona> = {};
/** Every prompt that a model was given. */
const asks: Parameters<Respond>[0][] = [];
/** Models that are no longer offered. */
const gone = new Set<string>();
/** What happens once: after the ledger was asked for a refusal, and before a command of a run. */
const between: { [Moment in 'refusal' | 'Hide' | 'Start']?: () => Promise<unknown> } = {};
/** Changes a model's reply. */
let rewrite: ((schema: string, reply: string) => object) | null = null;
let council: TestCouncil;
let person: Person;
let root: Optimization;

beforeAll(async () => {
  const answer = createSimulator(loadCatalogue(null).strategies);
  council = await createTestCouncil({
    personas,
    respond: (request) => {
      asks.push(request);
      const answered = answer(request);
      const { text } = answered;
      const { schemaName } = request;
      if (rewrite === null || schemaName === null || text === null) return answered;
      return { ...answered, text: JSON.stringify(rewrite(schemaName, text)) };
    },
    replace: ({ registry, ledger, bus }) => ({
      ledger: {
        ...ledger,
        refusal: async (price) => {
          const found = await ledger.refusal(price);
          await once('refusal');
          return found;
        },
      },
      bus: {
        ...bus,
        execute: async (decider, given, patience) => {
          const type = typeOf(given.command);
          if (type === 'Hide' || type === 'Start') await once(type);
          return bus.execute(decider, given, patience);
        },
      },
      registry: {
        ...registry,
        offers: async () => (await registry.offers()).filter(({ model }) => !gone.has(model)),
      },
    }),
  });
  person = await council.signUp();
  await give(council, person.userId, 1000);
});
beforeEach(() => {
  for (const model of Object.keys(personas)) delete personas[model];
  gone.clear();
});
afterAll(async () => council.close());

function typeOf(command: unknown): unknown {
  return typeof command === 'object' && command !== null && 'type' in command ? command.type : null;
}

async function once(moment: keyof typeof between): Promise<void> {
  const act = between[moment];
  delete between[moment];
  await act?.();
}

async function post(path: string, options: CallOptions = {}): Promise<Response> {
  return council.call(path, { method: 'POST', token: person.token, ...options });
}

async function refine(body: object = {}, runId = root.id, key?: string): Promise<Response> {
  return post(`/optimizations/${runId}/refine`, { body, ...(key === undefined ? {} : { key }) });
}

async function begun(body: object = {}, runId = root.id): Promise<Optimization> {
  const response = await refine(body, runId);
  expect(response.status).toBe(201);
  return ((await response.json()) as { data: Optimization }).data;
}

async function refined(body: object = {}, runId = root.id): Promise<Optimization> {
  return council.ended(person, (await begun(body, runId)).id);
}

async function asked(): Promise<void> {
  root = await council.ask(person, question);
}

let unrefined: Optimization | null = null;
/** A root that no test before has refined. */
async function askedOnce(): Promise<void> {
  root = unrefined ??= await council.ask(person, question);
}

const read = async (runId: string) =>
  council.data<Optimization>(`/optimizations/${runId}`, { token: person.token });

async function balance() {
  const { available_credits, reserved_credits } = await readBalance(
    council.core.pool,
    person.userId,
  );
  return { available_credits, reserved_credits };
}

async function creditEvents(): Promise<number> {
  return (await council.core.readStream(creditStream(person.userId))).events.length;
}

/** Of seats that neither write nor check. */
function votersOf({ council: { seats, schedule } }: Optimization): string[] {
  const writers = [...schedule.synthesizers, ...schedule.verifiers.flat()];
  return seats
    .map(({ model }) => model)
    .filter((model) => writers.every((writer) => writer.model !== model));
}

function modelsOf(run: Optimization): string[] {
  return run.council.seats.map(({ model }) => model);
}

function decisiveClaim(): string {
  const claims = Object.entries(root.council.ledger?.claims ?? {});
  return claims.find(([, { importance }]) => importance === 3)![0];
}

describe('an included refinement', () => {
  beforeEach(asked);

  test('an included refinement shows each seat what is new and no answer, says what changed and costs nothing', async () => {
    expect(root.refinable).toEqual({ allowed: true, reason: null, price: 0, running_id: null });
    const before = await creditEvents();
    asks.length = 0;
    const claim = decisiveClaim();
    const run = await refined({ changed_fact: fact, claim_id: claim });
    expect(run).toMatchObject({
      status: 'completed',
      title: root.title,
      challenge: question.challenge,
      constraints: question.constraints,
      simulated: true,
      root_id: root.id,
      refinement_number: 1,
      credits: { price: 0, charged: 0, refunded: 0, settlement: 'settled' },
      refines: {
        root_id: root.id,
        previous_id: root.id,
        number: 1,
        about: 'fact',
        text: fact,
        claim_id: claim,
        given_before: [],
        decision_before: root.result?.decision,
      },
      refinable: { allowed: true, price: 2 },
    });
    expect(run.refines?.claim_ids[0]).toBe(claim);
    expect(run.refines?.claim_ids.length).toBeLessThanOrEqual(10);
    expect(run.result?.changed).toMatch(
      /^The decision is (the same as|another one than) before the second vote/,
    );
    expect(run.result?.heading).not.toBe('best_single_answer');
    expect(run.models.map(({ status }) => status)).toEqual(root.models.map(() => 'completed'));
    expect(run.models.map(({ rank }) => rank)).toEqual(root.models.map(({ rank }) => rank));
    expect(await creditEvents()).toBe(before);
    // Nothing of the root changes but what says of its refinements.
    const { refinements, newer, refinable, council: view, ...after } = await read(root.id);
    const {
      refinements: _none,
      newer: _older,
      refinable: _before,
      council: viewBefore,
      ...rest
    } = root;
    expect(after).toEqual(rest);
    const newest = { refinements: [], newer: null, refinable: null, resultAt: null };
    expect({ ...view, ...newest }).toEqual({ ...viewBefore, ...newest });
    expect(refinements.map(({ id }) => id)).toEqual([run.id]);
    expect(newer).toMatchObject({
      id: run.id,
      number: 1,
      outcome: run.outcome,
      decision: run.result?.decision,
      changed: takenUpSummary(run.council),
      same_option: root.result?.option_id === run.result?.option_id,
    });
    expect(run.newer).toBeNull();
    expect(refinable).toMatchObject({ allowed: true, price: 2 });
    expectPrompts(run, claim);
  });

  function expectPrompts(run: Optimization, claim: string): void {
    const prompts = asks.filter(({ schemaName }) => schemaName === 'second_vote');
    expect(prompts).toHaveLength(run.models.length);
    const answers = run.council.seats.flatMap(({ seat }) =>
      (run.council.calls[`opinion.${seat}`]?.opinion?.reasoning ?? []).slice(0, 1),
    );
    for (const { prompt, system } of prompts) {
      const material = readMaterial(prompt);
      expect(material.block('new')).toBe(fact);
      expect(material.block('changed claim')).toBe(claim);
      expect(material.rows('claims').map(([id = '']) => id)).toEqual(
        expect.arrayContaining(run.refines?.claim_ids ?? []),
      );
      expect(material.rows('own votes').at(-1)?.[0]).toBe('decision');
      const sides = material.rows('reasons').map(([id, side]) => `${id} ${side}`);
      expect(sides.length).toBeGreaterThan(0);
      for (const side of sides)
        expect(sides.filter((other) => other === side).length).toBeLessThanOrEqual(2);
      const all = `${system}\n${prompt}`;
      for (const text of [...answers, ...run.models.map(({ name }) => name)])
        expect(all).not.toContain(text);
    }
    const drafts = asks.filter(({ schemaName }) => schemaName === 'draft');
    expect(drafts.map(({ prompt }) => readMaterial(prompt).block('earlier decision'))).toEqual(
      drafts.map(() => root.result?.decision),
    );
    const checks = asks.filter(({ schemaName }) => schemaName === 'verification');
    expect(checks.length).toBeGreaterThan(0);
    for (const { prompt, system } of [...drafts, ...checks]) {
      const material = readMaterial(prompt);
      expect(material.block('corrected claims')).toBe(`${claim} | ${fact}`);
      expect(system).toContain('"corrected claims"');
      expect(material.rows('consensus').map(([id]) => id)).not.toContain(claim);
    }
  }

  test(
    'a draft that contradicts the fact in place of a claim is written again',
    { tags: ['long'] },
    async () => {
      const claim = decisiveClaim();
      let decision: string | null = null;
      let isContradicted = false;
      rewrite = (schema, reply) => {
        const parsed = JSON.parse(reply) as { decision: string };
        if (schema === 'draft') decision = parsed.decision;
        if (schema !== 'verification' || isContradicted) return parsed;
        isContradicted = true;
        const found = { claim_id: claim, quote: decision, explanation: 'It rests on the claim.' };
        return { contradicts_consensus: true, contradictions: [found] };
      };
      asks.length = 0;
      const run = await refined({ changed_fact: fact, claim_id: claim }).finally(() => {
        rewrite = null;
      });
      expect(run.council.rounds[1]).toMatchObject({ failed: ['contradicts_consensus'] });
      expect(run.council.rounds[2]).toMatchObject({ verdict: 'accept' });
      const drafts = asks.filter(({ schemaName }) => schemaName === 'draft');
      expect(readMaterial(drafts[1]!.prompt).block('failed checks')).toContain(
        `it contradicts the fact in place of ${claim}.`,
      );
    },
  );

  test(
    'three tries are included, and the fourth refinement is paid for',
    { tags: ['long'] },
    async () => {
      const before = await creditEvents();
      for (const model of modelsOf(root).slice(0, 3)) personas[model] = 'dead';
      const failed = await refined();
      expect(failed).toMatchObject({
        status: 'failed',
        ended_because: 'Too few models voted again.',
        credits: { price: 0, charged: 0, refunded: 0 },
      });
      for (const model of modelsOf(root)) personas[model] = 'hang';
      const hanging = await begun({}, root.id);
      await council.data(`/optimizations/${hanging.id}/cancel`, {
        method: 'POST',
        token: person.token,
      });
      expect(await council.ended(person, hanging.id)).toMatchObject({
        status: 'cancelled',
        credits: { charged: 0, refunded: 0 },
      });
      for (const model of modelsOf(root)) personas[model] = 'dead';
      expect(await refined()).toMatchObject({ status: 'failed', refinement_number: 3 });
      expect(await creditEvents()).toBe(before);
      for (const model of modelsOf(root)) delete personas[model];
      expect((await read(root.id)).refinable).toMatchObject({ price: 2 });
      expect(await refined()).toMatchObject({
        status: 'completed',
        refines: { number: 4, previous_id: root.id },
        credits: { price: 2, charged: 2, refunded: 0 },
      });
    },
  );
});

describe('a paid refinement', () => {
  beforeEach(asked);

  test(
    'a later refinement builds on the newest one, is charged and is verified over both streams',
    { tags: ['long'] },
    async () => {
      const first = await refined({ changed_fact: fact });
      const second = await refined({ instruction: 'Weigh my evenings more.' }, first.id);
      expect(second).toMatchObject({
        status: 'completed',
        credits: { price: 2, charged: 2, refunded: 0 },
        refines: {
          root_id: root.id,
          previous_id: first.id,
          number: 2,
          given_before: [fact],
          decision_before: first.result?.decision,
        },
      });
      for (const runId of [first.id, second.id]) {
        const { code, out } = await runHere(council, optimizationCommands, [
          'optimizations',
          'verify',
          runId,
        ]);
        expect(out).toContain('ok   votes, claims and order that it starts from');
        expect({ code, faults: out.match(/^NOT .*$/gm) }).toEqual({ code: 0, faults: null });
      }
      const { events } = await council.core.readStream(streamOf(second.id));
      const scored = events.map(runEventOf).find(({ type }) => type === 'ScoresComputed');
      expect(scored?.type === 'ScoresComputed' && scored.data.inputs).toEqual([
        ...root.models.map(({ seat }) => `${root.id}/review.${seat}`),
        ...root.models.map(({ seat }) => `${first.id}/review.${seat}`),
        ...root.models.map(({ seat }) => `review.${seat}`),
      ]);
      // Only the newest can be refined.
      expect((await refine({}, first.id)).status).toBe(409);
      expect((await read(first.id)).refinable).toMatchObject({ allowed: false });
    },
  );
});

describe('a call that begins a refinement', () => {
  beforeEach(asked);

  test('of two calls at once one begins a refinement and the other is refused', async () => {
    for (const model of modelsOf(root)) personas[model] = 'hang';
    const both = await Promise.all([refine(), refine()]);
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([201, 409]));
    const refused = both.find(({ status }) => status === 409)!;
    expect(await refused.json()).toMatchObject({ code: 'not-refinable' });
    const { refinements, refinable } = await read(root.id);
    expect(refinements).toHaveLength(1);
    expect(refinable).toMatchObject({
      allowed: false,
      reason: expect.stringContaining('progress'),
    });
    await post(`/optimizations/${refinements[0]!.id}/cancel`);
    await council.ended(person, refinements[0]!.id);
  });

  test('a call with the same key again gets the same refinement, and another price than was agreed to gets none', async () => {
    const response = await refine({ price: 2 });
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({ code: 'price-changed', price: 0 });
    expect((await read(root.id)).refinements).toEqual([]);
    const keyed = async () => refine({ price: 0 }, root.id, 'once');
    const [one, again] = [await keyed(), await keyed()];
    expect([one.status, again.status]).toEqual([201, 201]);
    const [first, second] = [await one.json(), await again.json()] as { data: Optimization }[];
    expect(second?.data.id).toBe(first?.data.id);
    await council.ended(person, first!.data.id);
    expect((await read(root.id)).refinements).toHaveLength(1);
    expect((await refine({ instruction: 'Other.' }, root.id, 'once')).status).toBe(409);
    expect((await refine({ price: 0 })).status).toBe(409);
    expect(await refined({ price: 2 })).toMatchObject({ credits: { charged: 2 } });
  });

  test('a run that is deleted while its refinement begins has none, and no credits are held', async () => {
    for (const model of modelsOf(root)) personas[model] = 'hang';
    between.Hide = refine;
    expect((await remove(root.id)).status).toBe(200);
    expect((await post(`/optimizations/${root.id}/restore`)).status).toBe(200);
    await council.ended(person, refinementId(root.id, 1));
    for (const model of modelsOf(root)) delete personas[model];
    await refined();
    const before = await balance();
    between.refusal = async () => remove(root.id);
    const refused = await refine();
    expect([refused.status, await refused.json()]).toMatchObject([
      409,
      { code: 'not-refinable', detail: expect.stringContaining('deleted') },
    ]);
    expect((await post(`/optimizations/${root.id}/restore`)).status).toBe(200);
    expect(await balance()).toEqual(before);
    const { refinements } = await read(root.id);
    // The one that was never started is not listed.
    expect(refinements.map(({ status }) => status)).toEqual(['cancelled', 'completed']);
    expect((await listed(root.id))?.refinements).toBe(2);
  });

  test('a refinement whose start fails is discarded, and the next call with its key begins another', async () => {
    between.Start = async () => Promise.reject(new Problem('busy', 'Too much is waiting.'));
    const calls = [];
    for (let call = 0; call < 3; call += 1) calls.push(await refine({}, root.id, 'refused'));
    expect(calls.map(({ status }) => status)).toEqual([503, 409, 201]);
    expect(await calls[1]?.json()).toMatchObject({
      code: 'not-refinable',
      detail: expect.stringContaining('was not started'),
    });
    expect(await read(refinementId(root.id, 1))).toMatchObject({
      status: 'cancelled',
      ended_because: 'This refinement never started.',
      credits: { charged: 0 },
    });
    expect(await council.ended(person, refinementId(root.id, 2))).toMatchObject({
      status: 'completed',
    });
    const { refinements } = await read(root.id);
    // One that never began has no number of its own.
    expect(refinements.map((one) => one.refinement_number)).toEqual([1]);
    expect((await read(refinementId(root.id, 2))).refines?.number).toBe(1);
  });

  test('a refinement whose process died before it started is cancelled, and another can begin', async () => {
    const failed = await refined();
    const { readStream, sealer } = council.core;
    const [recorded] = (await readStream(streamOf(failed.id))).events;
    const created = runEventOf(recorded!);
    if (created.type !== 'OptimizationCreated') throw new Error('It was not created');
    const id = refinementId(root.id, 2);
    const texts = Object.entries(await openTexts(sealer, recorded!));
    const sealed = await Promise.all(
      texts.map(async ([field, text]) => [
        field,
        await sealer.seal(root.id, { stream: streamOf(id), field }, text ?? ''),
      ]),
    );
    const { refines } = created.data;
    const data = {
      ...created.data,
      sealed: Object.fromEntries(sealed) as typeof created.data.sealed,
    };
    const command = {
      type: 'Create' as const,
      data: { ...data, price: 2, refines: { ...refines!, number: 2 } },
    };
    await council.core.bus.execute(
      optimization,
      {
        streamId: streamOf(id),
        command,
        commandId: uuidV5(id, 'create'),
        fingerprint: id,
        actor: 'test',
        correlationId: id,
      },
      'http',
    );
    expect((await refine()).status).toBe(409);
    const { log } = council.core;
    await sweepRuns({ ...council.core, log, clock: () => Date.now() + 60_000 });
    expect(await read(id)).toMatchObject({
      status: 'cancelled',
      ended_because: 'This refinement never started.',
    });
    expect((await refined()).status).toBe('completed');
  });

  test('a seat whose model is gone is missing, and too few models refuse it before the charge', async () => {
    const [first = ''] = votersOf(root);
    gone.add(first);
    const run = await refined();
    expect(run.status).toBe('completed');
    const { seat } = run.council.seats.find(({ model }) => model === first)!;
    expect(run.models.find((one) => one.seat === seat)).toMatchObject({
      status: 'not_called',
      reason: 'This model is no longer offered',
    });
    expect(run.council.calls[`review.${seat}`]).toBeUndefined();
    const all = run.models.length;
    expect(runMarkdown(run)).toContain(`**${all - 1} of ${all} models voted again.** Missing: `);
    for (const model of modelsOf(root).slice(0, 4)) gone.add(model);
    const before = await creditEvents();
    const refused = await refine();
    expect(refused.status).toBe(409);
    expect(await refused.json()).toMatchObject({
      code: 'not-refinable',
      detail: expect.stringContaining('still offered'),
    });
    expect(await creditEvents()).toBe(before);
    expect((await read(root.id)).refinements).toHaveLength(1);
  });
});

describe('a call that begins no refinement', () => {
  beforeAll(askedOnce);
  afterEach(async () => expect((await read(root.id)).refinements).toEqual([]));

  test('fields that are wrong are refused by name, and another person’s run is not found', async () => {
    for (const [body, field] of [
      [{ instruction: 'a', changed_fact: 'b' }, 'changed_fact'],
      [{ claim_id: 'c1' }, 'claim_id'],
      [{ changed_fact: 'b', claim_id: 'c99' }, 'claim_id'],
      [{ instruction: ' ' }, 'instruction'],
      [{ changed_fact: 'x'.repeat(1001) }, 'changed_fact'],
    ] as const) {
      const response = await refine(body);
      expect(response.status).toBe(400);
      const { errors } = (await response.json()) as { errors: { field: string }[] };
      expect(errors.map((error) => error.field)).toContain(field);
    }
    const { token } = await council.signUp();
    expect((await post(`/optimizations/${root.id}/refine`, { body: {}, token })).status).toBe(404);
  });

  test('a run that has not completed cannot be refined', async () => {
    const draft = await council.data<Optimization>('/optimizations', {
      token: person.token,
      body: question,
    });
    expect((await refine({}, draft.id)).status).toBe(409);
    expect(draft.refinable).toBeNull();
  });

  test('once today’s models have cost the limit, a refinement is refused and nothing is held', async () => {
    const before = await balance();
    const id = refinementId(root.id, 1);
    const { userId } = person;
    const limits = { monthlyLimitOf: async () => -1, dailyCostLimitUsd: 0 };
    const commandId = uuidV5(id, 'limit');
    const called = { userId, apiKey: null, runId: root.id, id, commandId, fingerprint: id };
    await expect(refineRun({ ...council.core, ...limits }, called, {})).rejects.toMatchObject({
      code: 'paused',
    });
    expect(await balance()).toEqual(before);
  });
});

describe('what a refinement says of the votes before it', () => {
  /** A refinement in which every seat votes for this option, and no draft answers a flaw. */
  async function votedFor(option: string) {
    rewrite = (schema, reply) => {
      const written = JSON.parse(reply) as object;
      if (schema === 'draft') return { ...written, flaw_replies: [] };
      const reason = 'The new fact settles it.';
      return schema === 'second_vote'
        ? { votes: [], decision_vote: { option_id: option, reason } }
        : written;
    };
    asks.length = 0;
    const run = await refined({ changed_fact: 'The objection no longer holds.' });
    const drafts = asks.filter(({ schemaName }) => schemaName === 'draft');
    return { run, blocks: drafts.map(({ prompt }) => readMaterial(prompt).block('fatal flaws')) };
  }

  function voted(seat: string, option: string | null): boolean {
    const outcome = root.council.calls[`review.${seat}`]?.outcome;
    return outcome?.kind === 'review' && outcome.ballot.decision.optionId === option;
  }

  test('a flaw needs no reply of seats that came round to the option, and one of its own voters needs one', async () => {
    rewrite = (schema, reply) => {
      const written = JSON.parse(reply) as { scores: { answer_label: string }[] };
      const text = 'Nothing ends it early.';
      return schema === 'review'
        ? { ...written, fatal_flaws: written.scores.map((one) => ({ ...one, text })) }
        : written;
    };
    await asked();
    expect(root.result?.flaws[0]?.voted_for_since).toEqual([]);
    const options = Object.entries(root.council.ledger!.options);
    const winner = root.result!.option_id;
    const [other] = options.find(([id, { seats }]) => id !== winner && seats.length > 0)!;
    const moved = await votedFor(other);
    expect(moved.blocks).toEqual(['']);
    expect(moved.run.result?.flaws.length).toBeGreaterThan(0);
    for (const flaw of moved.run.result!.flaws)
      expect(flaw).toMatchObject({ reply: null, voted_for_since: flaw.reviewers });
    // An objection that is not marked is one of a seat's present votes.
    const { objection } = moved.run.result!;
    expect(objection?.voted_for_since).toBe(objection?.claim_id === null);
    expect(runMarkdown(moved.run)).toContain('Raised before the second vote, in which ');
    const kept = await votedFor(winner!);
    expect(kept.blocks).not.toContain('');
    expect(kept.run.result?.heading).toBe('best_single_answer');
    const votersOfWinner = root.models
      .map(({ seat }) => seat)
      .filter((seat) => voted(seat, winner));
    for (const flaw of kept.run.result!.flaws)
      expect(flaw.voted_for_since).toEqual(
        flaw.reviewers.filter((seat) => !votersOfWinner.includes(seat)),
      );
    rewrite = null;
  });
});

describe('a refinement belongs to its root', () => {
  let run: Optimization;
  beforeAll(async () => {
    await askedOnce();
    run = await refined({ changed_fact: fact });
  });

  test("a run's claims as CSV have a row for each claim and a column for each model", async () => {
    const path = `/optimizations/${run.id}/claims?format=csv`;
    const reply = await council.call(path, { token: person.token });
    expect(reply.headers.get('content-type')).toMatch(/^text\/csv/);
    const [names, ...lines] = (await reply.text()).trimEnd().split(/\r\n(?=c\d)/);
    expect(names).toContain(
      run.models.map(({ seat, name }) => `${seat} ${name} (simulated)`).join(','),
    );
    expect(lines).toHaveLength(Object.keys(run.council.ledger!.claims).length);
  });

  test('lists show the root alone, with the number of its refinements', async () => {
    expect(await listed(run.id)).toBeUndefined();
    expect(await listed(root.id)).toMatchObject({
      refinements: 1,
      newest_outcome: run.outcome,
      running_refinement_id: null,
      root_id: null,
      refinement_number: null,
    });
  });

  test('a refinement can be renamed', async () => {
    const renamed = await council.data<Optimization>(`/optimizations/${run.id}`, {
      method: 'PATCH',
      token: person.token,
      body: { title: 'With the monthly plan' },
    });
    expect(renamed.title).toBe('With the monthly plan');
    expect((await read(root.id)).refinements[0]?.title).toBe('With the monthly plan');
  });

  test('a person’s export has the refinement with its fact, its votes and its result', async () => {
    const rows = await Array.fromAsync(runExport(council.core).rows(person.userId));
    const exported = rows.find(([table, row]) => table === 'runs' && row['id'] === run.id)?.[1];
    expect(exported).toMatchObject({ root_id: root.id, refinement_number: 1, result: run.result });
    const texts = rows.filter(([table, row]) => table === 'run_texts' && row['run_id'] === run.id);
    expect(texts.map(([, row]) => row['field'])).toEqual(
      expect.arrayContaining(['instruction', 'notes', 'reply']),
    );
  });

  test('the command line refines a run and prints what changed', async () => {
    await council.core.pool.query(
      `insert into process_heartbeat (kind, process_id, host, pid) values ('worker', 'test', '', 0)`,
    );
    const words = ['optimizations', 'refine', root.id, '--fact', 'Prices have doubled.'];
    const { code, out } = await runHere(council, runCommands, words);
    expect(code).toBe(0);
    expect(out).toContain('*Refinement 2*');
    expect(out).toContain('**What changed:**');
    expect(out).toContain('- The changed fact: Prices have doubled.');
  });

  test('a root with a refinement in progress names it and is not deleted', async () => {
    for (const model of modelsOf(root)) personas[model] = 'hang';
    const hanging = await begun();
    const refusal = await remove(root.id);
    expect([refusal.status, await refusal.json()]).toMatchObject([409, { code: 'running' }]);
    expect((await read(root.id)).refinable).toMatchObject({ running_id: hanging.id });
    expect((await listed(root.id))?.running_refinement_id).toBe(hanging.id);
    await post(`/optimizations/${hanging.id}/cancel`);
    await council.ended(person, hanging.id);
  });

  test('every read model agrees with the events of refinements', async () => {
    for (const projection of projections)
      expect((await verify(council.database.ownerPool, projection)).differences).toEqual([]);
  });

  test('figures about runs count roots alone', async () => {
    const { rows } = await council.core.pool.query<{ completed: number; charged: number }>(
      `select count(*)::integer as completed, round(avg(captured - refunded), 1)::float8 as charged
       from optimization_list where user_id = $1 and root_id is null and status = 'completed'`,
      [person.userId],
    );
    await expect
      .poll(async () => council.data('/users/me/stats', { token: person.token }))
      .toMatchObject({
        optimizations_used: rows[0]?.completed,
        completed_optimizations: rows[0]?.completed,
        failed_optimizations: 0,
        success_rate: 1,
        average_cost_per_optimization: rows[0]?.charged,
      });
  });

  test('a refinement is deleted, restored and erased with its root', async () => {
    const refusal = await remove(run.id);
    expect([refusal.status, await refusal.json()]).toMatchObject([409, { code: 'part-of-run' }]);
    expect((await remove(root.id)).status).toBe(200);
    const shown = async () =>
      (await council.call(`/optimizations/${run.id}`, { token: person.token })).status;
    expect(await shown()).toBe(404);
    for (const id of [root.id, run.id]) {
      const stream = `/stream?optimization=${id}`;
      expect((await council.call(stream, { token: person.token })).status).toBe(404);
    }
    expect((await council.core.readRun(run.id))?.view.hidden).toBe(true);
    expect((await refine({}, run.id)).status).toBe(404);
    const alone = await post(`/optimizations/${run.id}/restore`);
    expect([alone.status, await alone.json()]).toMatchObject([409, { code: 'part-of-run' }]);
    expect((await post(`/optimizations/${root.id}/restore`)).status).toBe(200);
    expect(await shown()).toBe(200);
    await council.core.sealer.eraseKey(root.id);
    const erased = await read(run.id);
    expect(erased).toMatchObject({
      title: 'Deleted',
      challenge: 'Deleted',
      refines: { text: 'Deleted', given_before: [], decision_before: null },
      result: { decision: 'Deleted', changed: 'Deleted' },
      refinable: { allowed: false },
    });
    expect(JSON.stringify(erased)).not.toContain(fact);
    expect((await refine()).status).toBe(409);
  });

  test('a damaged text of a root leaves every other run in the export', async () => {
    const { ownerPool } = council.database;
    await ownerPool.query(
      `update emt_messages set message_data = jsonb_set(message_data, '{sealed,context}', '"damaged"')
       where stream_id = $1 and message_type = 'OptimizationCreated'`,
      [streamOf(root.id)],
    );
    const rows = await Array.fromAsync(runExport(council.core).rows(person.userId));
    const exported = rows.flatMap(([table, row]) => (table === 'runs' ? [row['id']] : []));
    expect(exported).toEqual(await allRunsOf(ownerPool, person.userId));
  });
});

describe('a person who leaves', () => {
  test('a person who leaves while a refinement runs is erased with it, and nothing stays held', async () => {
    const leaver = await council.signUp();
    await give(council, leaver.userId, 10);
    const { id: rootId, council: view } = await council.ask(leaver, question);
    for (const { model } of view.seats) personas[model] = 'hang';
    const response = await post(`/optimizations/${rootId}/refine`, {
      token: leaver.token,
      body: { changed_fact: fact },
    });
    const { data: run } = (await response.json()) as { data: Optimization };
    expect(run.status).toBe('processing');
    await council.call('/users/me', {
      method: 'DELETE',
      token: leaver.token,
      body: { password: testPassword },
    });
    await council.database.pool.query(
      `update mail set status = 'sent', sealed = null, ended_at = now()
       where user_id = $1 and status = 'queued'`,
      [leaver.userId],
    );
    const { pool, readRun } = council.core;
    const users = async () =>
      (await pool.query('select from users where id = $1', [leaver.userId])).rowCount;
    await expect.poll(users, { timeout: 10_000 }).toBe(0);
    const left = await readRun(run.id);
    expect(left?.state).toMatchObject({ stage: 'closed', outcome: 'cancelled' });
    expect(left?.view).toMatchObject({ hidden: true, challenge: null, refines: { text: null } });
    expect(await readBalance(pool, leaver.userId)).toMatchObject({ reserved_credits: 0 });
    expect(await tracesOf(council.database.ownerPool, [fact])).toEqual([]);
  });
});

async function listed(runId: string) {
  const response = await council.call('/optimizations?limit=100', { token: person.token });
  const { data } = (await response.json()) as OptimizationList;
  return data.find(({ id }) => id === runId);
}

async function remove(runId: string): Promise<Response> {
  return council.call(`/optimizations/${runId}`, { method: 'DELETE', token: person.token });
}
