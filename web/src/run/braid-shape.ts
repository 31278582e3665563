/**
 * The geometry of the braid: 0 to `braidWidth` across, pixels down. Pure, so that its promises are
 * tested: strands run straight until votes exist, stay inside the frame and keep their distance,
 * and two camps are two ropes.
 */
export const braidWidth = 1000;
const strandDistance = 24;
export const braidPadding = 15;
/** Least distance between two strands of one rope. */
const ropeDistance = 7;
/** Least distance between two ropes. */
const campDistance = 30;

const columnWidth = braidWidth / 4;
/** Bends lie between the columns of Bias Detection and Synthesis, where votes are counted. */
const bendFrom = 2 * columnWidth;
const bendTo = 3.35 * columnWidth;

export type StrandSeat = {
  readonly seat: string;
  /** 0–100, or where it ended. */
  readonly progress: number;
  /** −1 to 1; null before votes exist and for a seat that did not vote. */
  readonly placement: number | null;
  /** The option the seat voted for; null when it did not vote. */
  readonly camp: string | null;
};

export type Strand = {
  readonly seat: string;
  /** Start and end, in pixels from the top. */
  readonly from: number;
  readonly to: number;
  /** How far it is drawn, 0 to `braidWidth`. */
  readonly reach: number;
};

export function braidHeight(seats: number): number {
  return 2 * braidPadding + strandDistance * seats;
}

/** The columns take very different shares of the progress: 40, 35, 10, 15. */
export function reachOf(progress: number): number {
  const steps = [0, 40, 75, 85, 100] as const;
  const value = Math.min(100, Math.max(0, progress));
  for (let column = 0; column < 4; column += 1) {
    const from = steps[column] ?? 0;
    const to = steps[column + 1] ?? 100;
    if (value <= to) return columnWidth * (column + (value - from) / (to - from));
  }
  return braidWidth;
}

/** The strands in the order of the seats. With `twoCamps` the camps never touch. */
export function braidStrands(
  seats: readonly StrandSeat[],
  votes: { readonly modal: string | null; readonly twoCamps: boolean },
): Strand[] {
  const height = braidHeight(seats.length);
  const lanes = seats.map((_seat, index) => braidPadding + strandDistance * (index + 0.5));
  const middle = height / 2;
  const amplitude = middle - braidPadding - strandDistance / 2;
  const placed = seats.flatMap(({ placement, camp }, index) =>
    placement === null
      ? []
      : [{ index, target: middle - placement * amplitude, isModal: camp === votes.modal }],
  );
  const byTarget = (one: (typeof placed)[number], other: (typeof placed)[number]): number =>
    one.target - other.target || one.index - other.index;
  const upper = placed.filter((one) => !votes.twoCamps || one.isModal).toSorted(byTarget);
  const lower = placed.filter((one) => votes.twoCamps && !one.isModal).toSorted(byTarget);
  const ends = spread(
    [...upper, ...lower].map((one) => one.target),
    [...upper, ...lower].map((_one, place) =>
      place > 0 && place === upper.length ? campDistance : ropeDistance,
    ),
    { from: braidPadding, to: height - braidPadding },
  );
  const endOf = new Map([...upper, ...lower].map((one, place) => [one.index, ends[place]]));
  return seats.map(({ seat, progress }, index) => {
    const lane = lanes[index] ?? middle;
    return { seat, from: lane, to: endOf.get(index) ?? lane, reach: reachOf(progress) };
  });
}

/**
 * Positions as near to their targets as their distances allow, in the given order. Neighbours that
 * are too close become a block around their mean; blocks grow until none overlap. `gaps[i]` is the
 * least distance from position i − 1 to position i.
 */
