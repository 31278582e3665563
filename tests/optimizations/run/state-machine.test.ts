import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { settlement } from '#services/optimizations/council/settlement.ts';
import type { OptimizationEvent } from '#services/optimizations/run/events.ts';
import { optimization } from '#services/optimizations/run/optimization.ts';
import { Fault } from '#tests/credits/ledger-oracle.ts';
import { stageOf } from '#services/optimizations/run/slots.ts';
import { isOpen } from '#services/optimizations/run/state.ts';
import { after, noon } from './run-script.ts';
import { live, noFigures } from './world.ts';
import type { Figures, RunDecider, WorldOptions } from './world.ts';
import { isProof } from '#tests/support/properties.ts';

/**
 * The two streams of a run under crashes, races and late answers. A number names a world:
 * `STATE_MACHINE_WORLD=1234` runs that one, `STATE_MACHINE_WORLDS=5000` that many, drawn from the
 * seed that a failure names (`STATE_MACHINE_SEED`). A world has two to six runs, and their refinements.
 */
/** All worlds in the proof; a share of them in the gate. */
const usualWorlds = isProof ? 20_000 : 25;
const worlds = Number(process.env['STATE_MACHINE_WORLDS'] ?? usualWorlds);
const drawnFrom = Number(process.env['STATE_MACHINE_SEED'] ?? 20_261_120);
const theWorld = process.env['STATE_MACHINE_WORLD'];
const perWorldMs = 200;

const numbers = fc.noShrink(fc.integer({ min: 0, max: 2 ** 31 - 1 }));

describe('runs and credits under crashes, races and late answers', () => {
  test(
    'runs never open a stage twice, count an answer twice, or charge an unsettled amount; every run ends',
    { timeout: 60_000 + worlds * perWorldMs },
    () => {
      const sum = { ...noFigures };
      const lived = (seed: number) => add(sum, live({ seed }).figures);
      if (theWorld === undefined)
        fc.assert(fc.property(numbers, lived), { numRuns: worlds, seed: drawnFrom });
      else lived(Number(theWorld));
      report(sum);
      if (theWorld !== undefined || worlds < 50) return;
      // A check that no longer meets its subject proves nothing.
      for (const [name, count] of Object.entries(sum))
        expect({ [name]: count > 0 }).toEqual({ [name]: true });
    },
  );

  test('runs complete with every seat when nothing goes wrong', () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const { figures, auditor } = live({ seed, calm: true });
      expect(figures).toMatchObject({ completed: figures.runs, bestAnswers: 0, lostCalls: 0 });
      expect(figures.included).toBeGreaterThan(0);
      expect(figures.paid).toBe(figures.included);
      for (const run of auditor.runs.values())
        expect(run.figures).toEqual({ captured: run.price, refunded: 0 });
    }
  });

  test('runs complete with every seat when no provider can be reached for twelve seconds', () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const outage = { from: 2000, until: 14_000 };
      const { figures, auditor } = live({ seed, calm: true, outage });
      expect(figures.unreachable).toBeGreaterThan(0);
      expect(figures).toMatchObject({ completed: figures.runs, bestAnswers: 0 });
      for (const run of auditor.runs.values())
        expect(run.figures).toEqual({ captured: run.price, refunded: 0 });
    }
  });
});

