import { describe, expect, test } from 'vitest';
import { packLimits, readPack } from '#services/optimizations/audit/pack/read.ts';
import { packLines } from '#services/optimizations/audit/pack/write.ts';
import type { StoredEvent } from '#services/optimizations/audit/evidence.ts';
import { firstHash } from '#db/chain.ts';
import { fileOf, forged, judge, parsed } from './pack-file.ts';

/** Files that nobody exported. Each is refused by one line that names the place, and never by a stack. */
const bytes = (...lines: string[]) => fileOf(lines);

const created = {
  type: 'OptimizationCreated',
  data: { seed: 's', strategy: 'fast', price: 1, schedule: {}, seats: [] },
};
const small = packLines(
  {
    runs: [{ runId: 'opt_1', events: [storedEvent(created)] }],
    credits: [],
    anchors: [],
    texts: 'sealed',
    opened: [],
    prompts: [],
    macKey: null,
    promptVersion: 1,
  },
  { exportedAt: '2026-11-24T00:00:00.000Z', software: '0.1.0' },
)
  .map((line) => `${line}\n`)
  .join('');
const [manifest = '', event = ''] = small.split('\n');

type Unchained = { type: string; data: Record<string, unknown> };

function storedEvent({ type, data }: Unchained): StoredEvent {
  const streamId = 'optimization-opt_1';
  const metadata = { hash: firstHash };
  return { streamId, streamPosition: 1, messageId: 'm', type, data, metadata };
}

/** A pack of these events, with a chain and digests that fit. */
function packOf(events: readonly Unchained[]): Buffer {
  const lines = events.map(({ type, data }) =>
    JSON.stringify({ ...parsed(event), type, data, messageId: 'm' }),
  );
  return forged([manifest, ...lines, ''].join('\n'), () => undefined);
}

const refused: Record<string, { file: Buffer; problem: RegExp }> = {
  'an empty file': { file: bytes(), problem: /^line 1: the file is empty$/ },
  'a line break': { file: bytes(''), problem: /^line 1: it is not JSON$/ },
  'a picture': {
    file: Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    problem: /^line 1: it is not UTF-8$/,
  },
  'JSON of something else': {
    file: bytes('{"kind":"invoice"}'),
    problem: /^line 1: kind: /,
  },
  'a number': { file: bytes('7'), problem: /^line 1: / },
  'a manifest of a later format': {
    file: forged(small, (lines) => void (lines[0]!['formatVersion'] = 2)),
    problem: /^line 1: formatVersion: must be 1, the only one known here$/,
  },
  'a manifest with a field of its own': {
    file: forged(small, (lines) => void (lines[0]!['note'] = 'hello')),
    problem: /^line 1: note: /,
  },
  'an event before the manifest': {
    file: bytes(event, manifest),
    problem: /^line 1: it is not a manifest$/,
  },
  'two manifests': {
    file: bytes(manifest, manifest, event),
    problem: /^line 2: the manifest is already in line 1$/,
  },
  'an event twice': {
    file: bytes(manifest, event, event),
    problem: /^line 3: event 1 of optimization-opt_1 is already in line 2$/,
  },
  'a last line that is cut': {
    file: Buffer.from(small.slice(0, -20)),
    problem: /^line 2: it does not end with a line break$/,
  },
  'a byte order mark': {
    file: Buffer.from(`\uFEFF${small}`),
    problem: /^line 1: it is not JSON$/,
  },
  'line breaks of Windows': {
    file: Buffer.from(small.replaceAll('\n', '\r\n')),
    problem: /^line 1: line ends were changed to CRLF, as some editors, mail programs/,
  },
  'line breaks of Windows from the second line on': {
    file: Buffer.from(small.replace(/\n$/, '\r\n')),
    problem: /^line 2: line ends were changed to CRLF/,
  },
  'white space': {
    file: bytes(manifest, event.replace('{', '{ ')),
    problem: /^line 2: it is not written as this format writes it$/,
  },
  'a key twice': {
    file: bytes(manifest, event.replace('{', '{"kind":"event",')),
    problem: /^line 2: it is not written as this format writes it$/,
  },
  'an escape in place of a letter': {
    file: bytes(manifest, event.replace('fast', String.raw`\u0066ast`)),
    problem: /^line 2: it is not written as this format writes it$/,
  },
  'brackets without end': {
    file: bytes(manifest, `{"kind":"event","data":{"a":${'['.repeat(200_000)}`),
    problem: /^line 2: it is not JSON$/,
  },
  'an event nested too deep': {
    file: bytes(
      manifest,
      event.replace('"seats":[]', `"seats":${'['.repeat(90)}${']'.repeat(90)}`),
    ),
    problem: /^line 2: it is nested more than 64 deep$/,
  },
  'an event of a run that the manifest does not name': {
    file: bytes(manifest, event.replace('opt_1', 'opt_2')),
    problem: /^line 2: event 1 of optimization-opt_2 is beyond the events/,
  },
  'more lines than a pack has': {
    file: Buffer.alloc(packLimits.lines * 2 + 2, '7\n'),
    problem: new RegExp(`^line ${packLimits.lines + 1}: a pack has fewer lines$`),
  },
};

