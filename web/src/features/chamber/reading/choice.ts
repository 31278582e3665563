/**
 * Which seat the reading pane shows. It follows the seat that wrote last, but never restlessly: a
 * seat stays at least `stayMs`, and leaves only when it pauses for `pauseMs` or ends, and never
 * while someone selects or scrolls its words. A seat that the reader picked stays. Times are
 * milliseconds of one clock.
 */
const stayMs = 6_000;
const pauseMs = 2_000;

export type Reading = {
  readonly seat: string | null;
  /** When the pane began to show it. */
  readonly since: number;
  /** The reader picked it. */
  readonly isPinned: boolean;
};

/** The live text of a seat: which call writes it, and how many characters it has written. */
export type Words = { readonly slot: string; readonly attempt: number; readonly end: number };

/** When each writing seat wrote last; a seat that has ended is not in it. */
export type Heard = Readonly<Record<string, Words & { readonly at: number }>>;

export function heardOf(
  before: Heard,
  writing: Readonly<Record<string, Words>>,
  now: number,
): Heard {
  return Object.fromEntries(
    Object.entries(writing).map(([seat, words]) => {
      const known = before[seat];
      const isSame =
        known?.slot === words.slot && known.attempt === words.attempt && known.end === words.end;
      return [seat, { ...words, at: isSame ? known.at : now }];
    }),
  );
}

export function nextReading(
  current: Reading,
  heard: Heard,
  now: number,
  isReaderBusy: boolean,
): Reading {
  if (current.isPinned || isReaderBusy) return current;
  if (current.seat !== null && now - current.since < stayMs) return current;
  const isWriting = (seat: string | null): boolean =>
    now - (heard[seat ?? '']?.at ?? Number.NEGATIVE_INFINITY) < pauseMs;
  if (isWriting(current.seat)) return current;
  const latest = Object.keys(heard)
    .filter(isWriting)
    .reduce<string | null>(
      (best, seat) =>
        best === null || (heard[seat]?.at ?? 0) > (heard[best]?.at ?? 0) ? seat : best,
      null,
    );
  return latest === null ? current : { seat: latest, since: now, isPinned: false };
}
