/** One row of emmett's `emt_messages`: its columns, its shape in memory, and the shapes of old rows. */

/** An event as plain JSON: texts are sealed, and nothing is validated. */
export type RecordedEvent = {
  readonly streamId: string;
  readonly streamPosition: number;
  readonly transactionId: string;
  readonly globalPosition: string;
  readonly messageId: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
};

/** What `eventColumns` selects. */
export type EventRow = {
  stream_id: string;
  stream_position: string;
  transaction_id: string;
  global_position: string;
  message_id: string;
  message_type: string;
  message_data: Record<string, unknown>;
  message_metadata: Record<string, unknown>;
};

/** Of `emt_messages m`, with numbers as digits for every driver. */
export const eventColumns = `m.stream_id, m.stream_position::text, m.transaction_id::text,
    m.global_position::text, m.message_id, m.message_type, m.message_data, m.message_metadata`;

/** A row as an event in its stored shape. */
export function recordedEvent(row: EventRow): RecordedEvent {
  return {
    streamId: row.stream_id,
    streamPosition: Number(row.stream_position),
    transactionId: row.transaction_id,
    globalPosition: row.global_position,
    messageId: row.message_id,
    type: row.message_type,
    data: row.message_data,
    metadata: row.message_metadata,
  };
}

type Upcaster = (event: RecordedEvent) => RecordedEvent;

/**
 * From a stored shape to today's, by event type; pure. A `schemaVersion` in the metadata names the shape.
 * Empty until a released shape has gained a field.
 */
const upcasters: Readonly<Record<string, Upcaster>> = {};

/** For readers and folds. Projection statements read the stored shape. */
export function upcast(event: RecordedEvent): RecordedEvent {
  return upcasters[event.type]?.(event) ?? event;
}
