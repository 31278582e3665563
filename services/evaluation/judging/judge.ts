import { setTimeout as sleep } from 'node:timers/promises';
import type { EvaluationCase } from '#services/evaluation/cases.ts';
import { tokensOf } from '#services/evaluation/answers/answer.ts';
import type {
  AnswerLine,
  Cost,
  JudgementLine,
  Tokens,
} from '#services/evaluation/records/records.ts';
import type { Catalogue } from '#services/models/catalogue.ts';
import { costMicros } from '#services/models/catalogue/prices.ts';
import { ModelFailure } from '#services/models/model.ts';
import type { FailureClass, ModelReply, UsageRecord } from '#services/models/model.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import { localContext } from '#services/models/seating/local-context.ts';
import { readReply } from '#services/optimizations/prompts/read-reply.ts';
import { endedBy } from '#services/optimizations/run/state.ts';
import { dataDelimiter } from '#services/platform/seeded.ts';
import type { Judge } from './judges.ts';
import { judgementPrompt, judgementTokens, readJudgement } from './prompt.ts';
import type { Judgement } from './prompt.ts';

/** One judgement: one judge, one case, two answers in one order. */

export type JudgingWorld = {
  registry: Pick<ModelRegistry, 'provider'>;
  catalogue: Pick<Catalogue, 'priceOf'>;
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
export async function judgePair(asked: Asked, world: JudgingWorld): Promise<JudgementLine> {
  const { key, evaluated, judge, first, second } = asked;
  const spent = { micros: 0, isLeast: false, input: 0, output: 0, calls: 0 };
  const begun = world.clock();
  const outcome = await triedJudgement(asked, world, (called) => {
    spent.calls += 1;
    spent.micros += called.micros ?? 0;
    spent.isLeast ||= called.micros === null;
    spent.input += called.tokens.input;
    spent.output += called.tokens.output;
  });
  const failed = 'failure' in outcome;
  return {
    key,
    caseId: evaluated.id,
    at: new Date(world.clock()).toISOString(),
    seconds: (world.clock() - begun) / 1000,
    cost: { micros: spent.micros, isLeast: spent.isLeast } satisfies Cost,
    tokens: { input: spent.input, output: spent.output },
    calls: spent.calls,
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

type Called = { micros: number | null; tokens: Tokens };

async function triedJudgement(
  asked: Asked,
  world: JudgingWorld,
  onCall: (called: Called) => void,
): Promise<Judgement | { failure: FailureClass }> {
  let failure: FailureClass = 'aborted';
  for (let attempt = 1; attempt <= world.retryMs.length + 1; attempt += 1) {
    if (attempt > 1) await sleep(world.retryMs[attempt - 2], undefined, { signal: world.signal });
    try {
      const reply = await replyOf(asked, world, attempt);
      onCall(costOf(asked, world, reply));
      const found =
        reply.finish === 'length'
          ? null
          : readJudgement(asked.evaluated, await readReply(reply.text));
      if (found?.ok === true) return found.value;
      failure = found === null ? 'truncated' : 'malformed';
    } catch (error) {
      if (!(error instanceof ModelFailure)) throw error;
      world.signal.throwIfAborted();
      onCall(costOf(asked, world, error));
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
    ...judgementPrompt(evaluated, { first: first.text, second: second.text }, { delimiter }),
    model: offer.remoteId,
    structuredOutput: offer.structuredOutput,
    effort,
    maxOutputTokens: Math.min(judgeLimits.outputTokens, offer.maxOutputTokens),
    numCtx: offer.simulated ? null : localContext({ offer, effort }, judgementTokens),
    timeoutMs: judgeLimits.timeoutMs,
    signal,
  });
  for await (const part of parts) if (part.type === 'reply') return part.reply;
  throw new ModelFailure('connection', 'The stream ended without a reply');
}

function costOf(
  { judge: { offer } }: Asked,
  { catalogue, registry, clock }: JudgingWorld,
  { usage, billedCost }: { usage: UsageRecord; billedCost: number | null },
): Called {
  const tokens = tokensOf(usage);
  if (registry.provider(offer.provider, offer.simulated)?.isFree === true)
    return { micros: 0, tokens };
  const price = catalogue.priceOf(offer.model, new Date(clock()).toISOString());
  return { micros: billedCost ?? costMicros(usage, price), tokens };
}
