import type { EndpointList } from '#services/platform/contract.ts';
import { StreamQuery } from './contract.ts';

/** What happens, as it happens. */
export const liveEndpoints = {
  'GET /stream': {
    summary: 'Facts as they happen, as server-sent events',
    access: 'person',
    query: StreamQuery,
    status: 200,
    files: ['text/event-stream'],
    refuses: [404],
  },
} as const satisfies EndpointList;
