import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { anchorNow } from '#db/anchors.ts';
import { promptVersion } from '#services/optimizations/prompts/calls.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { createChance } from '#tests/support/chance.ts';
import { isProof, oneIn } from '#tests/support/properties.ts';
import { give } from '#tests/support/processes/service.ts';
import { fileOf, forged, isEvent, judge, linesOf, parsed, withoutCodes } from './pack-file.ts';
import type { PackLine } from './pack-file.ts';

const golden = fileURLToPath(new URL('../../golden/evidence-1.ndjson', import.meta.url));

/** A pack that somebody changed, by accident or on purpose. */
let council: TestCouncil;
let person: Person;
let pack: string;
let lines: string[];

beforeAll(async () => {
  council = await createTestCouncil();
  person = await council.signUp();
  await give(council, person.userId, 100);
  const { id } = await council.ask(person, {
    challenge: 'Should I lease the van, or buy it?',
    strategy: 'fast',
  });
  const read = async () =>
    (await council.call(`/optimizations/${id}/evidence`, { token: person.token })).text();
  // An open transaction of another test leaves the newest events to the next anchor.
  await vi.waitFor(
    async () => {
      await anchorNow(council.core);
      const { said } = await judge(Buffer.from(await read()));
      expect(said).toMatch(/^ok {3}anchor/m);
      expect(said).not.toContain('newer than its anchor');
    },
    { timeout: 60_000, interval: 200 },
  );
  pack = await read();
  lines = linesOf(pack);
  expect(await judge(fileOf(lines))).toMatchObject({ verified: true });
});
afterAll(async () => council.close());

/** How a fault names the line: by its number, or an event by its position. */
function names(index: number, line: PackLine): RegExp {
  const event = isEvent(line) ? String.raw`|\bevent ${line.version} ` : '';
  return new RegExp(String.raw`\bline ${index + 1}\b${event}`);
}

/** Where each member of a line begins, and some places anywhere. */
function placesIn(line: string, random: ReturnType<typeof createChance>): number[] {
  const members = Object.keys(parsed(line)).flatMap((key) => {
    const at = line.indexOf(`"${key}":`);
    return [at + 1, at + key.length + 1, at + key.length + 3, at + key.length + 4];
  });
  const anywhere = Array.from({ length: 3 }, () => random.below(Buffer.byteLength(line)));
  return [0, ...members, ...anywhere, Buffer.byteLength(line) - 1];
}

test(
  'a changed byte fails wherever it is, and the line or its event is named',
  { tags: ['long'] },
  async () => {
    const random = createChance(53);
    const bytes = fileOf(lines);
    let start = 0;
    let flips = 0;
    // Of each kind of line and of event the first, or the first two.
    const most = isProof ? 2 : 1;
    const seen = new Map<string, number>();
    for (const [index, text] of lines.entries()) {
      const line = parsed(text);
      const sort = `${line.kind} ${String(line['type'])}`;
      seen.set(sort, (seen.get(sort) ?? 0) + 1);
      const end = start + Buffer.byteLength(text);
      const places = seen.get(sort)! > most ? [] : [...placesIn(text, random), end - start];
      for (const place of places) {
        const changed = Buffer.from(bytes);
        changed[start + place]! ^= 1 << random.below(8);
        const { verified, said } = await judge(changed);
        expect([index, place, verified]).toEqual([index, place, false]);
        expect(said).toMatch(names(index, line));
        flips += 1;
      }
      start = end + 1;
    }
    expect(flips).toBeGreaterThan(400 * most);
  },
);

test('so does any other byte', async () => {
  const bytes = fileOf(lines);
  await fc.assert(
    fc.asyncProperty(fc.nat(bytes.length - 1), fc.nat(7), async (place, bit) => {
      const changed = Buffer.from(bytes);
      changed[place]! ^= 1 << bit;
      const index = bytes.subarray(0, place).filter((byte) => byte === 10).length;
      const { verified, said } = await judge(changed);
      expect(verified).toBe(false);
      expect(said).toMatch(names(index, parsed(lines[index]!)));
    }),
  );
});

