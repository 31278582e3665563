import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type Command, pressed, type Waiting } from '#web/member/keys.ts';
import {
  allRead,
  endNotice,
  followRun,
  keptFrom,
  nothingKept,
  unreadCount,
  withFinishedRuns,
  withNotice,
} from '#web/member/bell/notices.ts';
import { entryOf } from '#web/member/connection/version.ts';
import { type Entry, found, listedPages } from '#web/member/palette/entries.ts';
import { runOf } from '#tests/web/support/member-site.ts';
import { tierName } from '#web/member/tier-name.ts';

const plain = { ctrlKey: false, metaKey: false, altKey: false, repeat: false, isEditable: false };
type Held = Partial<typeof plain>;

/** The commands of keys pressed 100 ms apart. */
function commandsOf(keys: string, held: Held = {}, singleKeys = true): (Command | null)[] {
  let waiting: Waiting = null;
  return keys.split(' ').map((key, index) => {
    const result = pressed(waiting, { ...plain, ...held, key }, { now: index * 100, singleKeys });
    waiting = result.waiting;
    return result.command;
  });
}

describe('a keyboard shortcut', () => {
  test.each<[string, Held, (Command | null)[]]>([
    ['n', {}, ['new']],
    ['?', {}, ['sheet']],
    ['g d', {}, [null, 'dashboard']],
    ['g c', {}, [null, 'credits']],
    ['g r', {}, [null, 'recipes']],
    ['g x n', {}, [null, null, 'new']],
    ['d', {}, [null]],
    ['k', { ctrlKey: true }, ['palette']],
    ['K', { metaKey: true, isEditable: true }, ['palette']],
    ['n', { isEditable: true }, [null]],
    ['n', { altKey: true }, [null]],
    ['k', { ctrlKey: true, altKey: true }, [null]],
    ['n', { repeat: true }, [null]],
    ['ArrowLeft', { altKey: true }, [null]],
  ])('the keys "%s" with %j mean %j', (keys, held, commands) => {
    expect(commandsOf(keys, held)).toEqual(commands);
  });

  test('single keys can be switched off, and the palette stays', () => {
    expect(commandsOf('n ? g d', {}, false)).toEqual([null, null, null, null]);
    expect(commandsOf('k', { ctrlKey: true }, false)).toEqual(['palette']);
  });

  test('a g that waits too long starts nothing', () => {
    const press = { ...plain, key: 'd' };
    expect(pressed(0, press, { now: 1_501, singleKeys: true }).command).toBeNull();
  });
});

