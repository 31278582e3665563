import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { anchorNow } from '#db/anchors.ts';
import { UsageError } from '#services/cli/command.ts';
import { optimizationCommands } from '#services/cli/optimizations.ts';
import { loadCatalogue } from '#services/models/catalogue.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { promptVersion } from '#services/optimizations/prompts/calls.ts';
import { streamOf } from '#services/optimizations/run/events.ts';
import { newId } from '#services/platform/ids.ts';
import { softwareVersion } from '#services/platform/process/software.ts';
import type { Persona } from '#services/platform/process/env.ts';
import { runHere } from '#tests/cli/in-process.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { give } from '#tests/support/processes/service.ts';
import { forged, isEvent, judge, linesOf, parsed, withoutCodes } from './pack-file.ts';

/** A run as its owner takes it along, checked by someone who has nothing but the file. */
const question = {
  challenge: 'Should I lease the van, or buy it?',
  context: 'Grüße, 車, 🚐: an idea\u2028with odd characters.',
  strategy: 'fast',
};
const personas: Record<string, Persona> = {};
let council: TestCouncil;
let person: Person;
let folder: string;
let run: Optimization;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sevenfold-evidence-'));
  council = await createTestCouncil({ personas });
  person = await council.signUp();
  await give(council, person.userId, 1000);
  run = await council.ask(person, question);
});
beforeEach(() => {
  for (const model of Object.keys(personas)) delete personas[model];
});
afterAll(async () => {
  await council.close();
  rmSync(folder, { recursive: true });
});

async function download(runId: string, token = person.token): Promise<Response> {
  return council.call(`/optimizations/${runId}/evidence`, { token });
}

async function packOf(runId: string): Promise<string> {
  const response = await download(runId);
  expect(response.status).toBe(200);
  return response.text();
}

async function exported(runId: string, ...options: string[]): Promise<string> {
  const out = join(folder, `${newId('opt')}.ndjson`);
  const words = ['optimizations', 'export', runId, '--evidence', '--out', out, ...options];
  const { code } = await runHere(council, optimizationCommands, words);
  expect([code, statSync(out).mode & 0o777]).toEqual([0, 0o600]);
  return readFileSync(out, 'utf8');
}