/** What is said of a pack without this line. */
function missing(line: PackLine): RegExp {
  switch (line.kind) {
    case 'event':
      return new RegExp(String.raw`\bevents? ${String(line['version'])}\b`);
    case 'text':
      return new RegExp(
        `^NOT {2}event ${String(line['position'])} .*its text "${String(line['field'])}" is missing$`,
        'm',
      );
    case 'prompt':
      return new RegExp(
        `^NOT {2}event ${String(line['position'])} CallStarted .*its prompt is missing$`,
        'm',
      );
    case 'credits':
      return /^NOT {2}manifest: entries of the account/m;
    case 'anchor':
      return /^NOT {2}manifest: anchors/m;
    case 'key':
      return /^NOT {2}manifest: texts/m;
    default:
      return /^line 1: it is not a manifest$/;
  }
}

test(
  'a line that was taken out is missed, and what it was about is named',
  { tags: ['long'] },
  async () => {
    for (const [index, text] of oneIn(3, [...lines.entries()])) {
      const { verified, said } = await judge(fileOf(lines.toSpliced(index, 1)));
      expect([index, verified]).toEqual([index, false]);
      expect(said).toMatch(missing(parsed(text)));
    }
  },
);

test('a dropped event is named also where no other line is about it', async () => {
  const bare = lines.filter((text) => ['event', 'manifest'].includes(parsed(text).kind));
  const at = bare.findIndex((text) => parsed(text)['type'] === 'OpinionsClosed');
  const version = Number(parsed(bare[at]!)['version']);
  const { faults } = await judge(fileOf(bare.toSpliced(at, 1)));
  expect(faults).toContain(
    `NOT  event ${version + 1} CallStarted claims.1: hash chain and order of the stream: event ${version} is missing before it`,
  );
});

test(
  'two lines that changed places fail, and the first of them is named',
  { tags: ['long'] },
  async () => {
    for (const [index, one] of oneIn(3, [...lines.slice(0, -1).entries()])) {
      const other = lines[index + 1]!;
      const { verified, said } = await judge(fileOf(lines.toSpliced(index, 2, other, one)));
      expect([index, verified]).toEqual([index, false]);
      expect(said).toMatch(new RegExp(String.raw`^line ${index + 1}:`));
    }
  },
);

test('a line that appears twice fails, and is named', async () => {
  for (const index of [0, 1, 2, 5, lines.length - 1]) {
    const { verified, said } = await judge(fileOf(lines.toSpliced(index, 0, lines[index]!)));
    expect([verified, said]).toEqual([
      false,
      expect.stringMatching(
        new RegExp(String.raw`^line ${index + 2}: .* is already in line ${index + 1}`),
      ),
    ]);
  }
});

const priceOf = (all: readonly PackLine[]) => {
  const created = all.find((line) => line['type'] === 'OptimizationCreated');
  const { schedule } = created!['data'] as {
    schedule: { prices: Record<string, { outputPerMTok: number }[]> };
  };
  return Object.values(schedule.prices);
};

test('a changed price fails in its event', async () => {
  const changed = lines.map((text) => {
    const row = /"outputPerMTok":(\d)/.exec(text);
    return parsed(text)['type'] === 'OptimizationCreated' && row
      ? text.replace(row[0], `"outputPerMTok":${Number(row[1]) === 9 ? 8 : Number(row[1]) + 1}`)
      : text;
  });
  const { faults } = await judge(fileOf(changed));
  expect(faults[0]).toMatch(/^NOT {2}event 1 OptimizationCreated: hash chain/);
});

type Data = Record<string, unknown>;

/** What someone who knows the format might change, and the checks that show it without any root. */
const forgeries: Record<
  string,
  { change: (lines: PackLine[]) => PackLine[] | void; shown: RegExp }
