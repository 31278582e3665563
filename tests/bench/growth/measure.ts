import type { Ledger } from '#services/credits/ledger/ledger.ts';
import { createCommandBus } from '#services/platform/command.ts';
import { newId } from '#services/platform/ids.ts';
import { createSupervisor } from '#services/platform/process/supervise.ts';
import { ledgerOf } from '#tests/credits/ledger.ts';
import { milliseconds, percentile, printTable } from '#tests/bench/report.ts';
import { createClient } from './client.ts';
import type { Client, Person } from './client.ts';
import type { GrowthDatabase } from './database.ts';

/** At most so many times as long as in the small database. */
const limit = 1.2;

export type MeasureOptions = {
  small: GrowthDatabase;
  large: GrowthDatabase;
  rounds: number;
  /** Accounts a round, other ones each time where there are enough. */
  accounts: number;
  starts: number;
};

type Times = Map<string, [number[], number[]]>;

/** The same calls on both databases, call by call in turns, so that both see the same machine. */
export async function measure(options: MeasureOptions): Promise<void> {
  const sides = [await openSide(options.small), await openSide(options.large)] as const;
  const times: Times = new Map();
  try {
    for (let round = 0; round <= options.rounds; round += 1)
      // The first round warms up.
      await oneRound(sides, options.accounts, round === 0 ? new Map() : times);
    await Promise.all(sides.map(async (side) => side.close()));
    await startUps(sides, options.starts, times);
  } finally {
    await Promise.all(sides.map(async (side) => side.close()));
  }
  report(times);
}

type Side = {
  database: GrowthDatabase;
  client: Client;
  /** Users that can pay, with few and with many runs, in a random order. */
  light: string[];
  heavy: string[];
  next: { light: number; heavy: number };
  close(): Promise<void>;
};

async function openSide(database: GrowthDatabase): Promise<Side> {
  const supervisor = createSupervisor(database.log);
  await supervisor.start(database.service('api', 'api.ts'));
  const { rows } = await database.ownerPool.query<{ user_id: string; runs: number }>(
    `select user_id, count(*)::integer as runs
     from optimization_list join credit_account using (user_id)
     where available >= 5 group by user_id order by random()`,
  );
  const of = (isHeavy: boolean) =>
    rows.filter(({ runs }) => runs >= heavyRuns === isHeavy).map((row) => row.user_id);
  return {
    database,
    client: createClient(database),
    light: of(false),
    heavy: of(true),
    next: { light: 0, heavy: 0 },
    close: async () => supervisor.stop(),
  };
}

const heavyRuns = 50;

function take(side: Side, kind: 'light' | 'heavy', count: number): string[] {
  const all = side[kind];
  const taken = Array.from({ length: Math.min(count, all.length) }, (_, index) => {
    const place = (side.next[kind] + index) % all.length;
    return all[place]!;
  });
  side.next[kind] += taken.length;
  return taken;
}

type Sides = readonly [Side, Side];
type People = { light: Person[]; heavy: Person[] };

async function oneRound(sides: Sides, accounts: number, times: Times): Promise<void> {
  const people: People[] = [];
  for (const side of sides)
    people.push({
      light: await signedIn(side, take(side, 'light', accounts)),
      heavy: await signedIn(side, take(side, 'heavy', Math.ceil(accounts / 4))),
    });
  const buses = sides.map(({ database }) => createCommandBus({ ...database, clock: Date.now }));
  const ledgers = sides.map(({ database }, place) => ledgerOf(database.pool, buses[place]!));
  const work: Work[] = [
    ...reserves.map((what): Work => [
      what,
      'light',
      (person, place) => reserve(ledgers[place]!, person),
    ]),
    [
      'reserve, not in memory, read before',
      'light',
      async (person, place) => {
        const bus = createCommandBus({ ...sides[place]!.database, clock: Date.now });
        try {
          return await reserve(ledgerOf(sides[place]!.database.pool, bus), person);
        } finally {
          await bus.close();
        }
      },
    ],
    ...calls.map(([what, kind, path]): Work => [
      what,
      kind,
      async (person, place) => {
        const side = sides[place]!;
        const to = typeof path === 'string' ? path : await path(side, person);
        return (await side.client.get(person, to)).ms;
      },
    ]),
    ...streams.map(([what, open]): Work => [
      what,
      'light',
      async (person, place) => open(sides[place]!, ledgers[place]!, person),
    ]),
  ];
  for (const [what, kind, call] of work)
    for (let index = 0; index < accounts; index += 1)
      for (const place of index % 2 === 0 ? [0, 1] : [1, 0]) {
        // The small database has one user with many runs.
        const of = people[place]![kind];
        note(times, what, place, await call(of[index % of.length]!, place));
      }
  await Promise.all(buses.map(async (bus) => bus.close()));
  // No worker may start the runs whose credits were reserved.
  for (const { database } of sides)
    await database.pool.query('select graphile_worker.remove_job(key) from graphile_worker.jobs');
}

/** Milliseconds of one call for a person, on the small or the large side. */
type Work = [
  what: string,
  kind: keyof People,
  call: (person: Person, place: number) => Promise<number>,
];

