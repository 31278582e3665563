/** Seats by name: the same on a page, in exports, in emails and on the command line. */

export type Names = readonly { seat: string; name: string }[];

/** "GPT-6.1 Terra (S1)". */
export function seatName(names: Names, seat: string): string {
  const name = names.find((one) => one.seat === seat)?.name;
  return name === undefined ? seat : `${name} (${seat})`;
}

export function seatNames(names: Names, seats: readonly string[]): string {
  return listed(seats.map((seat) => seatName(names, seat)));
}

/** "S1", "S1 and R2", "S1, R2 and I1". */
export function listed(items: readonly string[]): string {
  if (items.length < 2) return items[0] ?? '';
  return `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;
}