/** As someone else runs it: in an empty folder, without a setting and without a database. */
async function verifyAlone(pack: string | Buffer, ...options: string[]) {
  const empty = mkdtempSync(join(tmpdir(), 'sevenfold-empty-'));
  try {
    writeFileSync(join(empty, 'pack.ndjson'), pack);
    const main = fileURLToPath(import.meta.resolve('#services/cli/main.ts'));
    const words = ['optimizations', 'verify', 'pack.ndjson', ...options];
    const child = spawn(process.execPath, [main, ...words], { cwd: empty, env: {} });
    let [out, said] = ['', ''];
    child.stdout.on('data', (data: Buffer) => (out += data.toString()));
    child.stderr.on('data', (data: Buffer) => (said += data.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, out, said };
  } finally {
    rmSync(empty, { recursive: true });
  }
}

/** The same in this process. */
async function verify(pack: string | Buffer, ...options: string[]) {
  const file = join(folder, `${newId('opt')}.ndjson`);
  writeFileSync(file, pack);
  return runHere(council, optimizationCommands, ['optimizations', 'verify', file, ...options]);
}

async function refined(runId: string, body: object): Promise<Optimization> {
  const path = `/optimizations/${runId}/refine`;
  const { id } = await council.data<Optimization>(path, { token: person.token, body });
  await council.data(`/optimizations/${id}/process`, { method: 'POST', token: person.token });
  return council.ended(person, id);
}

/** Runs that end in every way, each with what its pack says. */
const endings: Record<string, { make: () => Promise<Optimization>; events: string[] }> = {
  'a completed run': { make: async () => run, events: ['OptimizationCompleted'] },
  'a refinement': {
    make: async () => refined(run.id, { changed_fact: 'The dealer leases no vans any more.' }),
    events: ['OptimizationCompleted', 'OptimizationCompleted'],
  },
  'a refinement of a refinement': {
    make: async () => {
      const root = await council.ask(person, question);
      const { id } = await refined(root.id, { instruction: 'Think of the winter.' });
      return refined(id, {});
    },
    events: ['OptimizationCompleted', 'OptimizationCompleted', 'OptimizationCompleted'],
  },
  'a run without two of its models, and with repairs': {
    make: async () => {
      const [one, two, three] = modelsOfPanel();
      Object.assign(personas, { [one!]: 'refusal', [two!]: '429-then-ok', [three!]: 'sloppy' });
      return council.ask(person, question);
    },
    events: ['OptimizationCompleted'],
  },
  'a failed run': {
    make: async () => {
      for (const model of modelsOfPanel()) personas[model] = 'refusal';
      return council.ask(person, question);
    },
    events: ['OptimizationFailed'],
  },
  'a run that was canceled while its models wrote': {
    make: async () => {
      for (const model of modelsOfPanel()) personas[model] = 'hang';
      const { id } = await council.start(person, question);
      await expect.poll(async () => eventCount(id)).toBeGreaterThan(4);
      await council.data(`/optimizations/${id}/cancel`, { method: 'POST', token: person.token });
      return council.ended(person, id);
    },
    events: ['OptimizationCancelled'],
  },
  'a draft that was canceled': {
    make: async () => {
      const draft = await council.data<Optimization>('/optimizations', {
        token: person.token,
        body: question,
      });
      const path = `/optimizations/${draft.id}/cancel`;
      return council.data<Optimization>(path, { method: 'POST', token: person.token });
    },
    events: ['OptimizationCancelled'],
  },
};

function modelsOfPanel(): string[] {
  const panel = loadCatalogue(null).strategyOf('fast')?.panel ?? [];
  return [...new Set(panel.map(({ model }) => model))];
}

async function eventCount(runId: string): Promise<number> {
  return (await council.core.readStream(streamOf(runId))).version;
}

test.each(Object.entries(endings))(
  '%s verifies from its file alone, and from the database',
  async (_name, { make, events }) => {
    const { id } = await make();
    const pack = await packOf(id);
    const types = linesOf(pack)
      .map(parsed)
      .filter(isEvent)
      .map(({ type }) => type);
    expect(types.filter((type) => /^Optimization(Comp|Fail|Canc)/.test(type))).toEqual(events);
    const alone = await verify(pack);
    expect(alone.out).not.toContain('NOT ');
    expect(alone).toMatchObject({ code: 0, said: '' });
    expect(alone.out).toMatch(new RegExp(String.raw`^Verified: \d+ events of ${id}\.$`, 'm'));
    const stored = await runHere(council, optimizationCommands, ['optimizations', 'verify', id]);
    expect(stored.out).not.toContain('NOT ');
    expect(stored.code).toBe(0);
  },
);

test('the file is an attachment of its owner; nobody else gets it, and no run in progress has one', async () => {
  const response = await download(run.id);
  expect(response.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8');
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(response.headers.get('content-disposition')).toBe(
    `attachment; filename="sevenfold-${run.id}.evidence.ndjson"`,
  );
  const other = await council.signUp();
  expect((await download(run.id, other.token)).status).toBe(404);
  const draft = await council.data<Optimization>('/optimizations', {
    token: person.token,
    body: question,
  });
  const early = await download(draft.id);
  expect([early.status, await early.json()]).toMatchObject([409, { code: 'running' }]);
  const { code } = await runHere(council, optimizationCommands, [
    'optimizations',
    'export',
    draft.id,
    '--evidence',
  ]);
  expect(code).toBe(1);
});

test('the file holds the question, every prompt and every text, and nothing of the account', async () => {
  const pack = await packOf(run.id);
  const lines = linesOf(pack).map(parsed);
  const count = (kind: string) => lines.filter((line) => line.kind === kind).length;
  const starts = lines.filter((line) => line['type'] === 'CallStarted');
  expect(count('prompt')).toBe(starts.length);
  expect(count('key')).toBe(1);
  expect(lines[0]).toMatchObject({
    kind: 'manifest',
    run: run.id,
    software: softwareVersion,
    texts: 'opened',
    figures: { heading: run.result?.heading, captured: run.credits.charged, refunded: 0 },
  });
  expect(lines.find((line) => line['field'] === 'challenge')).toMatchObject({
    position: 1,
    text: question.challenge,
  });
  expect(lines.filter((line) => line.kind === 'credits')).toMatchObject([
    { type: 'CreditsReserved', credits: run.credits.price },
    { type: 'CreditsCaptured', credits: run.credits.price },
  ]);
  expect(pack).not.toContain('"balance"');
});

test("an operator's export is sealed; with --open it has the texts, and the audit log an entry", async () => {
  const sealed = await exported(run.id);
  expect(sealed).not.toContain(question.challenge);
  const kinds = new Set(linesOf(sealed).map((line) => parsed(line).kind));
  expect([...kinds]).toEqual(['manifest', 'event', 'credits']);
  const { verified, said } = await judge(Buffer.from(sealed));
  expect([verified, said]).toEqual([true, expect.stringContaining('the texts are sealed')]);
  const openings = async () =>
    (
      await council.core.pool.query<{ actor: string }>(
        `select actor from audit_log where action = 'optimizations.open' and subject = $1`,
        [run.id],
      )
    ).rows;
  // The checks of the stored run above have opened it, too.
  const before = (await openings()).length;
  expect(linesOf(await exported(run.id, '--open')).slice(1)).toEqual(
    linesOf(await packOf(run.id)).slice(1),
  );
  // Another kind of export may follow, so this one is named.
  const unnamed = runHere(council, optimizationCommands, ['optimizations', 'export', run.id]);
  await expect(unnamed).rejects.toThrow(new UsageError('Missing: --evidence'));
  expect(await openings()).toHaveLength(before + 1);
  expect((await openings()).at(-1)).toMatchObject({
    actor: expect.stringMatching(/^operator:/),
  });
});

test('an export never writes over a file, which others may be able to read', async () => {
  const out = join(folder, 'kept.ndjson');
  writeFileSync(out, 'kept', { mode: 0o644 });
  const words = ['optimizations', 'export', run.id, '--evidence', '--out', out];
  await expect(runHere(council, optimizationCommands, words)).rejects.toThrow(
    /^--out must be a new file; .*: it exists$/,
  );
  expect(readFileSync(out, 'utf8')).toBe('kept');
});

test('a check of the stored run opens its texts, and the audit log says so', async () => {
  const { id } = await council.ask(person, question);
  await runHere(council, optimizationCommands, ['optimizations', 'verify', id]);
  const { rows } = await council.core.pool.query(
    `select actor from audit_log where action = 'optimizations.open' and subject = $1`,
    [id],
  );
  expect(rows).toMatchObject([{ actor: expect.stringMatching(/^operator:/) }]);
});

test('a run whose texts were erased keeps its figures, and the file says what is gone', async () => {
  const { id } = await council.ask(person, question);
  await council.core.sealer.eraseKey(id);
  const { out, code } = await verify(await packOf(id));
  expect(out).toContain('ok   order\n');
  expect(out).toContain('the texts of this run have been erased: prompts were not checked');
  expect(code).toBe(0);
});

test('a run of 0.1, which stored no prices, is verified for the rest', async () => {
  const early = forged(await exported(run.id), (lines) => {
    for (const line of lines) {
      if (line['type'] === 'OptimizationCreated' && isEvent(line))
        delete (line.data['schedule'] as Record<string, unknown>)['prices'];
      if (line.kind === 'manifest')
        (line['figures'] as Record<string, unknown>)['pricesStored'] = false;
    }
  });
  const { out, code } = await verify(early);
  expect(out).toContain('costs were not checked: prices not stored with this run');
  expect([code, out]).toEqual([0, expect.not.stringContaining('cost in micro-dollars')]);
});

test('an anchor in the file leads to the root that was logged, and shows no other stream', async () => {
  const { id } = await council.ask(person, question);
  const stranger = await council.signUp();
  await give(council, stranger.userId, 5);
  // An open transaction of another test leaves the newest events to the next anchor.
  const isAnchored = async () => {
    await anchorNow(council.core);
    return (await packOf(id)).includes('"kind":"anchor"');
  };
  await expect.poll(isAnchored).toBe(true);
  const pack = await packOf(id);
  const [anchor] = linesOf(pack)
    .map(parsed)
    .filter(({ kind }) => kind === 'anchor');
  const root = String(anchor?.['root']);
  const { rows } = await council.core.pool.query('select from chain_anchor where root = $1', [
    root,
  ]);
  expect(rows).toHaveLength(1);
  expect(pack).not.toContain(stranger.userId);
  const alone = await verify(pack, '--root', root);
  expect(alone.out).toContain(`ok   a given root proves ${id}`);
  expect(alone.code).toBe(0);
  const other = await verify(pack, '--root', 'ab'.repeat(32));
  expect(other.out).toContain(`NOT  a given root proves ${id}: the anchor of this run has ${root}`);
  expect(other.code).toBe(1);
  const later = await endings['a draft that was canceled']!.make();
  const none = await verify(await packOf(later.id), '--root', root);
  expect([none.code, none.out]).toEqual([1, expect.stringContaining('this run has no anchor')]);
});

test('a refinement names the last event of the run that it starts from', async () => {
  const { id } = await refined(run.id, { instruction: 'Think of the summer.' });
  const written = forged(await packOf(id), (lines) => {
    // Nothing but the chain holds the time of an event.
    const event = lines.filter(isEvent).find(({ type }) => type === 'OptimizationCompleted');
    event!.metadata['occurredAt'] = '2030-01-01T00:00:00.000Z';
  });
  const { faults } = await judge(written);
  expect(faults.filter((fault) => !fault.includes('anchor'))).toEqual([
    expect.stringMatching(
      /^NOT {2}event 1 OptimizationCreated: hash of the run that it starts from: /,
    ),
  ]);
});

test('a file is verified in an empty folder, without a setting and without a database', async () => {
  const pack = await packOf(run.id);
  expect(await verifyAlone(pack)).toMatchObject({
    code: 0,
    out: expect.stringMatching(new RegExp(String.raw`^Verified: \d+ events of ${run.id}\.$`, 'm')),
    said: '',
  });
  const altered = await verifyAlone(pack.replace('lease the van', 'lease the ban'));
  expect(altered).toMatchObject({ code: 1, out: expect.stringMatching(/^NOT {2}line \d+/) });
});

test('a file whose texts have no codes is never just verified, and each of them is listed', async () => {
  const early = forged(await packOf(run.id), withoutCodes);
  const { code, out } = await verify(early);
  expect(code).toBe(0);
  const [, texts] =
    /^Verified, except the words of (\d+) texts, which nothing in the file proves: \d+ events of opt_\w+\.$/m.exec(
      out,
    ) ?? [];
  const listed =
    out.match(/^ {5}line \d+, event \d+ .*, text "\w+": nothing in the file proves its words$/gm) ??
    [];
  expect(listed).toHaveLength(Number(texts));
  const { unproven_texts: unproven } = JSON.parse((await verify(early, '--json')).out) as {
    unproven_texts: object[];
  };
  expect(unproven).toHaveLength(Number(texts));
  expect(unproven).toContainEqual({
    line: expect.any(Number),
    run: run.id,
    event: 'event 1 OptimizationCreated',
    field: 'title',
  });
});

test('a file of a stranger writes no lines of its own, and gives the terminal no commands', async () => {
  const spoofed = forged(await exported(run.id), (lines) => {
    const event = lines.find(
      (line) => line['type'] === 'SoftPassed' || line['type'] === 'ProcessingStarted',
    );
    event!['type'] = '\u001b[2J\u009b2J\nVerified: 46 events\u202e';
  });
  const { code, out } = await verify(spoofed);
  expect(code).toBe(1);
  expect(out).toContain('Differences were found.\n');
  expect(out).not.toMatch(/^Verified/m);
  expect(out).not.toMatch(/[^\n\P{C}]/u);
});

test('a damaged text is left out, and the check names it', async () => {
  const { id } = await council.ask(person, question);
  await council.database.ownerPool.query(
    `update emt_messages set message_data = jsonb_set(message_data, '{sealed,title}',
       to_jsonb(overlay(message_data #>> '{sealed,title}' placing 'AAAA' from 60)))
     where stream_id = $1 and stream_position = 1`,
    [streamOf(id)],
  );
  const { faults } = await judge(Buffer.from(await packOf(id)));
  expect(faults.join('\n')).toContain(
    'event 1 OptimizationCreated: prompts and texts of every event: its text "title" is missing',
  );
  expect(faults.join('\n')).toContain('event 1 OptimizationCreated: hash chain');
});

test(
  'a file with --json is one document, and a wrong argument ends with 2',
  { tags: ['long'] },
  async () => {
    const { code, out } = await verify(await packOf(run.id), '--json');
    expect(JSON.parse(out)).toMatchObject({
      run_id: run.id,
      verified: true,
      checks: expect.any(Array),
      unproven_texts: [],
    });
    expect(code).toBe(0);
    const broken = await verify('{}\n', '--json');
    expect(JSON.parse(broken.out)).toMatchObject({ verified: false, problem: expect.any(String) });
    expect(broken.code).toBe(1);
    const main = fileURLToPath(import.meta.resolve('#services/cli/main.ts'));
    const child = spawn(process.execPath, [main, 'optimizations', 'verify', 'nowhere'], {
      env: {},
    });
    let said = '';
    child.stderr.on('data', (data: Buffer) => (said += data.toString()));
    expect(await once(child, 'close')).toEqual([2, null]);
    expect(said.split('\n')[0]).toContain('Neither a run id nor a file that can be read');
  },
);

const goldenFolder = fileURLToPath(new URL('../../golden/', import.meta.url));
const goldenPacks = globSync('evidence-*.ndjson', { cwd: goldenFolder }).toSorted();

// One for each version of the prompts: RECORD_EVIDENCE=true npm test -- tests/optimizations/audit/packs
test.runIf(process.env['RECORD_EVIDENCE'] === 'true')('a golden pack is recorded', async () => {
  // The run and its refinement are anchored on different days.
  await anchorNow(council.core);
  const { id } = await refined(run.id, { instruction: 'Think of the winter.' });
  await vi.waitFor(
    async () => {
      await anchorNow(council.core);
      const { said } = await judge(Buffer.from(await packOf(id)));
      expect(said.match(/^ok {3}anchor/gm)).toHaveLength(2);
      expect(said).not.toContain('newer than its anchor');
    },
    { timeout: 60_000, interval: 200 },
  );
  writeFileSync(join(goldenFolder, `evidence-${promptVersion}.ndjson`), await packOf(id));
});

test.each(goldenPacks)('the pack %s is verified by all later versions', async (name) => {
  const { faults } = await judge(readFileSync(join(goldenFolder, name)));
  expect(faults).toEqual([]);
});

test('a changed prompt, or another reading of replies, has a version of its own', async () => {
  // If this fails, raise `promptVersion` and record a pack of the new version.
  const { said } = await judge(readFileSync(join(goldenFolder, goldenPacks.at(-1)!)));
  expect(said).toMatch(/^ok {3}prompts as the texts give them$/m);
  expect(said).toMatch(/^ok {3}findings as the replies give them$/m);
});
