import { slots } from './roster.ts';
import type { Draws } from './words/draws.ts';

/**
 * Which of the seven places stands for which option. A seed that begins with `agree:6-1:` forces the
 * sizes, and then every vote and ranking follows the camps strictly, so that the agreement of the run
 * is known beforehand; any other seed draws sizes as one meets them among real panels.
 */
export type Camps = {
  /** For each place the index of its option. */
  ofSlot: readonly number[];
  /** The seats' votes follow the camps without exception. */
  forced: boolean;
};

export function campsFor(seed: string, draws: Draws, optionCount: number): Camps {
  const forced = forcedSizes(seed);
  const sizes = forced ?? drawnSizes(draws, optionCount);
  const order = draws.shuffled('camps', [...Array(slots).keys()]);
  const ofSlot = Array<number>(slots).fill(0);
  let place = 0;
  for (const [option, size] of sizes.entries())
    for (const slot of order.slice(place, (place += size))) ofSlot[slot] = option;
  return { ofSlot, forced: forced !== null };
}

/** What a camp argues against: the minority against the majority, the majority against the next. */
export function rivalIn(camps: Camps, option: number): number {
  if (option > 0) return 0;
  const sizeOf = (index: number) => camps.ofSlot.filter((each) => each === index).length;
  return sizeOf(2) > sizeOf(1) ? 2 : 1;
}

/** The sizes that a seed such as `agree:4-2-1:anything` forces, largest first; null when it forces none. */
function forcedSizes(seed: string): readonly number[] | null {
  const written = /^agree:(\d(?:-\d){0,2}):/.exec(seed)?.[1];
  if (written === undefined) return null;
  const sizes = written.split('-').map(Number);
  return sizes.reduce((sum, size) => sum + size, 0) === slots ? sizes : null;
}

function drawnSizes(draws: Draws, optionCount: number): readonly number[] {
  const three = optionCount > 2 ? threeCamps : twoCamps;
  const drawn = draws.fraction('camp sizes');
  return (three.find(({ upTo }) => drawn < upTo) ?? { sizes: [5, 2] }).sizes;
}

const twoCamps = [
  { upTo: 0.2, sizes: [7] },
  { upTo: 0.56, sizes: [6, 1] },
  { upTo: 0.86, sizes: [5, 2] },
  { upTo: 1, sizes: [4, 3] },
];
const threeCamps = [
  { upTo: 0.18, sizes: [7] },
  { upTo: 0.5, sizes: [6, 1] },
  { upTo: 0.74, sizes: [5, 2] },
  { upTo: 0.84, sizes: [4, 3] },
  { upTo: 0.93, sizes: [5, 1, 1] },
  { upTo: 1, sizes: [4, 2, 1] },
];