function spread(
  targets: readonly number[],
  gaps: readonly number[],
  bounds: { readonly from: number; readonly to: number },
): number[] {
  const offsets: number[] = [];
  targets.forEach((_target, place) => {
    offsets.push(place === 0 ? 0 : (offsets[place - 1] ?? 0) + (gaps[place] ?? 0));
  });
  // With each offset subtracted, keeping the distances means never decreasing.
  const blocks: { sum: number; count: number }[] = [];
  targets.forEach((target, place) => {
    blocks.push({ sum: target - (offsets[place] ?? 0), count: 1 });
    for (;;) {
      const last = blocks.at(-1);
      const before = blocks.at(-2);
      if (!last || !before || before.sum / before.count <= last.sum / last.count) break;
      blocks.splice(-2, 2, { sum: before.sum + last.sum, count: before.count + last.count });
    }
  });
  const least = bounds.from;
  const most = bounds.to - (offsets.at(-1) ?? 0);
  return blocks
    .flatMap(({ sum, count }) => Array.from({ length: count }, () => sum / count))
    .map((place, index) => Math.min(most, Math.max(least, place)) + (offsets[index] ?? 0));
}

/** The drawn part and the rest of a strand, as SVG paths; either may be empty. */
export function strandPaths({ from, to, reach }: Strand): { drawn: string; rest: string } {
  if (reach <= 0) return { drawn: '', rest: pathBetween(from, to, 0, braidWidth) };
  if (reach >= braidWidth) return { drawn: pathBetween(from, to, 0, braidWidth), rest: '' };
  return {
    drawn: pathBetween(from, to, 0, reach),
    rest: pathBetween(from, to, reach, braidWidth),
  };
}

export function strandAt({ from, to }: Pick<Strand, 'from' | 'to'>, x: number): number {
  return from + (to - from) * rise(bendTime(x));
}

/** A strand's path from `start` to `end`: a line, a bend, a line. */
function pathBetween(from: number, to: number, start: number, end: number): string {
  const at = (x: number): number => strandAt({ from, to }, x);
  const parts = [`M${figure(start)} ${figure(at(start))}`];
  if (from === to) return `${parts[0]}H${figure(end)}`;
  if (start < bendFrom) parts.push(`H${figure(Math.min(end, bendFrom))}`);
  const first = bendTime(start);
  const last = bendTime(end);
  if (last > first) parts.push(bendBetween(from, to, first, last));
  if (end > bendTo) parts.push(`H${figure(end)}`);
  return parts.join('');
}

/** 0 before the bend, 1 after it; across the bend the curve's own parameter. */
function bendTime(x: number): number {
  const wanted = Math.min(1, Math.max(0, (x - bendFrom) / (bendTo - bendFrom)));
  let low = 0;
  let high = 1;
  for (let step = 0; step < 30; step += 1) {
    const time = (low + high) / 2;
    if (across(time) < wanted) low = time;
    else high = time;
  }
  return wanted === 0 ? 0 : wanted === 1 ? 1 : (low + high) / 2;
}

/** The bend is one cubic curve; its control points are half-way across, level with its ends. */
function across(time: number): number {
  const back = 1 - time;
  return 1.5 * back * back * time + 1.5 * back * time * time + time * time * time;
}

function rise(time: number): number {
  return 3 * (1 - time) * time * time + time * time * time;
}

/** The piece of the bend between two parameters, by its blossom. */
function bendBetween(from: number, to: number, first: number, last: number): string {
  const xs = [0, 0.5, 0.5, 1].map((share) => bendFrom + share * (bendTo - bendFrom));
  const ys = [from, from, to, to];
  const point = (...times: readonly [number, number, number]): string =>
    `${figure(blossom(xs, times))} ${figure(blossom(ys, times))}`;
  return `C${point(first, first, last)} ${point(first, last, last)} ${point(last, last, last)}`;
}

function blossom(controls: readonly number[], times: readonly number[]): number {
  let points = [...controls];
  for (const time of times) {
    points = points.slice(1).map((next, index) => (points[index] ?? 0) * (1 - time) + next * time);
  }
  return points[0] ?? 0;
}

function figure(value: number): string {
  return String(Math.round(value * 100) / 100);
}
