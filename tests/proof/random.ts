/** mulberry32: the same numbers for the same seed, on every machine. */
export function randomOf(from: number): () => number {
  let state = from;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** "completed 3, failed 1" */
export function countsInWords(values: readonly string[]): string {
  const counts = Map.groupBy(values, (value) => value);
  return [...counts].map(([value, all]) => `${value} ${all.length}`).join(', ');
}
