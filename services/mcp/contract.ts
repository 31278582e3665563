import * as v from 'valibot';
import { optimizationLimits } from '#services/optimizations/contract/requests.ts';
import type { EndpointList } from '#services/platform/contract.ts';

export const mcpLimits = {
  /** One message. A question with its context needs half of it. */
  bodyBytes: optimizationLimits.bodyBytes,
  /** How long `follow` waits: below the minute after which most clients give a call up. */
  followSeconds: 50,
  followSecondsMost: 600,
} as const;

/** A request, or a notification, which has no id. The server sends no requests, so clients send no responses. */
const Message = v.strictObject({
  jsonrpc: v.literal('2.0'),
  id: v.optional(
    v.pipe(v.union([v.string(), v.number()]), v.description('Names the request in its answer')),
  ),
  method: v.string(),
  params: v.optional(v.looseObject({})),
});

/** Where clients of the Model Context Protocol call; outside /api. */
export const mcpEndpoints = {
  'POST /mcp': {
    summary: 'Model Context Protocol',
    description:
      'Streamable HTTP, without sessions: each message is answered alone, and batches are refused. An API key of any scope may call; each tool names the scope that it needs. Requests with a cookie, or from a page of another origin, are refused.',
    access: 'key',
    scope: 'any',
    body: Message,
    bodyBytes: mcpLimits.bodyBytes,
    status: 200,
    files: ['text/event-stream', 'application/json'],
  },
} as const satisfies EndpointList;
