/**
 * A read model: one table, and one SQL statement that brings a set of events into it.
 *
 * The same text is used three ways, so that there is one truth about what an event means:
 * the generated append function applies it to the events of one command (inline ones), the runner
 * to a page of the log (asynchronous ones), rebuild and verify to a range of the whole log.
 *
 * Rules that every `apply` keeps, because of those three uses:
 * - It is set-based. A relation may hold one event or 50,000, of one stream or of thousands.
 * - Events arrive in the order of their streams and never twice, but ranges follow each other: what
 *   adds up is added to the row that is there, what replaces is decided by `stream_position`.
 * - The order between streams does not matter: an asynchronous one may apply a stream later than the
 *   others (`set-aside.ts`).
 * - It reads nothing but `events` and its own table: no clock, no other table, no random value.
 *   Otherwise a rebuilt table could not equal the one that grew.
 * - A table with a CHECK on a sum is written by MERGE whose source is grouped by the key; an
 *   upsert's proposed row would fail the CHECK before the sum is taken.
 * - The key of an inline table contains or determines one stream, whose row lock serialises its
 *   writers. Anything that spans streams is asynchronous; only a unique key may, which refuses.
 */
export type Projection<EventType extends string = string> = {
  /** The table's name, and the projection's name on the command line. At most 40 characters. */
  readonly name: string;
  /** `inline`: written in the transaction of the command. `async`: by the runner, soon after. */
  readonly kind: 'inline' | 'async';
  /** Every event type of the streams that it reads; `tsc` names one that is missing here. */
  readonly events: Readonly<Record<EventType, 'used' | 'ignored'>>;
  /**
   * The DDL of the table, its CHECKs and its indexes, one or more statements. Indexes and
   * constraints are named after `table` (or left to Postgres, which does so): a rebuild creates
   * `<name>_next` beside the table in use, and renames what begins with that when it takes over.
   */
  readonly create: (table: string) => string;
  /**
   * One SQL statement, without a semicolon. `events` is written where FROM expects a relation
   * (`from ${events} e`), and has the columns `stream_id text, stream_position bigint,
   * message_id text, message_type text, message_data jsonb, message_metadata jsonb`. It holds used
   * types only. There are no parameters.
   */
  readonly apply: (table: string, events: string) => string;
  /** The columns of the primary key, by which verify compares rows. */
  readonly key: readonly string[];
};

/**
 * Declares a projection over the union of its streams' events. `EventType` is given by the caller
 * (`defineProjection<CreditEvent['type']>({ … })`), so that a type of event that is neither used
 * nor ignored is a compile error. Throws when the name or the key cannot work.
 */
export function defineProjection<EventType extends string>(
  projection: Projection<EventType>,
): Projection<EventType> {
  if (!/^[a-z][a-z0-9_]{0,39}$/.test(projection.name) || projection.name.endsWith('_next'))
    throw new Error(`Projection "${projection.name}": the name must be a plain table name`);
  if (projection.key.length === 0)
    throw new Error(`Projection "${projection.name}": the key must name at least one column`);
  return projection;
}

/** For a projection that concerns a few types of a long list: the rest is ignored. */
export function eventUses<EventType extends string>(
  all: readonly EventType[],
  used: readonly EventType[],
): Readonly<Record<EventType, 'used' | 'ignored'>> {
  return Object.fromEntries(
    all.map((type) => [type, used.includes(type) ? 'used' : 'ignored']),
  ) as Record<EventType, 'used' | 'ignored'>;
}

/** A view over the events: nothing to fill and nothing to rebuild. Who may read events may read it. */
export type View = { readonly name: string; readonly select: string };

/** The event types that a projection's statement reads, in order of name. */
export function usedEventTypes(projection: Projection): string[] {
  return Object.entries(projection.events)
    .filter(([, use]) => use === 'used')
    .map(([type]) => type)
    .toSorted();
}
