import type { DrawnBraid } from '#web/run/drawing/braid-drawing.tsx';
import type { Role } from '#web/run/drawing/roles.ts';

/**
 * The recorded run as the site plays it. The build makes it from the recording (`film-of-run.ts`), so
 * that a page loads what is shown and not the events.
 */
export type Film = {
  readonly title: string;
  readonly challenge: string;
  readonly context: string;
  readonly seats: readonly FilmSeat[];
  /** The proposed options with the seats whose answers propose them. */
  readonly options: readonly { readonly text: string; readonly seats: readonly string[] }[];
  /** The options that were voted for, the chosen one first. */
  readonly votes: readonly FilmVote[];
  /** The strongest objection to the best answer, who raised it, and what the result replies. */
  readonly objection: {
    readonly text: string;
    readonly seats: readonly string[];
    readonly reply: string;
  };
  readonly agreement: number | null;
  readonly claims: { readonly all: number; readonly agreed: number };
  /** "Recommended by 5 of 7 models". */
  readonly outcome: string;
  readonly decision: string;
  /** When the votes were counted, in milliseconds of the recording. */
  readonly countedAt: number;
  /** Milliseconds of the film and of the recording; straight lines between. */
  readonly pace: Line;
};

export type FilmSeat = {
  readonly seat: string;
  readonly name: string;
  readonly role: Role;
  /** Its answer in one line. */
  readonly answer: string;
  /** Milliseconds of the recording. */
  readonly answeredAt: number;
  readonly reviewedAt: number;
  /** Milliseconds of the recording and percent. */
  readonly progress: Line;
  /** Where its strand ends, −1 to 1 from bottom to top: together with those that voted alike. */
  readonly placement: number;
  /** The words at that end; null inside a rope. */
  readonly mark: string | null;
};

export type FilmVote = {
  readonly text: string;
  readonly seats: readonly string[];
  /** Why, in the words of one of them. */
  readonly reason: string;
};

/** Points in order of their first number. */
export type Line = readonly (readonly [number, number])[];

/**
 * Where the parts of the film end, in milliseconds: the question, then the four phases. Each leaves
 * time to read it, so the film is faster than the run in one place and slower in another.
 */
export const parts = [2_000, 7_500, 12_000, 16_500, 20_000] as const;
export const filmMs = parts[4];

/** The moment of the film that shows everything a part has to show. */
export function endOf(part: number): number {
  return part === parts.length - 1 ? filmMs : (parts[part] ?? filmMs) - 1;
}

export type Frame = {
  /** Index in `parts`. */
  readonly part: number;
  /** How much of the part has passed, 0 to 1. */
  readonly share: number;
  /** Milliseconds of the recording. */
  readonly at: number;
};

export function frameAt({ pace }: Film, ms: number): Frame {
  const index = parts.findIndex((until) => ms < until);
  const part = index === -1 ? parts.length - 1 : index;
  const from = parts[part - 1] ?? 0;
  const until = parts[part] ?? filmMs;
  return { part, share: Math.min(1, (ms - from) / (until - from)), at: along(pace, ms) };
}

/** The braid at a moment of the recording. Before the votes were counted its strands run straight. */
export function braidAt({ seats, countedAt }: Film, at: number): DrawnBraid {
  const isCounted = at >= countedAt;
  return {
    modal: null,
    chosen: null,
    twoCamps: false,
    isGettingReady: false,
    seats: seats.map(({ seat, name, role, progress, placement, mark }) => ({
      seat,
      name,
      role,
      progress: along(progress, at),
      placement: isCounted ? placement : null,
      camp: null,
      ended: null,
      mark: isCounted ? mark : null,
    })),
  };
}

/** The braid in words. */
export function sentenceAt(film: Film, { part, at }: Frame): string {
  const { seats, outcome, countedAt } = film;
  if (part === parts.length - 1)
    return `${outcome}. ${dissentersOf(film).join(' and ')} voted for something else.`;
  if (at >= countedAt) return `The votes of ${seats.length} models are counted.`;
  const answered = seats.filter(({ answeredAt }) => answeredAt <= at).length;
  return `${answered} of ${seats.length} models have answered. No votes yet.`;
}

/** The names of the models that voted for another option than the chosen one. */
function dissentersOf({ seats, votes }: Film): string[] {
  const codes = votes.slice(1).flatMap((vote) => vote.seats);
  return seats.filter(({ seat }) => codes.includes(seat)).map(({ name }) => name);
}

/** The height of a line at `x`; level before its first and after its last point. */
function along(line: Line, x: number): number {
  const after = line.findIndex(([next]) => next > x);
  if (after === -1) return line.at(-1)?.[1] ?? 0;
  const [x1, y1] = line[after] ?? [0, 0];
  const [x0, y0] = line[after - 1] ?? [x1, y1];
  return x1 === x0 ? y1 : y0 + ((x - x0) / (x1 - x0)) * (y1 - y0);
}
