import { listed } from '#services/models/seating/words.ts';

/** Seats and strategies by name: the same on a page, in exports, in emails and on the command line. */

export type Names = readonly { seat: string; name: string }[];

/** "GPT-6.1 Terra (S1)". */
export function seatName(names: Names, seat: string): string {
  const name = names.find((one) => one.seat === seat)?.name;
  return name === undefined ? seat : `${name} (${seat})`;
}

export function seatNames(names: Names, seats: readonly string[]): string {
  return listed(seats.map((seat) => seatName(names, seat)));
}

/** "Balanced" for `balanced`, "Ultra Economy" for `ultra-economy`. */
export function strategyName(id: string): string {
  return id
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ');
}

/** A sentence of a model inside one of ours: “Wait until spring”. */
export function quoted(text: string): string {
  return `“${text.replace(/\.$/, '')}”`;
}