test.each(Object.entries(refused))(
  '%s is refused, and its line is named',
  (_name, { file, problem }) => {
    const read = readPack(file);
    expect(read).toEqual({ ok: false, problem: expect.stringMatching(problem) });
  },
);

test('a file that is too large is refused unread', () => {
  const file = new Proxy(new Uint8Array(0), {
    get: (_target, key) => (key === 'length' ? packLimits.bytes + 1 : undefined),
  });
  expect(readPack(file)).toEqual({
    ok: false,
    problem: 'line 1: the file is too large for a pack',
  });
});

/** Chains that are whole, of events that no software wrote. */
const nonsense: Record<string, readonly { type: string; data: Record<string, unknown> }[]> = {
  'a creation and nothing else': [created],
  'events without data': ['CallStarted', 'OpinionsClosed', 'ScoresComputed', 'RunConcluded'].map(
    (type) => ({ type, data: {} }),
  ),
  'a creation of the wrong shape': [
    { type: 'OptimizationCreated', data: { ...created.data, schedule: 7, seats: 'none' } },
    { type: 'ProcessingStarted', data: { startedAt: 1, opinionsSoftAt: [], opinionsHardAt: {} } },
    { type: 'OpinionsClosed', data: { claimsHardAt: 'never', order: null } },
  ],
  'a refinement of itself': [
    {
      type: 'OptimizationCreated',
      data: { ...created.data, refines: { previous: 'opt_1', root: 'opt_1' } },
    },
  ],
  'prices that are none': [
    {
      type: 'OptimizationCreated',
      data: {
        ...created.data,
        schedule: JSON.parse('{"prices":{"m":"free","__proto__":7}}') as unknown,
      },
    },
    { type: 'CallStarted', data: { slot: 'opinion.S1', attempt: 1, model: 'm', startedAt: 'x' } },
    {
      type: 'CallSucceeded',
      data: { slot: 'opinion.S1', attempt: 1, usage: null, costMicros: {} },
    },
  ],
  'a slot that is none': [
    created,
    { type: 'CallStarted', data: { slot: 'toString', promptMac: 1 } },
  ],
  'sealed texts that are none': [
    { type: 'OptimizationCreated', data: { ...created.data, sealed: 'text' } },
  ],
};

describe('a whole chain of nonsense', () => {
  test.each(Object.entries(nonsense))('%s fails as a check', async (_name, events) => {
    const { verified, said } = await judge(packOf(events));
    expect([verified, said]).toEqual([false, expect.not.stringMatching(/^ {4}at /m)]);
  });
});

test('a pack with texts of nonsense fails as a check', async () => {
  const lines = small.split('\n').slice(0, -1).map(parsed);
  lines[0]!['texts'] = 'opened';
  lines.splice(1, 0, {
    kind: 'key',
    use: 'HMAC-SHA-256 of prompts and texts',
    subkey: 'ab'.repeat(32),
  });
  lines.push({ kind: 'text', run: 'opt_1', position: 1, field: 'challenge', text: '\0\uD800' });
  const file = forged(lines.map((line) => `${JSON.stringify(line)}\n`).join(''), () => undefined);
  const { verified, said } = await judge(file);
  expect([verified, said]).toEqual([
    false,
    expect.stringContaining('text "challenge": these are not the words that were sealed'),
  ]);
});
