import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson, chainHash, firstHash, NotCanonicalError, verifyChain } from '#db/chain.ts';
import type { RecordedEvent } from '#db/recorded-event.ts';

test('canonical JSON equals the example in RFC 8785', () => {
  // Written with escapes, because the example is about them.
  const value: unknown = JSON.parse(String.raw`{
    "numbers": [333333333.33333329, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`);
  expect(canonicalJson(value)).toBe(
    String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
  );
});

test('keys are sorted by their UTF-16 units, as in RFC 8785', () => {
  const value = {
    '\u20ac': 'Euro Sign',
    '\r': 'Carriage Return',
    '\ufb33': 'Hebrew Letter Dalet With Dagesh',
    '1': 'One',
    '\ud83d\ude00': 'Emoji: Grinning Face',
    '\u0080': 'Control',
    '\u00f6': 'Latin Small Letter O With Diaeresis',
  };
  const values = [...canonicalJson(value).matchAll(/:"([^"]+)"/g)].map(([, text]) => text);
  expect(values).toEqual([
    'Carriage Return',
    'One',
    'Control',
    'Latin Small Letter O With Diaeresis',
    'Euro Sign',
    'Emoji: Grinning Face',
    'Hebrew Letter Dalet With Dagesh',
  ]);
});

test('canonical JSON has the content of JSON, in one order only', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      fc.pre(isStorable(value));
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      expect(canonicalJson(reordered(value))).toBe(canonicalJson(value));
    }),
  );
});

test.each([
  ['NaN', Number.NaN],
  ['an infinite number', Number.POSITIVE_INFINITY],
  ['an integer beyond 2^53', 2 ** 53],
  ['half a surrogate pair', '\ud83d'],
  ['the character NUL', { text: 'a\0b' }],
  ['a key with half a surrogate pair', { '\udc00': 1 }],
  ['a bigint', 1n],
  ['a date', new Date(0)],
  ['a hole in a list', [undefined]],
])('%s has no canonical form', (_name, value) => {
  expect(() => canonicalJson(value)).toThrow(NotCanonicalError);
});

test('canonical JSON leaves out undefined properties', () => {
  expect(canonicalJson({ a: 1, b: undefined })).toBe('{"a":1}');
});

test('a hash depends on the previous hash and on everything in the event', () => {
  const event = {
    stream: 's',
    version: 1,
    messageId: 'm',
    type: 'T',
    data: { a: 1 },
    metadata: { b: 2 },
  };
  const hashes = [
    chainHash(firstHash, event),
    chainHash('1'.repeat(64), event),
    ...[
      { stream: 't' },
      { version: 2 },
      { messageId: 'n' },
      { type: 'U' },
      { data: { a: 2 } },
      { metadata: { b: 3 } },
    ].map((change) => chainHash(firstHash, { ...event, ...change })),
  ];
  expect(new Set(hashes).size).toBe(hashes.length);
  // The form of a released chain never changes.
  expect(hashes[0]).toBe('77d1f4307ebbda48618e57acbe66927ffd541459a53d0d194b6e0404684682ad');
});

test('a chain is intact until an event is changed, removed, inserted or exchanged', () => {
  const events = chainOf(6);
  expect(verifyChain(events)).toEqual({
    intact: true,
    version: 6,
    hash: events[5]!.metadata['hash'],
  });
  const middle = verifyChain(events.slice(0, 3));
  expect(middle.intact && verifyChain(events.slice(3), middle)).toMatchObject({ intact: true });

  const broken: [string, RecordedEvent[], number][] = [
    ['changed', events.with(2, { ...events[2]!, data: { n: 99 } }), 3],
    ['left out', events.toSpliced(2, 1), 4],
    ['doubled', events.toSpliced(2, 0, events[2]!), 3],
    ['exchanged', [...events.slice(0, 2), events[3]!, events[2]!, ...events.slice(4)], 4],
    ['without its hash', events.with(2, { ...events[2]!, metadata: { n: 2 } }), 3],
    ['of another stream', events.with(2, { ...events[2]!, streamId: 't' }), 3],
  ];
  for (const [, changed, version] of broken)
    expect(verifyChain(changed)).toMatchObject({ intact: false, version });
});

function chainOf(length: number): RecordedEvent[] {
  let previous = firstHash;
  return Array.from({ length }, (_, index) => {
    const version = index + 1;
    const event = { stream: 's', version, messageId: `m${version}`, type: 'T', data: { n: index } };
    previous = chainHash(previous, { ...event, metadata: { n: index } });
    return {
      streamId: 's',
      streamPosition: version,
      globalPosition: String(100 + version),
      transactionId: String(700 + version),
      messageId: event.messageId,
      type: event.type,
      data: event.data,
      metadata: { n: index, hash: previous },
    };
  });
}

function reordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reordered);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, member]) => [key, reordered(member)]),
  );
}

/** The JSON that jsonb and safe integers can hold. */
function isStorable(value: unknown): boolean {
  const text = JSON.stringify(value);
  return (
    !/\\u0000|\\ud[89a-f]|__proto__/i.test(text) &&
    !/-?\d{16,}/.test(text.replaceAll(/\.\d+/g, '')) &&
    !/e\+/.test(text)
  );
}
