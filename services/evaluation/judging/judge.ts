import { setTimeout as sleep } from 'node:timers/promises';
import type { EvaluationCase } from '#services/evaluation/cases.ts';
import type { AnswerLine, JudgmentLine } from '#services/evaluation/records/records.ts';
import { ModelFailure } from '#services/models/model.ts';
import type { FailureClass, ModelReply } from '#services/models/model.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import { localContext } from '#services/models/seating/local-context.ts';
import { readReply } from '#services/optimizations/prompts/read-reply.ts';
import { endedBy } from '#services/optimizations/run/state.ts';
import { dataDelimiter } from '#services/platform/seeded.ts';
import type { Judge } from './judges.ts';
import { judgmentPrompt, judgmentTokens, readJudgment } from './prompt.ts';
import type { Judgment } from './prompt.ts';

/** One judgment: one judge, one case, two answers in one order. */

export type JudgingWorld = {
  registry: Pick<ModelRegistry, 'provider'>;
  clock: () => number;
  /** Milliseconds before the second and each further try. */
  retryMs: readonly number[];
  signal: AbortSignal;
};

export const judgeLimits = {
  /** Thinking included. */
  outputTokens: 8000,
  timeoutMs: 240_000,
  retryMs: [2000, 8000, 30_000],
} as const;

type Asked = {
  key: string;
  evaluated: EvaluationCase;
  judge: Judge;
  first: AnswerLine;
  second: AnswerLine;
  seed: string;
};

/** A judge that fails is recorded as such; only a stop or an empty budget is thrown. */
export async function judgePair(asked: Asked, world: JudgingWorld): Promise<JudgmentLine> {
  const { key, evaluated, judge, first, second } = asked;
  const outcome = await triedJudgment(asked, world);
  const failed = 'failure' in outcome;
  return {
    key,
    caseId: evaluated.id,
    at: new Date(world.clock()).toISOString(),
    simulated: judge.offer.simulated,
    judge: judge.offer.model,
    first: first.condition,
    second: second.condition,
    failure: failed ? outcome.failure : null,
    better: failed ? null : outcome.better,
    marks: failed ? {} : outcome.marks,
    traps: failed ? {} : outcome.traps,
    reason: failed ? '' : outcome.reason,
  };
}

async function triedJudgment(
  asked: Asked,
  world: JudgingWorld,
): Promise<Judgment | { failure: FailureClass }> {
  let failure: FailureClass = 'aborted';
  for (let attempt = 1; attempt <= world.retryMs.length + 1; attempt += 1) {
    if (attempt > 1) await sleep(world.retryMs[attempt - 2], undefined, { signal: world.signal });
    try {
      const reply = await replyOf(asked, world, attempt);
      const found =
        reply.finish === 'length'
          ? null
          : readJudgment(asked.evaluated, await readReply(reply.text));
      if (found?.ok === true) return found.value;
      failure = found === null ? 'truncated' : 'malformed';
    } catch (error) {
      if (!(error instanceof ModelFailure)) throw error;
      world.signal.throwIfAborted();
      failure = error.failure;
    }
    // A wrong key or a refusal stays what it is.
    if (endedBy(failure) === null) break;
  }
  return { failure };
}

async function replyOf(
  { evaluated, judge, first, second, seed, key }: Asked,
  { registry, signal }: JudgingWorld,
  attempt: number,
): Promise<ModelReply> {
  const { offer, effort } = judge;
  const provider = registry.provider(offer.provider, offer.simulated);
  if (provider === null) throw new ModelFailure('auth', `No provider serves ${offer.model}`);
  const delimiter = dataDelimiter(seed, `judge.${key}`, attempt);
  const parts = provider.call({
    ...judgmentPrompt(evaluated, { first: first.text, second: second.text }, { delimiter }),
    model: offer.remoteId,
    structuredOutput: offer.structuredOutput,
    effort,
    maxOutputTokens: Math.min(judgeLimits.outputTokens, offer.maxOutputTokens),
    numCtx: offer.simulated ? null : localContext({ offer, effort }, judgmentTokens),
    timeoutMs: judgeLimits.timeoutMs,
    signal,
  });
  for await (const part of parts) if (part.type === 'reply') return part.reply;
  throw new ModelFailure('connection', 'The stream ended without a reply');
}