> = {
  'every price is doubled': {
    change: (all) => {
      for (const rows of priceOf(all)) for (const row of rows) row.outputPerMTok *= 2;
    },
    shown:
      /event \d+ CallSucceeded \w+\.\w+: cost of \w+\.\w+ 1: recorded \d+ micro-dollars, recomputed \d+, from the price row of \d{4}-\d\d-\d\d$/m,
  },
  'a call was cheaper': {
    change: (all) => void (dataOf(all, 'CallSucceeded')['costMicros'] = 1),
    shown:
      /event \d+ CallSucceeded opinion\.\w+: cost of opinion\.\w+ 1: recorded 1 micro-dollar, recomputed \d+, from the price row of/,
  },
  'a vote on the options is another one': {
    change: (all) => {
      const { ballot } = reviewOf(all);
      ballot['decision'] = { optionId: 'o9', seat: null };
    },
    shown: /event \d+ CallSucceeded review\.\w+: what was found in the reply/,
  },
  'a reviewer ranked the other way round': {
    change: (all) => {
      const { ballot } = reviewOf(all);
      ballot['ranking'] = (ballot['ranking'] as unknown[]).toReversed();
    },
    shown: /event \d+ ScoresComputed: (order|agreement|all other scores)/,
  },
  'the order of the answers is another one': {
    change: (all) => {
      const scored = dataOf(all, 'ScoresComputed');
      scored['order'] = (scored['order'] as string[]).toReversed();
    },
    shown: /event \d+ ScoresComputed: order: recorded/,
  },
  'the agreement is higher': {
    change: (all) => {
      const scored = dataOf(all, 'ScoresComputed');
      scored['agreement'] = { ...(scored['agreement'] as object), score: 100 };
    },
    shown: /event \d+ ScoresComputed: agreement/,
  },
  'the vote decided otherwise': {
    change: (all) => {
      const scored = dataOf(all, 'ScoresComputed');
      scored['verdict'] = { ...(scored['verdict'] as object), optionId: 'o9' };
    },
    shown: /event \d+ ScoresComputed: what the vote decided/,
  },
  'the heading promises more than the vote': {
    change: (all) => void (dataOf(all, 'RunConcluded')['heading'] = 'undecidable'),
    shown: /event \d+ RunConcluded: conclusion and heading/,
  },
  'another seed': {
    change: (all) => void (dataOf(all, 'OptimizationCreated')['seed'] = '0'.repeat(32)),
    shown: /event \d+ OpinionsClosed: answers, their shuffled order, and the labels/,
  },
  'another model was called': {
    change: (all) => void (dataOf(all, 'CallStarted')['model'] = 'another'),
    shown: /event \d+ CallStarted opinion\.\w+: model that was called/,
  },
  'a claim has other authors': {
    change: (all) => {
      const [claim] = dataOf(all, 'ClaimsFixed')['claims'] as { authors: string[] }[];
      claim!.authors = [];
    },
    shown: /event \d+ ClaimsFixed: claims and options/,
  },
  'half of the price came back': {
    change: (all) => void (dataOf(all, 'OptimizationCompleted')['refunded'] = 2),
    shown: /event \d+ OptimizationCompleted: credits captured and returned/,
  },
  'a draft passed that had not': {
    change: (all) => {
      const checked = dataOf(all, 'DraftChecked');
      checked['checks'] = { ...(checked['checks'] as object), unknownNumbers: 7 };
    },
    shown: /event \d+ DraftChecked: checks of draft 1/,
  },
  'the question was another one': {
    change: (all) =>
      void (textOf(all, 'challenge')['text'] = 'Should I lease the van, or sell it?'),
    shown: /text "challenge": these are not the words|prompt: the texts give another prompt/,
  },
  'the question has one other letter': {
    change: (all) => void (textOf(all, 'challenge')['text'] = 'Should I lease the ban, or buy it?'),
    shown: /event \d+ CallStarted opinion\.\w+: prompt: the texts give another prompt/,
  },
  'a prompt was another one': {
    change: (all) => {
      const prompt = all.find(({ kind }) => kind === 'prompt');
      prompt!['system'] = String(prompt!['system']).replace('a', 'b');
    },
    shown: /event \d+ CallStarted opinion\.\w+: code of the prompt/,
  },
  'a prompt and its code were another one': {
    change: (all) => void (dataOf(all, 'CallStarted')['promptMac'] = 'ab'.repeat(32)),
    shown: /event \d+ CallStarted opinion\.\w+: code of the prompt/,
  },
  'an answer was another one': {
    change: (all) => {
      const shown = textOf(all, 'shown');
      shown['text'] = String(shown['text']).replace('e', 'i');
    },
    shown: /event \d+ CallSucceeded opinion\.\w+: texts of the reply/,
  },
  'the key is another one': {
    change: (all) => void (all.find(({ kind }) => kind === 'key')!['subkey'] = '0'.repeat(64)),
    shown: /code of the prompt/,
  },
  'the texts were called sealed': {
    change: (all) => void (all[0]!['texts'] = 'sealed'),
    shown: /manifest: texts/,
  },
  'the first line states another score': {
    change: (all) => {
      all[0]!['figures'] = { ...(all[0]!['figures'] as object), agreement: 100 };
    },
    shown: /^NOT {2}manifest: figures: agreement: recorded 100, recomputed \d+$/m,
  },
  'the account was charged less': {
    change: (all) => {
      const entry = all.find((line) => line['type'] === 'CreditsCaptured');
      entry!['credits'] = 1;
    },
    shown:
      /event \d+ OptimizationCompleted: credits captured: recorded \d+ credits, recomputed 1, from the entries of the account/,
  },
  'the account held another price': {
    change: (all) => {
      const entry = all.find((line) => line['type'] === 'CreditsReserved');
      entry!['credits'] = 1;
    },
    shown:
      /event \d+ OptimizationCompleted: credits reserved: recorded \d+ credits, recomputed 1, from the entries of the account/,
  },
  'an event of another kind': {
    change: (all) => {
      const event = all.find((line) => line['type'] === 'ProcessingStarted');
      event!['type'] = 'ProcessingPaused';
    },
    shown: /event 2 ProcessingPaused: types of the events: this software does not know this type/,
  },
  'the run never ended': {
    change: (all) => all.filter((line) => line['type'] !== 'OptimizationCompleted'),
    shown: /end of the run: it was not closed/,
  },
};

