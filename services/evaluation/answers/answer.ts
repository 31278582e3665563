import type { AnswerLine, Condition, Cost, Tokens } from '#services/evaluation/records/records.ts';
import type { EvaluationCase } from '#services/evaluation/cases.ts';
import { opinionOf } from '#services/optimizations/reading/texts.ts';
import type { OpenRun } from '#services/optimizations/reading/read-run.ts';
import type { OptimizationEvent, Slot } from '#services/optimizations/run/events.ts';
import { everyModel, parseSlot } from '#services/optimizations/run/slots.ts';
import type { UsageRecord } from '#services/models/model.ts';
import { blinded } from './blind.ts';
import { createdFor, variationOf } from './conditions.ts';
import type { CreatedData } from './conditions.ts';
import { driveRun } from './drive.ts';
import type { World } from './drive.ts';
import { partsOfOpinion, partsOfRun, rendered } from './render.ts';

/**
 * One answer of one condition to one case.
 *
 * @throws the reason of the signal once it is aborted
 */
export async function answerCase(
  asked: { key: string; evaluated: EvaluationCase; condition: Condition; council: CreatedData },
  world: World,
): Promise<AnswerLine> {
  const { key, evaluated, condition, council } = asked;
  const variation = variationOf(condition, council, world.clock);
  const begun = world.clock();
  const { run, events } = await driveRun(createdFor(condition, council), variation, world);
  const seconds = (world.clock() - begun) / 1000;
  const found = foundIn(run, variation.onlySlot);
  const blind = 'failure' in found ? null : blinded(rendered(found.parts), everyModel(council));
  return {
    key,
    caseId: evaluated.id,
    at: new Date(world.clock()).toISOString(),
    seconds,
    ...spentIn(events),
    simulated: council.seats.some(({ simulated }) => simulated),
    condition,
    failure: 'failure' in found ? found.failure : null,
    text: blind?.text ?? '',
    heading: 'failure' in found ? null : found.heading,
    revealing: blind?.revealing ?? [],
  };
}

function foundIn(
  run: OpenRun,
  onlySlot: Slot | null,
): { parts: Parameters<typeof rendered>[0]; heading: string | null } | { failure: string } {
  if (onlySlot === null) {
    const { reason = null, outcome = 'failed' } = run.view.conclusion ?? {};
    return partsOfRun(run) ?? { failure: reason ?? outcome };
  }
  const parts = parseSlot(onlySlot);
  const opinion = 'seat' in parts ? opinionOf(run.view, parts.seat) : null;
  if (opinion !== null) return { parts: partsOfOpinion(opinion), heading: null };
  const dead = 'calls' in run.state ? run.state.calls[onlySlot]?.dead : null;
  return { failure: dead ?? 'late' };
}

/** Everything that the calls of a run cost, lost and late ones included. */
function spentIn(events: readonly OptimizationEvent[]): {
  cost: Cost;
  tokens: Tokens;
  calls: number;
} {
  const ends = events.flatMap((event) =>
    event.type === 'CallSucceeded' ||
    event.type === 'CallFailed' ||
    event.type === 'CallCostRecorded'
      ? [event.data]
      : [],
  );
  return {
    cost: {
      micros: ends.reduce((sum, { costMicros }) => sum + (costMicros ?? 0), 0),
      isLeast: ends.some(({ costMicros }) => costMicros === null),
    },
    tokens: ends
      .map(({ usage }) => tokensOf(usage))
      .reduce((sum, one) => ({ input: sum.input + one.input, output: sum.output + one.output }), {
        input: 0,
        output: 0,
      }),
    calls: events.filter(({ type }) => type === 'CallStarted').length,
  };
}

/** What the provider counted; nothing where it counted nothing, which makes the cost a lower bound. */
function tokensOf(usage: UsageRecord): Tokens {
  return {
    input: (usage.inputUncached ?? 0) + (usage.inputCached ?? 0) + (usage.cacheWrite ?? 0),
    output: (usage.outputVisible ?? 0) + (usage.outputThinking ?? 0),
  };
}
