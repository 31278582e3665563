import { LRUCache } from 'lru-cache';
import type { Strategy } from '#services/models/strategies.ts';
import { dataDelimiter, simulatedRunSeed } from '#services/platform/seeded.ts';
import type { SeatRole } from '#services/sandbox/models/cases.ts';

/**
 * Which seat a call comes from. A prompt does not say; but it carries a code that is drawn for one
 * attempt at one call of one run, and the seed of a simulated run follows from its question. So the
 * code is looked for among those that the strategies' runs would draw, and the same run falls out alike
 * each time. Any other code, such as that of a run with real models, takes the next free seat of its
 * role at a table that is kept for its question; so copies of one model never sit on one seat.
 */
export type Seating = {
  /** Codes of the seats, in the order in which sentences are dealt. */
  panel: readonly string[];
  /** Null for a call that comes from no seat. */
  code: string | null;
};

type Asker = { seed: string; challenge: string; model: string; delimiter: string };

/** A later attempt is seated at the table. */
const attempts = Array.from({ length: 12 }, (_, index) => index + 1);
const draftRounds = ['1', '2', '3'];

/** What the simulator knows of a strategy. */
export type Seated = Pick<Strategy, 'id' | 'panel' | 'synthesizers'>;

export function seatingOfStrategy(
  strategies: readonly Seated[],
  stage: 'opinion' | 'review' | 'draft',
  asker: Asker,
): Seating | null {
  for (const { id, panel, synthesizers } of strategies) {
    const seed = simulatedRunSeed(asker.seed, asker.challenge, id);
    const isFrom = (place: string) =>
      attempts.some(
        (attempt) => dataDelimiter(seed, `${stage}.${place}`, attempt) === asker.delimiter,
      );
    const seats = panel.map(({ seat }) => seat);
    if (stage === 'draft') {
      if (synthesizers.some(({ model }) => model === asker.model) && draftRounds.some(isFrom))
        return { panel: seats, code: null };
      continue;
    }
    const own = panel.find(({ model, seat }) => model === asker.model && isFrom(seat));
    if (own !== undefined) return { panel: seats, code: own.seat };
  }
  return null;
}

/** Seven first, then the rest of the largest panel. */
export const wholeTable = ['S1', 'S2', 'S3', 'R1', 'R2', 'I1', 'I2', 'S4', 'R3', 'I3', 'R4', 'I4'];

const letters: Readonly<Record<SeatRole, string>> = {
  strategic: 'S',
  risk: 'R',
  implementation: 'I',
};

type Place = { code: string; model: string; opinionBy: string; reviewBy: string | null };

/** The tables of the newest 1,000 questions. */
export type Tables = LRUCache<string, Place[]>;

export function newTables(): Tables {
  return new LRUCache({ max: 1000 });
}

/** The seat of an opinion: the one that it has, else the next of its role. */
export function seatAtTable(
  tables: Tables,
  question: string,
  role: SeatRole,
  { model, delimiter }: Asker,
): Seating & { code: string } {
  const places = tables.get(question) ?? [];
  const known = places.find(({ opinionBy }) => opinionBy === delimiter);
  if (known !== undefined) return { panel: wholeTable, code: known.code };
  const ofRole = wholeTable.filter((code) => code.startsWith(letters[role]));
  const lastTaken = (code: string) => places.findLastIndex((place) => place.code === code);
  const [code = 'S1'] = ofRole.toSorted((one, other) => lastTaken(one) - lastTaken(other));
  const free = places.filter((place) => place.code !== code);
  tables.set(question, [...free, { code, model, opinionBy: delimiter, reviewBy: null }]);
  return { panel: wholeTable, code };
}

/**
 * The seat of a review: one of its model that wrote no answer shown and has not reviewed, the newest
 * first.
 */
export function reviewerAtTable(
  tables: Tables,
  question: string,
  { model, delimiter }: Asker,
  isShown: (code: string) => boolean,
): Seating & { code: string } {
  const places = tables.get(question) ?? [];
  const known = places.find(({ reviewBy }) => reviewBy === delimiter);
  const own = places.filter((place) => place.model === model && !isShown(place.code));
  const chosen = known ?? own.findLast(({ reviewBy }) => reviewBy === null) ?? own.at(-1);
  if (chosen !== undefined) chosen.reviewBy = delimiter;
  // Nobody remembers the seat after a restart; the code picks one then.
  const drawn = wholeTable[Number.parseInt(delimiter.slice(0, 6), 16) % 7];
  return { panel: wholeTable, code: chosen?.code ?? drawn ?? 'S1' };
}