describe('runs that share a provider with one call at a time', () => {
  const seeds = [1, 2, 3, 4, 5, 6, 7, 8];
  let shared: ReturnType<typeof live>[];
  beforeAll(() => {
    shared = seeds.map((seed) => live({ seed, calm: true, concurrency: 1 }));
  });

  test('runs that share a provider complete with every seat within the deadlines of their start', () => {
    let together = 0;
    for (const { figures, auditor } of shared) {
      expect(figures).toMatchObject({ completed: figures.runs, bestAnswers: 0, lostCalls: 0 });
      for (const run of auditor.runs.values())
        expect(run.figures).toEqual({ captured: run.price, refunded: 0 });
      if (figures.runs > 2) together += 1;
    }
    expect(together).toBeGreaterThan(3);
  });

  test('calls that share a provider are never two at once, and have the order of their models', () => {
    for (const { log } of shared) {
      let open = 0;
      const models = new Map<string, string[]>();
      for (const { streamId, events } of log)
        for (const { type, data } of events) {
          if (type === 'CallSucceeded') open -= 1;
          if (type !== 'CallStarted') continue;
          open += 1;
          expect(open).toBe(1);
          const stage = `${streamId} ${stageOf(data.slot)}`;
          models.set(stage, [...(models.get(stage) ?? []), data.model]);
        }
      const dealt = [...models].filter(([stage]) => /(opinions|reviews)$/.test(stage));
      for (const [, called] of dealt) expect(called).toEqual(called.toSorted());
    }
  });

  test('a run that did not count those before it would miss its deadlines', () => {
    const isLost = seeds.some((seed) => {
      const guards = { countsEarlierRuns: false };
      const { figures } = live({ seed, calm: true, concurrency: 1, guards });
      return figures.completed < figures.runs || figures.bestAnswers > 0;
    });
    expect(isLost).toBe(true);
  });

  test('a run whose calls had the order of their jobs would miss its deadlines', () => {
    const inOrderOfJobs: RunDecider = {
      ...optimization,
      reactions: (...of) =>
        optimization
          .reactions(...of)
          .map(({ runAt, ...job }) =>
            job.task === 'call-model' || runAt === undefined ? job : { ...job, runAt },
          ),
    };
    const isLost = seeds.some((seed) => {
      const { figures } = live({ seed, calm: true, concurrency: 1, decider: inOrderOfJobs });
      return figures.completed < figures.runs || figures.bestAnswers > 0;
    });
    expect(isLost).toBe(true);
  });
});

/** Each of these breaks one rule; a check that did not notice would prove nothing. */
describe('the check notices when', () => {
  const broken: Record<string, Omit<WorldOptions, 'seed'>> = {
    'a start of a concluded run no longer settles it': { guards: { startSettles: false } },
    "the run's appends no longer check the version they were decided on": {
      guards: { versions: ['credits'] },
    },
    "the ledger's appends no longer check the version they were decided on": {
      guards: { versions: ['optimization'] },
    },
    'an answer counts although its slot is closed': {
      decider: deciding((command, state) => {
        const [first, ...rest] = optimization.decide(command, state);
        if (command.type !== 'EndCall' || !command.result.ok) return [first, ...rest];
        if (first?.type !== 'CallCostRecorded') return [first, ...rest];
        const { outcome, answeredBy, sealed } = command.result;
        return [{ type: 'CallSucceeded', data: { ...first.data, outcome, answeredBy, sealed } }];
      }),
    },
    'a call begins beside one that is open': {
      decider: deciding((command, state) =>
        optimization
          .decide(command, state)
          .filter((event) => event.type !== 'CallLost' || event.data.final),
      ),
    },
    'an unusable reply is asked for again without end': {
      decider: rewriting('CallFailed', (data) =>
        data.failure === 'malformed' ? { ...data, final: false, retryAt: noon } : data,
      ),
    },
    'a stage is not closed by the answer that completes it': {
      decider: deciding((command, state) => {
        const events = optimization.decide(command, state);
        return command.type === 'EndCall' ? events.slice(0, 1) : events;
      }),
    },
    'a run can be cancelled while its recommendation is written': {
      decider: deciding((command, state) =>
        command.type === 'Cancel' && state.stage === 'synthesis'
          ? optimization
              .decide({ ...command, type: 'RunDeadline' }, state)
              .map((event) =>
                event.type === 'RunConcluded'
                  ? { type: event.type, data: { ...event.data, outcome: 'cancelled' } }
                  : event,
              )
          : optimization.decide(command, state),
      ),
    },
    'a settlement returns one credit more': {
      decider: rewriting('RunConcluded', ({ settlement: due, ...data }) => ({
        ...data,
        settlement: due.kind === 'capture' ? { ...due, refund: due.refund + 1 } : due,
      })),
    },
    'a call begins after the deadline of its stage': {
      decider: deciding((command, state) =>
        command.type === 'BeginCall' && isOpen(state)
          ? optimization
              .decide({ ...command, now: state.startedAt }, state)
              .map((event) =>
                event.type === 'CallStarted'
                  ? { type: event.type, data: { ...event.data, startedAt: command.now } }
                  : event,
              )
          : optimization.decide(command, state),
      ),
    },
    'a call is put off until its stage has ended': {
      decider: rewriting('CallFailed', ({ retryAt, ...data }) => ({
        ...data,
        retryAt: retryAt === null ? null : after(3_600_000, retryAt),
      })),
    },
    'an option wins that is not alone first': {
      decider: rewriting('ScoresComputed', (data) => {
        const { verdict } = data;
        if (!verdict?.tieBreak) return data;
        const optionId = verdict.tieBreak;
        return { ...data, verdict: { ...verdict, heading: 'recommendation', optionId } };
      }),
    },
    'a recommendation that was not written is paid for': {
      decider: rewriting('RunConcluded', (data) => ({
        ...data,
        settlement: settlement({ ...data, draftFailed: false }),
      })),
    },
    'verifiers are asked although there is no consensus': {
      decider: {
        ...optimization,
        evolve: (state, event) => {
          const next = optimization.evolve(state, event);
          return next.stage === 'synthesis' ? { ...next, hasConsensus: true } : next;
        },
      },
    },
    'a vote without a majority becomes a recommendation': {
      decider: rewriting('RunConcluded', (data) => ({
        ...data,
        heading: data.heading === 'no_majority' ? 'recommendation' : data.heading,
      })),
    },
    'an included refinement has a price': {
      decider: rewriting('OptimizationCreated', (data) => ({
        ...data,
        price: Math.max(data.price, 2),
      })),
    },
    'a refinement begins beside one that is in work': { guards: { oneAtOnce: false } },
    'two calls at once begin two refinements': { guards: { numberedIds: false } },
    'the tries of an included refinement are not counted': { guards: { countsTries: false } },
    'a refinement gives its root another title': { guards: { leavesRoot: false } },
    'a refinement orders the answers of its root again': {
      decider: rewriting('ScoresComputed', (data) => ({
        ...data,
        order: data.inputs.some((slot) => slot.includes('/'))
          ? data.order.toReversed()
          : data.order,
      })),
    },
  };

  /** The worlds before this one do not meet the rule. */
  const rare: Readonly<Record<string, number>> = {
    'a start of a concluded run no longer settles it': 26,
    'a call begins after the deadline of its stage': 7,
    'two calls at once begin two refinements': 12,
    'the tries of an included refinement are not counted': 14,
    'an unusable reply is asked for again without end': 111,
  };

  test.each(Object.entries(broken))(
    'the check notices when %s',
    { timeout: 60_000 },
    (rule, options) => {
      const found = firstFault(options, rare[rule] ?? 1);
      expect(found).not.toBeNull();
      console.info(`${rule}: world ${found?.world}, ${found?.message}`);
    },
  );
});

