import type pg from 'pg';
import { expect, test } from 'vitest';
import type { Provider } from '#services/models/model.ts';
import { startRun } from '#services/optimizations/commands.ts';
import type { CouncilModel } from '#services/optimizations/run/events.ts';
import type { OptimizationCommand } from '#services/optimizations/run/optimization.ts';
import type { CommandBus } from '#services/platform/command.ts';
import type { CreatedData } from './run/run-script.ts';
import { created, noon, runId, schedule, sevenSeats } from './run/run-script.ts';

const gone: CouncilModel = { model: 'm', provider: 'gone', effort: null, simulated: false };
const { extractors, synthesizers, verifiers } = schedule;

/** Whether the command that starts such a run says that all its models have a provider. */
async function isSeatable(parts: Partial<CreatedData>): Promise<boolean | null> {
  let seatable: boolean | null = null;
  const execute = async (_decider: unknown, { command }: { command: OptimizationCommand }) => {
    if (command.type === 'Start') ({ seatable } = command);
    return { state: null };
  };
  const provider = (name: string) => (name === 'gone' ? null : ({ name } as unknown as Provider));
  const dependencies = {
    bus: { execute } as unknown as CommandBus,
    pool: {} as pg.Pool,
    registry: { provider },
    clock: () => Date.parse(noon),
  };
  await startRun(dependencies, runId, created(parts).state, 'job');
  return seatable;
}

test('a run whose models all have a provider starts', async () => {
  expect(await isSeatable({})).toBe(true);
});

test.each<[string, Partial<CreatedData>]>([
  ['a seat', { seats: [...sevenSeats.slice(0, 6), { ...sevenSeats[6]!, provider: 'gone' }] }],
  ['an extractor', { schedule: { ...schedule, extractors: [extractors[0]!, gone] } }],
  ['a synthesiser', { schedule: { ...schedule, synthesizers: [synthesizers[0]!, gone] } }],
  [
    'a verifier',
    { schedule: { ...schedule, verifiers: [verifiers[0]!, [verifiers[1]![0]!, gone]] } },
  ],
])('a run does not start once the provider of %s is gone', async (_who, parts) => {
  expect(await isSeatable(parts)).toBe(false);
});