function dataOf(all: readonly PackLine[], type: string): Data {
  return all.find((line) => line['type'] === type)!['data'] as Data;
}

function textOf(all: readonly PackLine[], field: string): PackLine {
  return all.find((line) => line.kind === 'text' && line['field'] === field)!;
}

function reviewOf(all: readonly PackLine[]): { ballot: Record<string, unknown> } {
  const event = all.find(
    (line) =>
      isEvent(line) &&
      String(line.data['slot']).startsWith('review.') &&
      line.type === 'CallSucceeded',
  );
  return (event!['data'] as { outcome: { ballot: Record<string, unknown> } }).outcome;
}

describe('who computes every hash and digest again is still found out', () => {
  test.each(Object.entries(forgeries))('%s', async (_name, { change, shown }) => {
    const { faults } = await judge(forged(pack, change));
    // Not the anchor: these are shown without one.
    expect(faults.filter((fault) => !fault.includes('anchor')).join('\n')).toMatch(shown);
  });

  test('a pack that was only written again is still accepted', async () => {
    expect(await judge(forged(pack, () => undefined))).toMatchObject({ verified: true });
  });

  test('an internally consistent history is shown by the anchor alone, and by its root', async () => {
    const root = String(parsed(lines.at(-1)!)['root']);
    const history = (all: PackLine[]) => {
      const event = all.find((line) => line['type'] === 'OptimizationCompleted');
      (event!['metadata'] as Data)['occurredAt'] = '2030-01-01T00:00:00.000Z';
    };
    expect((await judge(forged(pack, history))).faults).toEqual([
      expect.stringMatching(
        /^NOT {2}event \d+ OptimizationCompleted: anchor \d+ .*: its hash is not the anchored/,
      ),
    ]);
    const withoutAnchor = forged(pack, (all) => {
      history(all);
      all[0]!['anchors'] = [];
      return all.filter(({ kind }) => kind !== 'anchor');
    });
    // Nothing in the file can show this, so the method says to ask for a root.
    expect(await judge(withoutAnchor)).toMatchObject({ verified: true });
    expect((await judge(withoutAnchor, root)).faults).toEqual([
      `NOT  a given root proves ${String(parsed(lines[0]!)['run'])}: this run has no anchor here`,
    ]);
    const anchored = forged(pack, (all) => {
      history(all);
      const anchor = all.find(({ kind }) => kind === 'anchor');
      anchor!['root'] = root.replace(/^./, (digit) => (digit === 'a' ? 'b' : 'a'));
    });
    expect((await judge(anchored, root)).verified).toBe(false);
  });
});

