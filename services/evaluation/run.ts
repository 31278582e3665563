import { join } from 'node:path';
import type { Catalogue } from '#services/models/catalogue.ts';
import { loadSdks, providerDefinitions } from '#services/models/provider-list.ts';
import { modelRegistry } from '#services/models/registry.ts';
import { createLog } from '#services/platform/process/log.ts';
import { usd } from '#services/platform/numbers.ts';
import type { Env } from '#services/platform/process/env.ts';
import { conditionWords } from './answers/conditions.ts';
import type { Arguments } from './arguments.ts';
import { ArgumentError } from './arguments.ts';
import { loadCases, selectCases } from './cases.ts';
import { usualAnswer, usualJudgment } from './estimate.ts';
import { evaluate } from './evaluate.ts';
import { EvaluationError } from './evaluation-error.ts';
import { judgeLimits } from './judging/judge.ts';
import { planEvaluation } from './plan.ts';
import type { EvaluationPlan, PlanSettings } from './plan.ts';
import { plantedBest } from './planted/planted.ts';
import { simulatedModels } from './planted/simulated-models.ts';
import { createBudget } from './records/budget.ts';
import { openFolder } from './records/folder.ts';
import { reportMarkdown } from './report/markdown.ts';
import { reportOf, simulatedNotice } from './report/report.ts';
import type { Report } from './report/report.ts';

/** An evaluation from its options to its report. */

export type Surroundings = {
  env: Pick<Env, 'mode' | 'substituteModels' | 'compatibleEndpoints'> &
    Parameters<typeof modelRegistry>[0];
  catalogue: Catalogue;
  signal: AbortSignal;
  clock: () => number;
  say: (line: string) => void;
};

/** @returns the exit code: 0 when every answer and judgment is there, else 1 */
export async function runEvaluation(given: Arguments, around: Surroundings): Promise<number> {
  const { say } = around;
  const plan = await planOf(given, around);
  if (plan.planted !== null) say(simulatedNotice);
  for (const line of planLines(plan, around)) say(line);
  if (given.dryRun) return 0;
  const report = await evaluatedReport(given, plan, around);
  say(`Report: ${join(given.out, 'report.md')}`);
  return report.missing.length === 0 ? 0 : 1;
}

export async function evaluatedReport(
  given: Arguments,
  plan: EvaluationPlan,
  { signal, clock, say }: Surroundings,
): Promise<Report> {
  const { retryFailed, sandbox: simulated } = given;
  const folder = openFolder(given.out, { retryFailed, simulated });
  try {
    const budget = createBudget(given.budgetMicros, folder.calls);
    if (plan.planted === null) await loadSdks();
    const log = createLog({ level: 'silent', process: 'eval' });
    const { retryMs } = judgeLimits;
    const { catalogue } = plan;
    const world = { catalogue, clock, log, signal, say, retryMs };
    const ended = await evaluate(plan, folder, budget, world);
    const report = reportOf(plan, folder, {
      ended,
      budget,
      limitMicros: given.budgetMicros,
      at: new Date(clock()).toISOString(),
    });
    folder.writeReport({ json: report, markdown: reportMarkdown(report) });
    return report;
  } finally {
    folder.close();
  }
}

export async function planOf(given: Arguments, around: Surroundings): Promise<EvaluationPlan> {
  const { env, catalogue, clock } = around;
  const strategy = catalogue.strategyOf(given.strategy);
  if (strategy === null) throw new ArgumentError(`--strategy: "${given.strategy}" is no strategy`);
  return planEvaluation({
    ...modelsFor(given, around),
    strategy,
    conditions: given.conditions,
    cases: selectCases(loadCases(), given.cases),
    judges: given.judges,
    seed: given.seed,
    parallel: given.parallel,
    catalogue,
    substituteModels: env.substituteModels,
    clock,
  });
}

type Models = Pick<PlanSettings, 'registryFor' | 'judging' | 'planted' | 'endpoints' | 'isLocal'>;

function modelsFor(given: Arguments, { env, catalogue, clock }: Surroundings): Models {
  if (given.sandbox) {
    const { seed, plant } = given;
    const planted = { seed, best: plant === 'by seed' ? plantedBest(seed) : plant };
    const models = simulatedModels(catalogue, planted, clock);
    return {
      registryFor: (condition) => models.forAnswers(condition),
      judging: models.forJudges,
      planted,
      endpoints: [],
      isLocal: true,
    };
  }
  // Simulated models would answer where a key is missing.
  const registry = modelRegistry({ ...env, sandboxUrl: null }, catalogue, { clock });
  if (!registry.hasRealModels) throw new EvaluationError(nobodyConnected);
  return {
    registryFor: () => registry,
    judging: registry,
    planted: null,
    endpoints: env.compatibleEndpoints,
    isLocal: env.mode === 'local',
  };
}

const nobodyConnected = `No provider is connected. Set one or more of ${[
  ...providerDefinitions.map(({ keyVariable }) => keyVariable),
  'OPENAI_COMPATIBLE_ENDPOINTS',
].join(
  ', ',
)} (docs/models.md), or add --sandbox to try the program with simulated models, without a key.`;

/** Who answers and who judges, and what that is likely to cost. */
function planLines(plan: EvaluationPlan, { clock }: Surroundings): string[] {
  const prices = { ...plan, clock };
  const { conditions, cases, judges } = plan;
  const answers = conditions.map((condition) => {
    const all = cases.map(({ evaluated, council }) =>
      usualAnswer(condition, evaluated, council, prices),
    );
    return {
      what: conditionWords[condition],
      calls: all.reduce((sum, { calls }) => sum + calls, 0),
      micros: all.reduce((sum, { micros }) => sum + micros, 0),
    };
  });
  // Both orders of each two conditions.
  const each = conditions.length * (conditions.length - 1) * cases.length;
  const judging = judges.map((judge) => ({
    what: `Judge ${judge.offer.name}${judge.siblings > 0 ? ' (its maker has a seat on the panel)' : ''}`,
    calls: each,
    micros: usualJudgment(judge, prices).micros * each,
  }));
  const rows = [...answers, ...judging];
  const total = {
    what: `Together, ${cases.length} cases`,
    calls: rows.reduce((sum, { calls }) => sum + calls, 0),
    micros: rows.reduce((sum, { micros }) => sum + micros, 0),
  };
  return [...rows, total].map(
    ({ what, calls, micros }) =>
      `${what}: ${calls} calls, about ${usd(micros / 1e6, [2, 2], 'en-US')}`,
  );
}
