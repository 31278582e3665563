import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { optimizationCommands } from '#services/cli/optimizations.ts';
import { loadCatalogue } from '#services/models/catalogue.ts';
import { writeChanges } from '#services/models/catalogue/operator-file.ts';
import { currentMetric, metricOf } from '#services/optimizations/council/metric.ts';
import { fieldsOfPrompt, prepareCall, promptText } from '#services/optimizations/prompts/calls.ts';
import { createReadRun, runEventOf } from '#services/optimizations/reading/read-run.ts';
import { streamOf } from '#services/optimizations/run/events.ts';
import type { OptimizationEvent } from '#services/optimizations/run/events.ts';
import { countReviews } from '#services/optimizations/run/stages.ts';
import { evolve, initialState } from '#services/optimizations/run/state.ts';
import type { RunState } from '#services/optimizations/run/state.ts';
import type { Decider } from '#services/platform/command.ts';
import { ErasedKeyError } from '#services/platform/seal.ts';
import { newId, uuidV5 } from '#services/platform/ids.ts';
import type { EnvSource } from '#services/platform/process/env.ts';
import { runHere } from '#tests/cli/in-process.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';

/** What an auditor can show about a run long after it: its figures, its costs and its prompts. */
const catalogue = loadCatalogue(null);
let council: TestCouncil;
let person: Person;
let folder: string;
const question = { challenge: 'Should I lease the van, or buy it?', strategy: 'balanced' };

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sevenfold-verify-'));
  council = await createTestCouncil();
  person = await council.signUp();
  await council.core.ledger.give({
    userId: person.userId,
    credits: 1000,
    source: 'other',
    reason: 'operator',
    actor: 'test',
    commandId: uuidV5(person.userId, 'rich'),
  });
});
afterAll(async () => {
  await council.close();
  rmSync(folder, { recursive: true });
});

const verify = async (runId: string, source: EnvSource = {}) =>
  runHere(council, optimizationCommands, ['optimizations', 'verify', runId], source);

test('a run is verified when every price of the catalogue has doubled since', async () => {
  const { id } = await council.ask(person, question);
  const edited = join(folder, 'models.json');
  writeChanges(
    edited,
    catalogue.models.map(({ id: model, prices }) => ({
      model,
      change: {
        prices: prices.map((row) => ({
          ...row,
          inputPerMTok: row.inputPerMTok * 2,
          outputPerMTok: row.outputPerMTok * 2,
        })),
      },
    })),
  );
  const { code, out } = await verify(id, { MODELS_FILE: edited });
  expect(out).toContain('ok   all other scores\n');
  expect(out).toContain('ok   cost in micro-dollars\n');
  expect(out).toContain('ok   settlement\n');
  expect(out).toContain('Verified');
  expect(code).toBe(0);
});

test('a run that was counted by agreement_v1 is verified by it, and not by the current metric', async () => {
  const { id } = await council.ask(person, question);
  const { events } = await council.core.readStream(streamOf(id));
  const at = events.findIndex(({ type }) => type === 'ScoresComputed');
  const scored = runEventOf(events[at]!);
  if (scored.type !== 'ScoresComputed') throw new Error('The run was not scored');
  const before = events.slice(0, at).map(runEventOf).reduce<RunState>(evolve, initialState());
  if (before.stage !== 'reviews') throw new Error('The reviews were not open');
  const old = countReviews(before, metricOf('agreement_v1')!);
  const { inputs, synthesisHardAt } = scored.data;
  // The run up to its count, as agreement_v1 counted it, and the same with the other version's name.
  for (const [version, code] of [
    ['agreement_v1', 0],
    [currentMetric.version, 1],
  ] as const) {
    const counted = newId('opt');
    const data = { ...old.scores, inputs, synthesisHardAt, metricVersion: version };
    await council.core.bus.execute(
      asGiven,
      {
        streamId: streamOf(counted),
        command: [...events.slice(0, at).map(runEventOf), { type: scored.type, data }],
        commandId: uuidV5(counted, 'given'),
        actor: 'test',
        correlationId: counted,
      },
      'job',
    );
    expect([version, (await verify(counted)).code]).toEqual([version, code]);
  }
});

/** Appends a run's events through the command path of the product, but decides nothing. */
const asGiven: Decider<Record<string, never>, readonly OptimizationEvent[], OptimizationEvent> = {
  name: 'given',
  version: 1,
  initialState: () => ({}),
  decide: (events) => events,
  evolve: (state) => state,
  reactions: () => [],
};

test('a run proves each prompt that it sent, to nobody after its erasure', async () => {
  const { id } = await council.ask(person, question);
  const { sealer } = council.core;
  const stream = await council.core.readStream(streamOf(id));
  const starts = stream.events.flatMap((recorded, at) => {
    const event = runEventOf(recorded);
    return event.type === 'CallStarted' ? [{ ...event.data, at }] : [];
  });
  expect(starts.length).toBeGreaterThan(15);
  for (const { slot, attempt, promptMac, at } of starts) {
    const readRun = createReadRun({
      readStream: async () => ({ ...stream, events: stream.events.slice(0, at) }),
      sealer,
    });
    const run = await readRun(id, fieldsOfPrompt(slot));
    const { request } = prepareCall(run!, slot, attempt);
    expect([slot, await sealer.mac(id, promptText(request))]).toEqual([slot, promptMac]);
    for (const other of [
      { ...request, system: `${request.system} ` },
      { ...request, prompt: request.prompt.replace('a', 'b') },
      { ...request, schema: null },
    ])
      expect(await sealer.mac(id, promptText(other))).not.toBe(promptMac);
  }
  await sealer.eraseKey(id);
  await expect(sealer.mac(id, 'any prompt')).rejects.toThrow(ErasedKeyError);
});
