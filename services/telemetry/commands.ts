import type { CommandBus, CommandBusOptions, CommandOutcome } from '#services/platform/command.ts';
import { Problem } from '#services/platform/problem.ts';
import type { Metrics } from '#services/platform/telemetry/registry.ts';
import type { Tracing } from '#services/platform/telemetry/tracing.ts';

export type CommandMetrics = ReturnType<typeof commandMetrics>;

export function commandMetrics(metrics: Metrics) {
  return {
    commands: metrics.counter({
      name: 'sevenfold_commands_total',
      help: 'Commands by decider and outcome: accepted, repeated, nothing (no event followed), refused, busy, failed',
      labels: ['decider', 'outcome'],
    }),
    seconds: metrics.histogram({
      name: 'sevenfold_command_seconds',
      help: 'Seconds from a command to its answer, by decider',
      labels: ['decider'],
      buckets: [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 5],
    }),
    batchCommands: metrics.histogram({
      name: 'sevenfold_batch_commands',
      help: 'Commands in one batch; its count is the number of batches',
      buckets: [1, 2, 4, 8, 16, 32, 64, 256],
    }),
    conflicts: metrics.counter({
      name: 'sevenfold_command_conflicts_total',
      help: 'Appends that found their stream at another version and are decided again',
    }),
    batchFailures: metrics.counter({
      name: 'sevenfold_batch_failures_total',
      help: 'Batches that ended without a known outcome and are tried again',
    }),
  };
}

/** What the bus itself calls. */
export function batchObserver({
  batchCommands,
  conflicts,
  batchFailures,
}: CommandMetrics): NonNullable<CommandBusOptions['observe']> {
  return {
    batch: (commands) => batchCommands.observe(commands),
    conflict: () => conflicts.inc(),
    failure: () => batchFailures.inc(),
  };
}

/** The same bus, with each command counted and in a span. */
export function observedBus(
  bus: CommandBus,
  metrics: CommandMetrics | null,
  tracing: Tracing,
): CommandBus {
  return {
    close: async () => bus.close(),
    forget: () => bus.forget(),
    async execute(decider, request, patience) {
      const started = performance.now();
      const note = (outcome: string) => {
        if (metrics === null) return;
        metrics.commands.inc({ decider: decider.name, outcome });
        metrics.seconds.observe({ decider: decider.name }, (performance.now() - started) / 1_000);
      };
      const send = async () => {
        try {
          const outcome = await bus.execute(decider, request, patience);
          note(outcomeOf(outcome));
          return outcome;
        } catch (error) {
          note(refusalOf(error));
          throw error;
        }
      };
      if (!tracing.isOn) return send();
      const { correlationId, command } = request;
      const span = {
        name: `${decider.name} ${typeOf(command)}`,
        kind: 'INTERNAL',
        correlationId,
        attributes: { 'sevenfold.correlation_id': correlationId },
      } as const;
      return tracing.inSpan(span, async (set) => {
        const outcome = await send();
        set({ 'sevenfold.outcome': outcomeOf(outcome), 'sevenfold.events': outcome.events.length });
        return outcome;
      });
    },
  };
}

function typeOf(command: unknown): string {
  const named = typeof command === 'object' && command !== null && 'type' in command;
  return named && typeof command.type === 'string' ? command.type : 'command';
}

function outcomeOf({ repeated, events }: CommandOutcome<unknown, unknown>): string {
  if (repeated) return 'repeated';
  return events.length === 0 ? 'nothing' : 'accepted';
}

function refusalOf(error: unknown): string {
  if (!(error instanceof Problem)) return 'failed';
  return error.code === 'busy' ? 'busy' : 'refused';
}
