import * as v from 'valibot';
import type { Authenticate } from '#services/platform/http/auth.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import type { Log } from '#services/platform/process/log.ts';
import { Problem } from '#services/platform/problem.ts';
import { clientEvents } from './contract.ts';
import type { Acknowledgement } from './contract.ts';
import type { Connection, FollowDependencies, FollowedRuns } from './follow.ts';
import { socketLimits } from './limits.ts';

export type MessageDependencies = {
  authenticate: Authenticate;
  rateLimits: RateLimits;
  /** Null for a run that does not exist. */
  ownerOf: (runId: string) => Promise<string | null>;
  readRun: FollowDependencies['readRun'];
  cancelRun: (runId: string) => Promise<void>;
  runs: FollowedRuns;
  log: Log;
};

export type Message = {
  connection: Connection;
  token: string;
  userId: string;
  /** False for a message beyond the limits. */
  hasTurn: boolean;
  event: string;
  args: unknown[];
};

export const words = {
  authenticate: 'Authentication required',
  notFound: 'Failed to get optimization',
  notUnderstood: "We couldn't read that message",
  tooManyEvents: 'Too many messages; please wait a moment',
  tooManySubscriptions: `You can follow up to ${socketLimits.subscriptions} runs at a time`,
  tooManyWaiting: 'Too many connections from this address are waiting',
  fault: 'Something went wrong on our side. Please try again in a moment.',
} as const;

class Refusal extends Error {
  override readonly name = 'Refusal';
}

export async function receive(dependencies: MessageDependencies, message: Message): Promise<void> {
  const { hasTurn, event, args, token, connection } = message;
  const last = args.at(-1);
  const isAcknowledged = typeof last === 'function';
  const acknowledge: (answer: Acknowledgement) => void = isAcknowledged
    ? (answer) => void Reflect.apply(last, null, [answer])
    : () => {};
  const payload = isAcknowledged ? args.slice(0, -1) : args;
  try {
    if (!hasTurn) throw new Refusal(words.tooManyEvents);
    if (!isClientEvent(event) || payload.length !== 1) throw new Refusal(words.notUnderstood);
    const parsed = v.safeParse(clientEvents[event], payload[0]);
    if (!parsed.success) throw new Refusal(words.notUnderstood);
    // Checked with each message: the session watch may be half a second late.
    if ((await dependencies.authenticate(token)) === null) {
      acknowledge({ error: words.authenticate });
      sendOut(connection);
      return;
    }
    if (typeof parsed.output === 'string')
      await act(dependencies, message, event, parsed.output, () => acknowledge({ ok: true }));
    else acknowledge({ ok: true });
  } catch (error) {
    if (error instanceof Refusal || error instanceof Problem) {
      acknowledge({ error: error.message });
      return;
    }
    dependencies.log.error({ err: error }, 'A message of a socket failed');
    if (isAcknowledged) acknowledge({ error: words.fault });
    // It would wait for a run that nobody follows; when it reconnects, it subscribes again.
    else sendAway(connection);
  }
}

/** With the protocol's disconnect packet, after which clients do not reconnect on their own. */
export function sendOut(connection: Connection): void {
  connection.disconnect(true);
  // Before it has authenticated, the line above closes nothing.
  connection.conn.close();
}

/** Without the protocol's disconnect packet, so that the client reconnects on its own. */
export function sendAway(connection: Connection): void {
  connection.conn.close();
}

function isClientEvent(event: string): event is keyof typeof clientEvents {
  return Object.hasOwn(clientEvents, event);
}

async function act(
  { ownerOf, readRun, cancelRun, rateLimits, runs }: MessageDependencies,
  { connection, userId }: Message,
  event: keyof typeof clientEvents,
  runId: string,
  acknowledge: () => void,
): Promise<void> {
  if (event === 'unsubscribe-optimization') {
    runs.leave(connection, runId);
    acknowledge();
    return;
  }
  if ((await ownerOf(runId)) !== userId) throw new Refusal(words.notFound);
  if (event === 'cancel-optimization') {
    await rateLimits.take('run-changes', userId, { userId });
    if ((await readRun(runId)) === null) throw new Refusal(words.notFound);
    await cancelRun(runId);
    acknowledge();
    return;
  }
  const followed = runs.join(connection, runId, userId);
  if (followed === null) throw new Refusal(words.tooManySubscriptions);
  const run = await followed.read();
  if (run === null) {
    runs.leave(connection, runId);
    throw new Refusal(words.notFound);
  }
  acknowledge();
  followed.send(connection, run);
}