describe('a refinement and the run that it starts from', () => {
  const refinement = readFileSync(golden, 'utf8');
  const [base, own] = linesOf(refinement)
    .map(parsed)
    .filter(({ kind }) => kind === 'anchor');
  const roots = [base, own].map((anchor) => String(anchor!['root']));

  test('are both proved by the root of the refinement, which names the head of the run, and not by that of the run', async () => {
    const file = Buffer.from(refinement);
    const [early, late] = roots;
    expect(early).not.toBe(late);
    for (const given of [[early!, late!], [late!]])
      expect(await judge(file, ...given)).toMatchObject({ verified: true });
    expect((await judge(file, early!)).faults).toEqual([
      `NOT  a given root proves ${String(own!['run'])}: the anchor of this run has ${late}`,
    ]);
  });

  test.each(['without an anchor', 'with an anchor that fits'])(
    'are not proved when the base was written again %s',
    async (kind) => {
      const file = forged(refinement, (all) => {
        // Nothing but the chain holds the time of an event.
        const event = all.find((line) => line['type'] === 'OptimizationCompleted');
        (event!['metadata'] as Data)['occurredAt'] = '2030-01-01T00:00:00.000Z';
        if (kind === 'without an anchor') {
          all[0]!['anchors'] = [own!['run']];
          return all.filter((line) => line.kind !== 'anchor' || line['run'] !== base!['run']);
        }
        const anchor = all.find(({ kind: one }) => one === 'anchor')!;
        anchor['path'] = [];
        anchor['root'] = 'ab'.repeat(32);
        return all;
      });
      const { faults } = await judge(file, ...roots);
      expect(faults.join('\n')).toContain(`NOT  a given root proves ${String(base!['run'])}: `);
    },
  );
});

/** As software of another version would have written the run, before any anchor. */
function ofAnotherVersion(all: PackLine[]): PackLine[] {
  all[0]!['promptVersion'] = promptVersion + 1;
  for (const line of all.filter(isEvent))
    if (line.type === 'CallStarted') line.data['promptVersion'] = promptVersion + 1;
  all[0]!['anchors'] = [];
  return all.filter(({ kind }) => kind !== 'anchor');
}

