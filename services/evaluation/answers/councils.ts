import * as v from 'valibot';
import type { EvaluationCase } from '#services/evaluation/cases.ts';
import { hashOf } from '#services/evaluation/records/hash.ts';
import type { Condition } from '#services/evaluation/records/records.ts';
import { CreateOptimizationRequest } from '#services/optimizations/contract/requests.ts';
import { createCommand } from '#services/optimizations/create.ts';
import type { CreateDependencies } from '#services/optimizations/create.ts';
import type { CouncilModel } from '#services/optimizations/run/events.ts';
import { everyModel } from '#services/optimizations/run/slots.ts';
import type { Strategy } from '#services/models/strategies.ts';
import { strongestOf } from './conditions.ts';
import type { CreatedData } from './conditions.ts';
import { inClear } from './in-memory.ts';

/**
 * The run that a user would get for a case now: seats, schedule and prices, as the product seats them.
 *
 * @throws Problem when the strategy cannot be seated
 */
export async function councilFor(
  dependencies: CreateDependencies,
  {
    evaluated,
    strategy,
    seed,
    now,
  }: {
    evaluated: EvaluationCase;
    strategy: Strategy;
    seed: number;
    now: number;
  },
): Promise<CreatedData> {
  const request = v.parse(CreateOptimizationRequest, {
    challenge: evaluated.question,
    challenge_type: evaluated.type,
    context: evaluated.context,
    objectives: evaluated.objectives,
    constraints: evaluated.constraints,
    strategy: strategy.id,
  });
  const created = await createCommand(
    dependencies,
    inClear,
    { runId: 'opt_evaluated', userId: 'usr_evaluation', now },
    request,
  );
  if (created.type !== 'Create') throw new TypeError('A run begins with Create');
  const { data } = created;
  // A simulated run has the seed by which the simulator knows its seats.
  return data.seats.every(({ simulated }) => simulated)
    ? data
    : { ...data, seed: hashOf([seed, evaluated.id]) };
}

/** The models that a condition calls. */
export function modelsOf(condition: Condition, council: CreatedData): CouncilModel[] {
  const { seats, schedule } = council;
  const strongest = strongestOf(council);
  const writers = [...schedule.extractors, ...schedule.synthesizers];
  switch (condition) {
    case 'strongest':
      return [strongest];
    case 'fused':
      return [strongest, ...writers];
    case 'no-reviews':
      return [...seats, ...writers];
    case 'council':
      return everyModel(council);
  }
}