function note(times: Times, what: string, place: number, ms: number): void {
  const both = times.get(what) ?? [[], []];
  times.set(what, both);
  both[place]!.push(ms);
}

/** A call that reads nothing of what is measured lets the process remember the token. */
async function signedIn({ client }: Side, userIds: readonly string[]): Promise<Person[]> {
  const people: Person[] = [];
  for (const userId of userIds) {
    const person = await client.signIn(userId);
    await client.get(person, '/users/me');
    people.push(person);
  }
  return people;
}

/** Each bus has seen no account before the first of the two. */
const reserves = ['reserve, account not in memory', 'reserve, account in memory'];

async function reserve(ledger: Ledger, { userId }: Person): Promise<number> {
  const hold = { userId, runId: newId('opt'), actor: 'bench' };
  const begun = performance.now();
  await ledger.reserve({ ...hold, credits: 1, month: '2026-11', limit: -1 });
  const ms = performance.now() - begun;
  await ledger.settle({ ...hold, settlement: { kind: 'release' } });
  return ms;
}

type Path = string | ((side: Side, person: Person) => Promise<string>);

const calls: readonly (readonly [string, keyof People, Path])[] = [
  ['GET /credits/balance', 'light', '/credits/balance'],
  ['GET /optimizations', 'light', '/optimizations'],
  ['GET /optimizations, read before', 'light', '/optimizations'],
  ['GET /optimizations, 60 runs', 'heavy', '/optimizations'],
  ['GET /optimizations, page 5', 'heavy', '/optimizations?page=5'],
  ['GET /credits/history', 'light', '/credits/history?limit=20'],
  ['GET /credits/history, 60 runs', 'heavy', '/credits/history?limit=20'],
  ['GET /credits/history, from line 40', 'heavy', deepHistory],
  [
    'GET /optimizations/{id}',
    'light',
    async (side, person) => `/optimizations/${await aRun(side, person)}`,
  ],
  ['GET /credits/analytics', 'light', '/credits/analytics'],
  ['GET /credits/analytics, read before', 'light', '/credits/analytics'],
  ['GET /users/me/stats', 'light', '/users/me/stats'],
  ['GET /optimizations/brief', 'light', '/optimizations/brief'],
  ['GET /optimizations/outcomes/due', 'light', '/optimizations/outcomes/due'],
  ['GET /optimizations/strategies', 'light', '/optimizations/strategies'],
];

async function aRun({ database }: Side, { userId }: Person): Promise<string> {
  const { rows } = await database.pool.query<{ run_id: string }>(
    `select run_id from optimization_list where user_id = $1 and status = 'completed'
     order by created_at desc limit 1`,
    [userId],
  );
  return rows[0]!.run_id;
}

async function deepHistory({ database }: Side, { userId }: Person): Promise<string> {
  const { rows } = await database.pool.query<{ id: string }>(
    'select id from credit_history where user_id = $1 order by position desc offset 39 limit 1',
    [userId],
  );
  return `/credits/history?limit=20&before=${rows[0]!.id}`;
}

const streams: readonly (readonly [
  string,
  (side: Side, ledger: Ledger, person: Person) => Promise<number>,
])[] = [
  [
    'stream, snapshot',
    async ({ client }, _, person) => (await client.stream(person, { until: 'snapshot' })).ms,
  ],
  [
    'stream, snapshot of a run',
    async (side, _, person) => {
      const query = `?optimization=${await aRun(side, person)}`;
      return (await side.client.stream(person, { query, until: 'snapshot' })).ms;
    },
  ],
  [
    'stream, resumed after two events',
    async ({ client }, ledger, person) => {
      const { id } = await client.stream(person, { until: 'snapshot' });
      await reserve(ledger, person);
      return (await client.stream(person, { lastEventId: id, until: 'fact' })).ms;
    },
  ],
];

async function startUps(sides: Sides, starts: number, times: Times): Promise<void> {
  for (const name of ['api', 'worker']) {
    const both: [number[], number[]] = [[], []];
    times.set(`start of ${name}`, both);
    for (let start = 0; start <= starts; start += 1)
      for (const place of start % 2 === 0 ? [0, 1] : [1, 0]) {
        const supervisor = createSupervisor(sides[place]!.database.log);
        const begun = performance.now();
        await supervisor.start(sides[place]!.database.service(name, `${name}.ts`));
        if (start > 0) both[place]!.push(performance.now() - begun);
        await supervisor.stop();
      }
  }
}

function report(times: ReadonlyMap<string, readonly [number[], number[]]>): void {
  printTable(`The same call on both; limit ${limit}× of the small one's p50`, [
    ['', 'calls', 'small p50', 'p99 ms', 'large p50', 'p99 ms', 'ratio', 'within'],
    ...[...times].map(([what, [small, large]]) => {
      const ratio = percentile(large, 0.5) / percentile(small, 0.5);
      return [
        what,
        `${small.length}/${large.length}`,
        milliseconds(percentile(small, 0.5)),
        milliseconds(percentile(small, 0.99)),
        milliseconds(percentile(large, 0.5)),
        milliseconds(percentile(large, 0.99)),
        `${ratio.toFixed(2)}×`,
        ratio <= limit ? 'yes' : 'NO',
      ];
    }),
  ]);
}
