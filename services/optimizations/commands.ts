import type { Ledger } from '#services/credits/ledger/ledger.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import type { CommandBus, CommandOutcome, Patience } from '#services/platform/command.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import type { ReadState } from './reading/read-run.ts';
import { streamOf } from './run/events.ts';
import type { OptimizationEvent } from './run/events.ts';
import { optimization } from './run/optimization.ts';
import type { OptimizationCommand } from './run/optimization.ts';
import type { RunState } from './run/state.ts';

/**
 * The commands of a run that routes, jobs and the command line share. Each has an id that names the
 * thing done, so that a repeat changes nothing.
 */
export type CommandDependencies = {
  bus: CommandBus;
  /** Milliseconds since the epoch. */
  clock: () => number;
};

/** The system as the actor of what jobs do. */
export const actor = 'system:worker';

export async function issue(
  { bus }: Pick<CommandDependencies, 'bus'>,
  runId: string,
  command: OptimizationCommand,
  idParts: readonly (string | number)[],
  patience: Patience = 'job',
): Promise<CommandOutcome<RunState, OptimizationEvent>> {
  const commandId = uuidV5(runId, ...idParts);
  return bus.execute<RunState, OptimizationCommand, OptimizationEvent>(
    optimization,
    {
      streamId: streamOf(runId),
      command,
      commandId,
      // The clock in the command may differ from try to try, so the id alone says what is asked.
      fingerprint: commandId,
      actor,
      correlationId: runId,
    },
    patience,
  );
}

/** Starts a run whose credits are held. */
export async function startRun(
  dependencies: CommandDependencies & { registry: ModelRegistry },
  runId: string,
  state: RunState,
  patience: Patience,
): Promise<RunState> {
  const seatable =
    !('seats' in state) ||
    state.seats.every((seat) => {
      const status = dependencies.registry.statusOf(seat.model);
      return status.available && status.simulated === seat.simulated;
    });
  const start = { type: 'Start', now: isoNow(dependencies), seatable } as const;
  const after = await issue(dependencies, runId, start, ['start'], patience);
  return after.state;
}

/** The run's settlement on the credits stream, then the ledger's figures on the run's. */
export async function settleRun(
  dependencies: Pick<CommandDependencies, 'bus'> & {
    ledger: Pick<Ledger, 'settle'>;
    readState: ReadState;
  },
  runId: string,
): Promise<void> {
  const state = await dependencies.readState(runId);
  if (state.stage !== 'settling' && state.stage !== 'closed') return;
  const { userId, conclusion } = state;
  const { settlement } = conclusion;
  const figures = await dependencies.ledger.settle({ userId, runId, settlement, actor });
  if (state.stage === 'closed') return;
  await issue(dependencies, runId, { type: 'Close', ...figures }, ['close']);
}

export function isoNow({ clock }: Pick<CommandDependencies, 'clock'>): string {
  return new Date(clock()).toISOString();
}