function deciding(
  decide: (
    ...of: Parameters<RunDecider['decide']>
  ) => readonly (ReturnType<RunDecider['decide']>[number] | undefined)[],
): RunDecider {
  return {
    ...optimization,
    decide: (command, state) => decide(command, state).filter((event) => event !== undefined),
  };
}

/** The decider with every event of a type changed. */
function rewriting<Type extends OptimizationEvent['type']>(
  type: Type,
  change: (data: DataOf<Type>) => DataOf<Type>,
): RunDecider {
  return deciding((command, state) =>
    optimization
      .decide(command, state)
      .map((event) =>
        event.type === type
          ? ({ type, data: change(event.data as DataOf<Type>) } as OptimizationEvent)
          : event,
      ),
  );
}

type DataOf<Type extends OptimizationEvent['type']> = Extract<
  OptimizationEvent,
  { type: Type }
>['data'];

function firstFault(
  options: Omit<WorldOptions, 'seed'>,
  first: number,
): { world: number; message: string } | null {
  for (let seed = first; seed < first + 400; seed += 1) {
    try {
      live({ ...options, seed });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return { world: seed, message: error.message };
    }
  }
  return null;
}

function add(sum: Figures, more: Figures): void {
  for (const name of Object.keys(sum) as (keyof Figures)[]) sum[name] += more[name];
}

function report(sum: Figures): void {
  const figures = Object.entries(sum).map(([name, count]) => `${count} ${name}`);
  console.info(`State machine: ${worlds} worlds from seed ${drawnFrom}: ${figures.join(', ')}`);
}