describe('prompts of another version', () => {
  test('keep their codes, and are not compared with the texts', async () => {
    const { verified, said } = await judge(forged(pack, ofAnotherVersion));
    expect(verified).toBe(true);
    expect(said).toMatch(/^ok {3}codes of \d+ prompts$/m);
    expect(said).toMatch(/^\d+ prompts were not compared with the texts: they are of another/m);
  });

  test('may be left out', async () => {
    const { verified } = await judge(forged(pack, (all) => withoutPrompts(ofAnotherVersion(all))));
    expect(verified).toBe(true);
  });

  test('are not believed of the manifest alone', async () => {
    const altered = forged(pack, (all) => {
      all[0]!['promptVersion'] = promptVersion + 1;
      textOf(all, 'challenge')['text'] = 'Should I lease the ban, or buy it?';
    });
    const { faults } = await judge(altered);
    expect(faults.join('\n')).toContain(
      `NOT  manifest: version of the prompts: the file was written by another version of this software, with prompts of version ${promptVersion + 1}: `,
    );
    expect(faults.join('\n')).toContain('prompt: the texts give another prompt');
  });

  test('are what a manifest may leave out, and no others', async () => {
    const { faults } = await judge(forged(pack, withoutPrompts));
    const starts = lines.filter((text) => parsed(text)['type'] === 'CallStarted');
    expect(faults.filter((fault) => fault.endsWith('its prompt is missing'))).toHaveLength(
      starts.length,
    );
  });
});

function withoutPrompts(all: PackLine[]): PackLine[] {
  const prompts = all.filter(({ kind }) => kind === 'prompt');
  all[0]!['promptsLeftOut'] = prompts.map(({ run, position }) => ({ run, position }));
  return all.filter(({ kind }) => kind !== 'prompt');
}

/** The text line of an event, by where it is called. */
function lineOfCall(all: readonly PackLine[], slot: string, field: string): PackLine {
  const event = all.find((line) => line['type'] === 'CallSucceeded' && isOf(line, slot));
  return all.find(
    (line) =>
      line.kind === 'text' && line['position'] === event?.['version'] && line['field'] === field,
  )!;
}

function isOf(line: PackLine, slot: string): boolean {
  return isEvent(line) && line.data['slot'] === slot;
}

function eventOf(all: readonly PackLine[], text: PackLine): string {
  const event = all
    .filter(isEvent)
    .find((line) => line.version === text['position'] && line.stream.endsWith(String(text['run'])));
  const { slot } = event!.data;
  return `${event!.type} ${typeof slot === 'string' ? slot.split('.')[0] : ''}`;
}

/** The same text with another letter in its middle, or as near to it as there is one; null without a letter. */
function misspelt(text: string): string | null {
  const from = Math.floor(text.length / 2);
  const found = /[a-z]/.exec(text.slice(from)) ?? /[a-z]/.exec(text);
  if (found === null) return null;
  const at = found.index + (found.input === text ? 0 : from);
  return `${text.slice(0, at)}${text[at] === 'e' ? 'i' : 'e'}${text.slice(at + 1)}`;
}

