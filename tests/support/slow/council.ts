import type { Core } from '#services/core.ts';
import type { OptimizationCommand } from '#services/optimizations/run/optimization.ts';
import type { CommandBus } from '#services/platform/command.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { startSlowProvider } from './provider.ts';
import type { SlowProvider } from './provider.ts';

/**
 * An installation whose models are all one model of a slow Ollama. Its runs may have deadlines that are
 * shorter by a factor, for a model that is quicker by the same.
 */
export async function createSlowCouncil(settings: {
  tokensPerSecond: number;
  /** By which every deadline that a run fixes at its start is divided. */
  factor: number;
}): Promise<TestCouncil & { provider: SlowProvider }> {
  const { tokensPerSecond, factor } = settings;
  const provider = await startSlowProvider({ tokensPerSecond });
  const council = await createTestCouncil({
    env: (sandboxUrl) => {
      provider.answersFrom(sandboxUrl);
      return { OLLAMA_URL: `${provider.url}/ollama` };
    },
    replace: ({ bus }) => ({ bus: hastened(bus, factor) }),
  });
  return {
    ...council,
    provider,
    async close() {
      await council.close();
      await provider.close();
    },
  };
}

/** Creates runs with deadlines that are so many times as short. */
function hastened(bus: CommandBus, factor: number): Core['bus'] {
  const shorter = (value: number) => Math.round(value / factor);
  const changed = (command: OptimizationCommand): OptimizationCommand => {
    if (command.type !== 'Create') return command;
    const { schedule } = command.data;
    const deadlinesMs = Object.fromEntries(
      Object.entries(schedule.deadlinesMs).map(([name, value]) => [name, shorter(value)]),
    ) as typeof schedule.deadlinesMs;
    const lanes = Object.fromEntries(
      Object.entries(schedule.lanes ?? {}).map(([name, lane]) => [
        name,
        { ...lane, secondsPerCall: (lane.secondsPerCall ?? 0) / factor },
      ]),
    );
    return {
      ...command,
      data: { ...command.data, schedule: { ...schedule, deadlinesMs, lanes } },
    };
  };
  return {
    ...bus,
    execute: async (decider, request, patience) =>
      bus.execute(
        decider,
        { ...request, command: changed(request.command as never) as typeof request.command },
        patience,
      ),
  };
}
