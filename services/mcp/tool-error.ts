import type { CallToolResult } from '@modelcontextprotocol/server';
import { problemOf } from '#services/platform/http/http.ts';
import type { Problem } from '#services/platform/problem.ts';
import type { Log } from '#services/platform/process/log.ts';

/** What was thrown as the sentences that a model reads. Only the log learns more of an internal error. */
export function toolError(error: unknown, log: Log, tool: string): CallToolResult {
  const problem = problemOf(error);
  if (problem.status >= 500)
    log.error({ err: error, code: problem.code, task: tool }, 'A tool call failed');
  return { isError: true, content: [{ type: 'text', text: wordsOf(problem) }] };
}

function wordsOf({ message, code, extras }: Problem): string {
  const { errors = [], retryAfterSeconds, members = {} } = extras;
  const running = members['running_id'];
  const fields = errors
    .filter((one) => one.message !== message)
    .map((one) => (one.field === '' ? one.message : `${one.field}: ${one.message}`));
  return [
    message,
    ...fields,
    ...(retryAfterSeconds === undefined ? [] : [`Try again in ${retryAfterSeconds} seconds.`]),
    ...(typeof running === 'string' ? [`The refinement in progress: ${running}`] : []),
    `Code: ${code}`,
  ].join('\n');
}