describe('the words of a text', () => {
  test.each(['a run', 'a refinement and its base'])(
    'are found to be others when one letter is, wherever %s has texts',
    async (kind) => {
      const file = kind === 'a run' ? pack : readFileSync(golden, 'utf8');
      const { unproven, verified } = await judge(Buffer.from(file));
      expect([verified, unproven]).toEqual([true, []]);
      const all = linesOf(file).map(parsed);
      // One of each kind: a text of this field at such an event.
      const kinds = new Map<string, number>();
      for (const [index, line] of all.entries())
        if (line.kind === 'text' && misspelt(String(line['text'])) !== null)
          kinds.set(`${String(line['field'])} of ${eventOf(all, line)}`, index);
      expect(kinds.size).toBeGreaterThan(9);
      for (const [sort, index] of kinds) {
        const field = String(all[index]!['field']);
        const { faults } = await judge(
          forged(file, (changed) => {
            changed[index]!['text'] = misspelt(String(changed[index]!['text']));
          }),
        );
        expect([sort, faults.join('\n')]).toEqual([
          sort,
          expect.stringContaining(`text "${field}": these are not the words that were sealed`),
        ]);
      }
    },
  );

  test('that 0.1 sealed, without a code, are accepted at any length that fits, and named', async () => {
    const early = forged(pack, (all) => {
      textOf(all, 'title')['text'] = misspelt(String(textOf(all, 'title')['text']));
      return withoutCodes(all);
    });
    const { faults, unproven } = await judge(early);
    expect(faults).toEqual([]);
    const given = linesOf(early.toString())
      .map(parsed)
      .flatMap((line, index) => (line.kind === 'text' && line['text'] !== '' ? [index + 1] : []));
    expect(unproven.map(({ line }) => line)).toEqual(given);
    const longer = forged(early.toString(), (all) => {
      textOf(all, 'title')['text'] = `${String(textOf(all, 'title')['text'])}!`;
    });
    expect((await judge(longer)).faults).toEqual([
      expect.stringContaining('text "title": these are not the words that were sealed'),
    ]);
  });

  test('an answer that is changed in its reply and in what reviewers read is found by the prompts', async () => {
    const altered = forged(pack, (all) => {
      const slot = 'opinion.S1';
      const reply = lineOfCall(all, slot, 'reply');
      const { reasoning } = JSON.parse(String(reply['text'])) as { reasoning: string[] };
      for (const field of ['reply', 'shown']) {
        const line = lineOfCall(all, slot, field);
        line['text'] = String(line['text']).replace(reasoning[0]!, misspelt(reasoning[0]!)!);
      }
    });
    const { faults } = await judge(altered);
    expect(faults).not.toEqual([]);
    expect(faults.join('\n')).toMatch(
      /^NOT {2}event \d+ CallStarted .*prompt: the texts give another prompt$/m,
    );
    expect(faults.join('\n')).not.toContain('texts of the reply');
  });

  test('a prompt that stands at an event without a code is refused', async () => {
    const moved = forged(pack, (all) => {
      const at = all.findIndex((line) => line['type'] === 'ProcessingStarted');
      const prompt = all.find(({ kind }) => kind === 'prompt')!;
      return all.toSpliced(at + 1, 0, { ...prompt, position: Number(all[at]!['version']) });
    });
    expect((await judge(moved)).faults).toEqual([
      expect.stringMatching(
        /^NOT {2}event \d+ ProcessingStarted: code of the prompt: its event has none$/,
      ),
    ]);
  });
});

describe('events after the anchor, with its root', () => {
  const after = (type: string, data: Data) => async () => {
    const root = String(parsed(lines.at(-1)!)['root']);
    const altered = forged(pack, (all) => {
      const at = all.findLastIndex(isEvent);
      const { metadata, ...last } = all[at]!;
      const added = { ...last, messageId: 'm', type, data, metadata: { ...(metadata as Data) } };
      return all.toSpliced(at + 1, 0, added as unknown as PackLine);
    });
    return judge(altered, root);
  };

  test('are refused when they change the cost or the charge', async () => {
    const usage = { inputTokens: 1, outputTokens: 1 };
    const call = { slot: 'opinion.S1', attempt: 1, usage, costMicros: 5, costSource: 'billed' };
    const { faults } = await after('CallCostRecorded', call)();
    expect(faults.join('\n')).toMatch(
      /^NOT {2}event \d+ CallCostRecorded opinion.S1: a given root proves opt_\w+: it is newer than event \d+, the last one that the root proves$/m,
    );
  });

  test('are accepted when the owner has hidden the run', async () => {
    const hidden = after('OptimizationHidden', { at: '2030-01-01T00:00:00.000Z' });
    expect(await hidden()).toMatchObject({ faults: [], verified: true });
  });
});

/** Events that were moved have other positions, and so have the lines about them. */
function renumbered(all: readonly PackLine[]): PackLine[] {
  const positions = new Map<unknown, number>();
  let stream = '';
  return all.map((line) => {
    if (isEvent(line)) {
      stream = line.stream;
      positions.set(stream, (positions.get(stream) ?? 0) + 1);
    }
    return line.kind === 'prompt' || line.kind === 'text'
      ? { ...line, position: positions.get(stream) }
      : line;
  });
}

