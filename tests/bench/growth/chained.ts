import { createHash } from 'node:crypto';
import { canonicalJson, firstHash } from '#db/chain.ts';
import type { Decider, StoredEvent } from '#services/platform/command.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import { row } from './rows.ts';
import type { Rows } from './rows.ts';

/** The end of a generated stream. */
export type Head<State> = {
  streamId: string;
  version: number;
  hash: string;
  occurredAt: string;
  state: State;
};

export type Cause = {
  commandId: string;
  fingerprint: string;
  correlationId: string;
  actor: string;
  /** Milliseconds since 1970. */
  at: number;
};

type Folding<State, Event extends StoredEvent> = Pick<
  Decider<State, never, Event>,
  'name' | 'version' | 'initialState' | 'evolve'
>;

export function emptyHead<State>(
  streamId: string,
  { initialState }: { initialState: () => State },
) {
  const head: Head<State> = {
    streamId,
    version: 0,
    hash: firstHash,
    occurredAt: '',
    state: initialState(),
  };
  return head;
}

/**
 * The rows of one command's events, as the append function would have written them.
 *
 * @param texts the data of each as canonical JSON
 */
export function appendRows<State, Event extends StoredEvent>(
  rows: Rows,
  decider: Folding<State, Event>,
  head: Head<State>,
  cause: Cause,
  events: readonly Event[],
  texts: readonly string[] = events.map(({ data }) => canonicalJson(data)),
): void {
  const { at, ...ids } = cause;
  const now = new Date(at).toISOString();
  const occurredAt = now > head.occurredAt ? now : head.occurredAt;
  const metadata = { schemaVersion: 1, ...ids, causationId: null, occurredAt };
  const { streamId: stream } = head;
  for (const [index, event] of events.entries()) {
    const { type } = event;
    const data = texts[index]!;
    const messageId = uuidV5(cause.commandId, index);
    const version = head.version + 1;
    const hash = hashAfter(head.hash, data, { messageId, metadata, stream, type, version });
    const stored = canonicalJson({ ...metadata, hash });
    rows.messages.push(row([stream, version, data, stored, type, messageId, occurredAt]));
    Object.assign(head, { version, hash, occurredAt, state: decider.evolve(head.state, event) });
  }
}

/** As `chainHash`, of data that is canonical JSON already; `verifyEvents` compares the two. */
function hashAfter(previous: string, data: string, rest: Record<string, unknown>): string {
  return createHash('sha256')
    .update(previous)
    .update(`{"data":${data},${canonicalJson(rest).slice(1)}`)
    .digest('hex');
}

/** The rows of a stream that is complete: its position and its snapshot. */
export function headRows<State>(
  rows: Rows,
  decider: Pick<Folding<State, StoredEvent>, 'name' | 'version'>,
  head: Head<State>,
): void {
  const { streamId, version, hash, occurredAt, state } = head;
  rows.streams.push(row([streamId, version, streamId.slice(0, streamId.indexOf('-'))]));
  rows.snapshots.push(
    row([
      streamId,
      version,
      decider.name,
      decider.version,
      hash,
      occurredAt,
      JSON.stringify(state),
    ]),
  );
}