describe('the bell', () => {
  const toast = (id: string) => ({
    id,
    at: '2026-11-20T10:00:00.000Z',
    tone: 'info' as const,
    title: `Toast ${id}`,
    isRead: false,
  });

  test('the bell keeps the newest 20, each once, and counts the unread', () => {
    let kept = nothingKept;
    for (let number = 0; number < 25; number += 1) kept = withNotice(kept, toast(String(number)));
    kept = withNotice(kept, toast('24'));
    expect(kept.notices.map(({ id }) => id)).toEqual(
      Array.from({ length: 20 }, (_, index) => String(24 - index)),
    );
    expect(unreadCount(kept)).toBe(20);
    expect(unreadCount(allRead(kept))).toBe(0);
  });

  test('only a run that was seen in progress is reported when it ends, and once', () => {
    const old = followRun(nothingKept, { id: 'opt_1', status: 'completed' });
    expect(old).toEqual({ kept: nothingKept, hasEnded: false });
    const { kept } = followRun(nothingKept, { id: 'opt_1', status: 'processing' });
    const ended = followRun(kept, { id: 'opt_1', status: 'failed' });
    expect(ended.hasEnded).toBe(true);
    expect(followRun(ended.kept, { id: 'opt_1', status: 'failed' }).hasEnded).toBe(false);
  });

  test('a run that ended while no page was open is reported from what the device kept', () => {
    const { kept } = followRun(nothingKept, { id: 'opt_1', status: 'processing' });
    const reopened = keptFrom(JSON.stringify(kept));
    expect(followRun(reopened, { id: 'opt_1', status: 'completed' }).hasEnded).toBe(true);
    expect(keptFrom('{"notices": 1}')).toEqual(nothingKept);
  });

  test('finished runs of the server are read, stand once by their end, and can be cleared', () => {
    const at = (minute: number) => `2026-11-20T10:0${minute}:00.000Z`;
    const runs = [
      runOf(3, { id: 'opt_3', status: 'processing', ended_at: null }),
      runOf(2, { id: 'opt_2', status: 'failed', ended_at: at(2) }),
      runOf(1, {
        id: 'opt_1',
        ended_at: at(1),
        outcome: 'Recommended by 5 of 7 models',
        newest_outcome: 'No majority',
      }),
    ];
    const message = { ...toast('a'), at: at(0) };
    const own = { ...endNotice('opt_2', 'failed', 'Raise prices?', at(2)), isRead: false };
    const kept = withNotice(withNotice(nothingKept, message), own);
    const shown = withFinishedRuns(kept, runs);
    expect(shown.map(({ id, isRead }) => [id, isRead])).toEqual([
      ['opt_2', false],
      ['opt_1', true],
      ['a', false],
    ]);
    expect(shown[1]?.message).toBe('Recommended by 5 of 7 models. Refined since: No majority.');
    const cleared = { ...nothingKept, clearedAt: at(1) };
    expect(withFinishedRuns(cleared, runs).map(({ id }) => id)).toEqual(['opt_2']);
  });

  test.each([
    ['completed', 'Enter the UK?', 'Done · Enter the UK?'],
    ['failed', null, 'Failed · your optimization'],
    ['cancelled', 'Enter the UK?', 'Canceled · Enter the UK?'],
  ] as const)('a %s run titled %s is called "%s"', (status, title, words) => {
    expect(endNotice('opt_1', status, title, '2026-11-20T10:00:00.000Z').title).toBe(words);
  });
});

describe('the command palette', () => {
  const entry = (label: string, group: Entry['group'], alias?: string): Entry => ({
    id: label,
    group,
    label,
    ...(alias === undefined ? {} : { alias }),
    run: () => undefined,
  });
  const entries = [
    entry('New Optimization', 'Actions', 'question'),
    entry('Purchase Credits', 'Pages'),
    entry('Credits', 'Pages'),
  ];

  test.each([
    ['', ['New Optimization', 'Purchase Credits', 'Credits']],
    ['cred', ['Credits', 'Purchase Credits']],
    ['credits purchase', ['Purchase Credits']],
    ['QUESTION', ['New Optimization']],
    ['nowhere', []],
  ])('a search for "%s" finds %j', (search, labels) => {
    expect(found(entries, search).map(({ label }) => label)).toEqual(labels);
  });

  test('every page of a fixed address is listed, and no step of signing in', () => {
    expect(
      listedPages([
        { path: '/recipes/', title: 'Recipes' },
        { path: '/optimizations/$id', title: 'Result' },
        { path: '/login', title: 'Login' },
        { path: '/auth/link/$kind', title: 'Your link' },
        { path: '/', title: undefined },
        { path: '/terms', title: 'Terms of Service' },
      ]),
    ).toEqual([
      { path: '/recipes', title: 'Recipes' },
      { path: '/terms', title: 'Terms of Service' },
    ]);
  });
});

test.each([
  ['free', 'Pay-as-you-grow'],
  ['pro', 'Side-Gig Builder'],
] as const)('the bar calls the tier %s "%s"', (tier, name) => {
  const packages = [{ tier: 'pro', name: 'Side-Gig Builder' }] as const;
  expect(tierName(tier, packages)).toBe(name);
});

test('a page of another build names another first script', () => {
  const page = (name: string): string =>
    `<head><script type="module" src="/assets/${name}"></script></head>`;
  expect(entryOf(page('start-1.js'))).toBe('/assets/start-1.js');
  expect(entryOf('<p>Bad gateway</p>')).toBeNull();
});

test('dates and numbers on pages follow the locale of the account', () => {
  const stray = globSync('web/src/**/*.{ts,tsx}').filter((path) =>
    /\.toLocale(?:Date|Time)?String\(\)|new Intl\.\w+Format\((?:undefined|\))/.test(
      readFileSync(path, 'utf8'),
    ),
  );
  expect(stray).toEqual([]);
});