test('a second vote whose prompt was made before another vote arrived is not accused', async () => {
  const late = forged(readFileSync(golden, 'utf8'), (all) => {
    const run = all[0]!['run'];
    const isVote = (line: PackLine, type: string) =>
      isEvent(line) &&
      line.stream === `optimization-${String(run)}` &&
      line.type === type &&
      String(line.data['slot']).startsWith('review.');
    const last = all.findLast((line) => isVote(line, 'CallSucceeded'))!['data'] as Data;
    const from = all.findIndex(
      (line) => isVote(line, 'CallStarted') && isOf(line, String(last['slot'])),
    );
    const moved = all.slice(from, from + 2);
    const others = all.toSpliced(from, 2).filter(({ kind }) => kind !== 'anchor');
    // After the first vote that arrived, with its texts.
    let to = others.findIndex((line) => isVote(line, 'CallSucceeded')) + 1;
    while (others[to]!.kind === 'text') to += 1;
    all[0]!['anchors'] = [];
    return renumbered(others.toSpliced(to, 0, ...moved));
  });
  expect(await judge(late)).toMatchObject({ faults: [], verified: true });
});

describe('calls that no run made', () => {
  /** Before the end of the run, so that they are in the history that later calls are made from. */
  function withCalls(count: number, slotOf: (index: number) => string): Buffer {
    return forged(pack, (all) => {
      all[0]!['anchors'] = [];
      const at = all.findIndex((line) => line['type'] === 'CallStarted');
      const start = all[at] as PackLine & { data: Data };
      const sent = all[at + 1]!;
      const calls = Array.from({ length: count }, (_, index) => {
        const data = { ...start.data, slot: slotOf(index), attempt: 1 };
        return {
          ...start,
          messageId: `m${index}`,
          data,
          metadata: { ...(start['metadata'] as Data) },
        };
      });
      const others = all.filter(({ kind }) => kind !== 'anchor');
      const added = calls.flatMap((call) => [call, { ...sent }]);
      return renumbered([...others.slice(0, at), ...added, ...others.slice(at)]);
    });
  }

  test.each([
    ['of slots that are none', (index: number) => `opinion.X${index}`],
    ['of slots that are read as one', (index: number) => `draft.${'0'.repeat(index + 1)}1`],
  ])('are found where they are %s', async (_name, slotOf) => {
    const { faults } = await judge(withCalls(5, slotOf));
    expect(faults.filter((fault) => fault.includes('the run has no such slot')).length).toBe(10);
  });

  test.each([
    ['slots', 100, (index: number) => `opinion.X${index}`],
    ['calls', 1_001, () => 'opinion.S1'],
  ])('are refused at once where there are too many %s', async (what, count, slotOf) => {
    const began = performance.now();
    const { faults } = await judge(withCalls(count, slotOf));
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(faults[0]).toMatch(
      new RegExp(
        String.raw`^NOT {2}size of the run: opt_\w+ has \d+ ${what}, and a file with more`,
      ),
    );
  });

  test(
    'take a bounded time where they are as many as a file may have',
    { tags: ['long'] },
    async () => {
      const file = withCalls(900, () => 'opinion.S1');
      const began = performance.now();
      expect((await judge(file)).verified).toBe(false);
      expect(performance.now() - began).toBeLessThan(20_000);
    },
  );
});

test('a file that was cut says how many lines are missing, and names fields, not whole values', async () => {
  const at = lines.findIndex((text) => parsed(text)['type'] === 'ScoresComputed');
  const { faults } = await judge(fileOf(lines.slice(0, at)));
  expect(faults[0]).toBe(
    `NOT  manifest: number of lines: the manifest counts ${lines.length} lines, and the file has ${at}: lines are missing`,
  );
  const figures = faults.find((fault) => fault.includes('manifest: figures'));
  expect(figures).toMatch(/order: recorded \[".*\], recomputed nothing/);
  expect(figures).not.toContain('{');
});
