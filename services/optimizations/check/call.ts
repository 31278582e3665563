import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import type { Catalogue } from '#services/models/catalogue.ts';
import { costMicros } from '#services/models/catalogue/prices.ts';
import { ModelFailure } from '#services/models/model.ts';
import type { ModelReply } from '#services/models/model.ts';
import { unobserved } from '#services/models/transport/observed-call.ts';
import type { BeginCall } from '#services/models/transport/observed-call.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import type { CheckReply, CheckRequest } from '#services/optimizations/contract/requests.ts';
import { questionCheckPrompt } from '#services/optimizations/prompts/prompts.ts';
import { readReply } from '#services/optimizations/prompts/read-reply.ts';
import { malformed, parseReply } from '#services/optimizations/prompts/reply-schemas.ts';
import type { Checked, QuestionCheck } from '#services/optimizations/prompts/reply-schemas.ts';
import type { Log } from '#services/platform/process/log.ts';
import type { Checker } from './checker.ts';
import { recordPlatformCall } from './platform-calls.ts';

/** The call of the model that checks a question, and what its reply says. */

export type CallDependencies = {
  registry: Pick<ModelRegistry, 'provider'>;
  catalogue: Pick<Catalogue, 'priceOf'>;
  pool: pg.Pool;
  clock: () => number;
  log: Pick<Log, 'info'>;
  beginCall?: BeginCall;
};

export type Time = { signal: AbortSignal; timeoutMs: number };

/**
 * One call of a model, recorded with what it cost.
 *
 * @throws ModelFailure
 */
export async function verdictOf(
  dependencies: CallDependencies,
  checker: Checker,
  asked: CheckRequest,
  time: Time,
): Promise<Checked<CheckReply>> {
  const { clock, log } = dependencies;
  const { offer } = checker;
  const startedAt = clock();
  const endCall = (dependencies.beginCall ?? unobserved)(offer);
  let cost: Pick<ModelReply, 'usage' | 'billedCost'> | null = null;
  let failure: ModelFailure['failure'] | null = 'aborted';
  let verdict: QuestionCheck['verdict'] | null = null;
  try {
    const reply = await replyOf(dependencies, checker, asked, time);
    cost = reply;
    if (reply.finish === 'length') throw new ModelFailure('truncated', 'The check was cut off');
    const found = await readVerdict(reply.text);
    failure = found.ok ? null : found.failure;
    verdict = found.ok ? found.value.verdict : null;
    return found;
  } catch (error) {
    if (error instanceof ModelFailure) {
      cost ??= error;
      failure = error.failure;
    }
    throw error;
  } finally {
    const costs = cost === null ? null : costOf(dependencies, offer, cost, startedAt);
    const durationMs = clock() - startedAt;
    endCall({ outcome: failure ?? 'answered', costMicros: costs, durationMs });
    log.info(
      {
        model: offer.model,
        duration_ms: durationMs,
        cost_micros: costs,
        outcome: failure ?? verdict,
        mode: offer.simulated ? 'simulated' : 'real',
      },
      'A question check ended',
    );
    if (cost !== null)
      await recordPlatformCall(dependencies.pool, {
        kind: 'question_check',
        model: offer.model,
        usage: cost.usage,
        costMicros: costs,
        at: new Date(startedAt).toISOString(),
      });
  }
}

async function replyOf(
  { registry }: Pick<CallDependencies, 'registry'>,
  { offer, effort, numCtx }: Checker,
  { challenge_type: type, ...asked }: CheckRequest,
  { signal, timeoutMs }: Time,
): Promise<ModelReply> {
  const provider = registry.provider(offer.provider, offer.simulated);
  if (provider === null) throw new ModelFailure('auth', `No provider serves ${offer.model}`);
  const parts = provider.call({
    ...questionCheckPrompt({ type, ...asked }, { delimiter: randomBytes(8).toString('hex') }),
    model: offer.remoteId,
    structuredOutput: offer.structuredOutput,
    effort,
    maxOutputTokens: Math.min(mostOutputTokens, offer.maxOutputTokens),
    numCtx,
    timeoutMs,
    signal,
  });
  for await (const part of parts) if (part.type === 'reply') return part.reply;
  throw new ModelFailure('connection', 'The stream ended without a reply');
}

/** A reply and some thinking, which counts as output. */
const mostOutputTokens = 1500;

export const ready: CheckReply = { verdict: 'ready', questions: [], why: null, skipped: false };

/** Nothing of a reply is shown but the verdict and its own texts. */
async function readVerdict(text: string): Promise<Checked<CheckReply>> {
  const parsed = parseReply('question_check', await readReply(text));
  if (!parsed.ok) return parsed;
  const { verdict, questions, why } = parsed.value;
  switch (verdict) {
    case 'ready':
      return { ok: true, value: ready };
    case 'ask':
      return questions.length === 0
        ? malformed('questions: none is written')
        : { ok: true, value: { ...ready, verdict, questions: [...new Set(questions)] } };
    case 'undecidable':
      return why === ''
        ? malformed('why: is empty')
        : { ok: true, value: { ...ready, verdict, why } };
  }
}

/** Micro-dollars that it costs us; null while unknown. */
function costOf(
  { catalogue, registry }: Pick<CallDependencies, 'catalogue' | 'registry'>,
  { model, provider, simulated }: Checker['offer'],
  { usage, billedCost }: Pick<ModelReply, 'usage' | 'billedCost'>,
  startedAt: number,
): number | null {
  if (simulated || registry.provider(provider, false)?.isFree === true) return 0;
  return (
    billedCost ?? costMicros(usage, catalogue.priceOf(model, new Date(startedAt).toISOString()))
  );
}
