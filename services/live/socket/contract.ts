import * as v from 'valibot';
import { IdText } from '#services/platform/contract.ts';
import type { Evolution, Optimization } from '#services/optimizations/contract/run.ts';

/** The messages of the socket at the namespace `/optimization`. */
export const socketPath = '/socket.io/';
export const socketNamespace = '/optimization';

const runId = IdText('opt');

/** Which run a message is about: its id, or an object that holds it. */
const NamedRun = v.union([
  runId,
  v.pipe(
    v.strictObject({ optimizationId: runId }),
    v.transform(({ optimizationId }) => optimizationId),
  ),
]);

/** What older clients report of a demonstration that they play themselves. */
const DemoProgress = v.strictObject({
  optimizationId: v.pipe(v.string(), v.maxLength(64)),
  stage: v.pipe(v.string(), v.maxLength(64)),
  progress: v.pipe(v.number(), v.minValue(0), v.maxValue(100)),
  message: v.optional(v.pipe(v.string(), v.maxLength(300))),
});

/** What a client may send, each with an optional acknowledgement. */
export const clientEvents = {
  'subscribe-optimization': NamedRun,
  'unsubscribe-optimization': NamedRun,
  'cancel-optimization': NamedRun,
  'demo-progress': DemoProgress,
} as const;

export type Acknowledgement = { ok: true } | { error: string };

/**
 * What a `connect_error` brings beside its message: a code as of the API's refusals, and, where trying
 * again later helps, in how many milliseconds.
 */
export type RefusalData = { code: string; retry_ms?: number };

/** What the server sends. */
export type ServerEvents = {
  /** `stage` is the progress' `current_step`. */
  'optimization-progress': (payload: {
    optimizationId: string;
    stage: Evolution['current_step'];
    progress: Omit<Evolution, 'bias'> & Pick<Optimization, 'models'>;
  }) => void;
  'optimization-complete': (payload: { optimizationId: string; result: Optimization }) => void;
  'optimization-error': (payload: { optimizationId: string; error: string; code: string }) => void;
  'optimization-cancelled': (payload: { optimizationId: string; cancelled: true }) => void;
};

export const serverEvents = [
  'optimization-progress',
  'optimization-complete',
  'optimization-error',
  'optimization-cancelled',
] as const satisfies readonly (keyof ServerEvents)[];
