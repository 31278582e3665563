import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { optimizationCommands } from '#services/cli/optimizations.ts';
import { loadCatalogue } from '#services/models/catalogue.ts';
import { writeChanges } from '#services/models/catalogue/operator-file.ts';
import { currentMetric, metricOf } from '#services/optimizations/council/metric.ts';
import { fieldsOfPrompt, prepareCall, promptText } from '#services/optimizations/prompts/calls.ts';
import { createReadRun, runEventOf } from '#services/optimizations/reading/read-run.ts';
import { streamOf } from '#services/optimizations/run/events.ts';
import { ErasedKeyError } from '#services/platform/seal.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import { runHere } from '#tests/cli/in-process.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';

/** What an auditor can show about a run long after it: its figures, its costs and its prompts. */
const metric = vi.hoisted(() => ({ version: null as string | null }));
vi.mock(import('#services/optimizations/council/metric.ts'), async (original) => {
  const real = await original();
  return {
    ...real,
    get currentMetric() {
      return metric.version === null ? real.currentMetric : real.metricOf(metric.version)!;
    },
  };
});

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

async function eventsOf(runId: string) {
  const { events } = await council.core.readStream(streamOf(runId));
  return events.map(runEventOf);
}

test.each([
  ['agreement_v1', 'agreement_v2'],
  ['agreement_v2', 'agreement_v1'],
])(
  'a run counted by %s is verified when prices have doubled and runs are counted by %s',
  async (then, now) => {
    metric.version = then;
    const run = await council.ask(person, question);
    const scored = (await eventsOf(run.id)).find((event) => event.type === 'ScoresComputed');
    expect(scored?.data).toMatchObject({ metricVersion: then });
    metric.version = now;
    expect(currentMetric).toBe(metricOf(now));
    const edited = join(folder, `${then}.json`);
    writeChanges(
      edited,
      loadCatalogue(null).models.map(({ id, prices }) => ({
        model: id,
        change: {
          prices: prices.map((row) => ({
            ...row,
            inputPerMTok: row.inputPerMTok * 2,
            outputPerMTok: row.outputPerMTok * 2,
          })),
        },
      })),
    );
    const verify = ['optimizations', 'verify', run.id];
    const { code, out } = await runHere(council, optimizationCommands, verify, {
      MODELS_FILE: edited,
    });
    metric.version = null;
    expect(out).toContain('ok   all other scores\n');
    expect(out).toContain('ok   cost in micro-dollars\n');
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('Verified') });
  },
);

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
