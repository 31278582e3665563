import pLimit from 'p-limit';
import type { LimitFunction } from 'p-limit';
import { usualConcurrency } from '#services/models/waiting.ts';
import { seededOrder } from '#services/platform/seeded.ts';
import { answerCase } from './answers/answer.ts';
import type { CreatedData } from './answers/conditions.ts';
import type { World } from './answers/drive.ts';
import type { EvaluationCase } from './cases.ts';
import { collectedCase } from './collected.ts';
import { usualAnswer, usualJudgment } from './estimate.ts';
import { judgePair } from './judging/judge.ts';
import type { JudgingWorld } from './judging/judge.ts';
import type { Judge } from './judging/judges.ts';
import type { EvaluationPlan, PlannedCase } from './plan.ts';
import { BudgetSpent } from './records/budget.ts';
import type { Allowance, Budget } from './records/budget.ts';
import type { Folder } from './records/folder.ts';
import { metered } from './records/metered.ts';
import type { AnswerLine, Condition } from './records/records.ts';

/**
 * Runs what a plan lists and the folder does not hold yet: case by case, all answers and then their
 * judgments, so that an evaluation that ends early has whole cases.
 */
export type Ended = 'complete' | 'budget' | 'interrupted';

export type EvaluationWorld = Omit<World, 'registry' | 'callsPerProvider' | 'lanes' | 'signal'> & {
  retryMs: JudgingWorld['retryMs'];
  signal: AbortSignal;
  say: (line: string) => void;
};

export async function evaluate(
  plan: EvaluationPlan,
  folder: Folder,
  budget: Budget,
  world: EvaluationWorld,
): Promise<Ended> {
  const failed = new AbortController();
  const run: Run = {
    plan,
    folder,
    budget,
    world,
    signal: AbortSignal.any([world.signal, failed.signal]),
    ended: null,
    tooLittleFor: { answers: false, judgments: false },
    lanes: new Map(),
  };
  const limit = pLimit(plan.parallel);
  const order = seededOrder(String(plan.seed), 'cases', plan.cases);
  const cases = order.map(async (planned) =>
    limit(async () => {
      try {
        await evaluateCase(run, planned.evaluated, planned.council);
      } catch (error) {
        failed.abort();
        throw error;
      }
    }),
  );
  const results = await Promise.allSettled(cases);
  const broken = results.find(({ status }) => status === 'rejected');
  if (broken?.status === 'rejected') throw broken.reason;
  return run.ended ?? 'complete';
}

type Run = {
  plan: EvaluationPlan;
  folder: Folder;
  budget: Budget;
  world: EvaluationWorld;
  signal: AbortSignal;
  /** Why no further answer begins; null while they do. */
  ended: Exclude<Ended, 'complete'> | null;
  /** What is left of the budget is too little for an answer, or even for a judgment. */
  tooLittleFor: { answers: boolean; judgments: boolean };
  lanes: Map<string, LimitFunction>;
};

async function evaluateCase(
  run: Run,
  evaluated: EvaluationCase,
  council: CreatedData,
): Promise<void> {
  const { plan } = run;
  if (!mayBegin(run, 'answers')) return;
  const answers = await Promise.all(
    plan.conditions.map(async (condition) => answerOf(run, evaluated, council, condition)),
  );
  const given = answers.filter((answer) => answer !== null && answer.failure === null);
  // Only whole cases are compared, so a judgment of any other would be paid for nothing.
  if (given.length < plan.conditions.length) return sayCase(run, { evaluated, council });
  const limit = pLimit(judgmentsAtOnce);
  const pairs = given.flatMap((first) =>
    given.flatMap((second) => (first === second ? [] : [{ first: first!, second: second! }])),
  );
  await Promise.all(
    plan.judges.flatMap((judge) =>
      pairs.map(async (pair) => limit(async () => judgmentOf(run, evaluated, judge, pair))),
    ),
  );
  sayCase(run, { evaluated, council });
}

function sayCase({ plan, folder, world }: Run, planned: PlannedCase): void {
  const { isComplete } = collectedCase(plan, folder, planned);
  const state = isComplete ? 'complete' : 'answers or judgments are missing';
  world.say(`${planned.evaluated.id}: ${state}`);
}

const judgmentsAtOnce = 4;

async function answerOf(
  run: Run,
  evaluated: EvaluationCase,
  council: CreatedData,
  condition: Condition,
): Promise<AnswerLine | null> {
  const { plan, folder, world } = run;
  const key = plan.answerKey(evaluated, council, condition);
  const known = folder.answer(key);
  if (known !== null) return known;
  const { mostMicros } = usualAnswer(condition, evaluated, council, { ...plan, ...world });
  return attempted(run, 'answers', mostMicros, async (allowance) => {
    const answer = await answerCase(
      { key, evaluated, condition, council },
      {
        ...world,
        registry: metered(plan.registryFor(condition), { ...plan, ...world, allowance }),
        callsPerProvider: usualConcurrency,
        lanes: run.lanes,
        signal: run.signal,
      },
    );
    folder.addAnswer(answer);
    return answer;
  });
}

async function judgmentOf(
  run: Run,
  evaluated: EvaluationCase,
  judge: Judge,
  pair: { first: AnswerLine; second: AnswerLine },
): Promise<void> {
  const { plan, folder, world } = run;
  const key = plan.judgmentKey(evaluated, judge, pair);
  if (folder.judgment(key) !== null) return;
  const { mostMicros } = usualJudgment(judge, { ...plan, ...world });
  await attempted(run, 'judgments', mostMicros, async (allowance) => {
    const registry = metered(plan.judging, { ...plan, ...world, allowance });
    folder.addJudgment(
      await judgePair(
        { key, evaluated, judge, ...pair, seed: String(plan.seed) },
        { ...world, registry, signal: run.signal },
      ),
    );
  });
}

/** Null when the work did not begin, or was stopped by the budget or from outside. */
async function attempted<Result>(
  run: Run,
  kind: Kind,
  mostMicros: number,
  work: (allowance: Allowance) => Promise<Result>,
): Promise<Result | null> {
  let allowance: Allowance | null = null;
  try {
    if (!mayBegin(run, kind)) return null;
    allowance = await run.budget.begin(mostMicros);
    return mayBegin(run, kind) ? await work(allowance) : null;
  } catch (error) {
    if (error instanceof BudgetSpent) {
      run.ended ??= 'budget';
      run.tooLittleFor[kind] = true;
    } else if (run.signal.aborted) run.ended ??= 'interrupted';
    else throw error;
    return null;
  } finally {
    allowance?.end();
  }
}

type Kind = keyof Run['tooLittleFor'];

/** A case whose answers are there is still judged when the budget holds for no further answer. */
function mayBegin(run: Run, kind: Kind): boolean {
  if (run.signal.aborted) run.ended = 'interrupted';
  return run.ended !== 'interrupted' && !run.tooLittleFor[kind];
}
