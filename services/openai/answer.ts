import type { Optimization } from '#services/optimizations/contract/run.ts';
import { tokensOf } from '#services/optimizations/reading/costs.ts';
import { recommendationMarkdown } from '#services/optimizations/reading/markdown/run-markdown.ts';
import { Problem } from '#services/platform/problem.ts';
import type { ChatReply, ChatUsage } from './contract.ts';

/** A run as a chat completion, whole and in chunks. */

export function chatReply(
  run: Optimization,
  { publicUrl, joined }: { publicUrl: string; joined: boolean },
): ChatReply {
  return {
    ...head(run),
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: contentOf(run), refusal: refusalOf(run) },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: usageOf(run),
    run: {
      id: run.id,
      url: `${publicUrl}/optimizations/${run.id}`,
      joined,
      simulated: run.simulated,
    },
  };
}

/** The problem of a run that has ended without a recommendation; null for one that has it. */
export function problemOfRun(run: Optimization): Problem | null {
  const refusal = refusalOf(run);
  return refusal === null ? null : new Problem('run-failed', refusal);
}

function contentOf(run: Optimization): string | null {
  return run.result === null ? null : recommendationMarkdown(run);
}

function refusalOf({ result, status, ended_because, credits }: Optimization): string | null {
  if (result !== null) return null;
  const what = status === 'cancelled' ? 'The run was canceled.' : 'The run failed.';
  const charged =
    credits.charged === null || credits.charged === 0
      ? 'No credits were charged.'
      : `${credits.charged} credits were charged.`;
  return [what, ended_because ?? '', charged].filter((sentence) => sentence !== '').join(' ');
}

function head(run: Optimization) {
  return {
    id: `chatcmpl-${run.id}`,
    created: Math.floor(Date.parse(run.created_at) / 1000),
    model: run.strategy,
  };
}

type Delta = { role?: 'assistant'; content?: string };

function chunk(run: Optimization, delta: Delta, finish: 'stop' | null): object {
  return {
    ...head(run),
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  };
}

export function firstChunk(run: Optimization): object {
  return chunk(run, { role: 'assistant', content: '' }, null);
}

/** The recommendation by paragraphs, then the end, then the usage if it was asked for. */
export function lastChunks(run: Optimization, includeUsage: boolean): object[] {
  const paragraphs = (contentOf(run) ?? '').split(/(?<=\n\n)/);
  return [
    ...paragraphs.map((content) => chunk(run, { content }, null)),
    chunk(run, {}, 'stop'),
    ...(includeUsage
      ? [{ ...head(run), object: 'chat.completion.chunk', choices: [], usage: usageOf(run) }]
      : []),
  ];
}

/** Of every call to a model, tries that failed included. */
function usageOf({ council, credits }: Optimization): ChatUsage {
  const attempts = Object.values(council.calls).flatMap((call) => Object.values(call.attempts));
  const { input, output } = tokensOf(attempts);
  const [prompt, completion] = [input ?? 0, output ?? 0];
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    calls_without_usage: attempts.filter(
      ({ usage }) => usage === null || usage.source === 'unknown',
    ).length,
    credits: credits.charged,
  };
}
