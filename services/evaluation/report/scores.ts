import type { CollectedCase, Judged, Pair } from '#services/evaluation/collected.ts';
import type { Condition, JudgmentLine, Mark } from '#services/evaluation/records/records.ts';
import { meanOf, scoreOf } from '#services/evaluation/statistics.ts';
import type { Preference } from '#services/evaluation/statistics.ts';

/** What the judgments of one case say. */

/** Mean over the judges, or of one; null without a judgment. */
export function pairScore(
  { judged }: CollectedCase,
  { one, other }: Pair,
  judge: string | null = null,
): number | null {
  const scores = judged
    .filter(
      ({ pair, judge: by }) =>
        pair.one === one && pair.other === other && (judge === null || by.offer.model === judge),
    )
    .flatMap((each) => scoreOfJudged(each) ?? []);
  return meanOf(scores);
}

function scoreOfJudged(judged: Judged): number | null {
  const verdicts = verdictsOf(judged);
  return verdicts === null ? null : scoreOf(...verdicts);
}

/** What the judge preferred with `one` first, and with `other` first. */
export function verdictsOf({ oneFirst, otherFirst }: Judged): [Preference, Preference] | null {
  const [before, after] = [oneFirst?.better ?? null, otherFirst?.better ?? null];
  if (before === null || after === null) return null;
  const named = { first: 'one', second: 'other', equal: 'equal' } as const;
  const turned = { first: 'other', second: 'one', equal: 'equal' } as const;
  return [named[before], turned[after]];
}

const worth: Readonly<Record<Mark, number>> = { yes: 1, partly: 0.5, no: 0 };

/** 0–1, over all judgments of the condition's answer. */
export function shareMet({ evaluated, judged }: CollectedCase, condition: Condition): number {
  const { rubric } = evaluated;
  const total = rubric.reduce((sum, { weight }) => sum + weight, 0);
  const shares = placesOf(judged, condition).map(
    ({ line, place }) =>
      rubric.reduce((sum, { id, weight }) => sum + weight * worth[markOf(line, id, place)], 0) /
      total,
  );
  return meanOf(shares) ?? Number.NaN;
}

export function shareTrapped({ evaluated, judged }: CollectedCase, condition: Condition): number {
  const { traps } = evaluated;
  const shares = placesOf(judged, condition).map(
    ({ line, place }) =>
      traps.filter(({ id }) => line.traps[id]?.[place] === true).length / traps.length,
  );
  return meanOf(shares) ?? Number.NaN;
}

function markOf({ marks }: JudgmentLine, id: string, place: 0 | 1): Mark {
  const found = marks[id];
  if (found === undefined) throw new RangeError(`A judgment lacks the criterion ${id}`);
  return found[place];
}

type Placed = { line: JudgmentLine; place: 0 | 1 };

/** Each judgment of a condition's answer, and at which place it stood. */
function placesOf(judged: readonly Judged[], condition: Condition): Placed[] {
  return judged
    .flatMap(({ oneFirst, otherFirst }) => [oneFirst, otherFirst])
    .flatMap((line): Placed[] => {
      if (line === null || line.failure !== null) return [];
      if (line.first === condition) return [{ line, place: 0 }];
      return line.second === condition ? [{ line, place: 1 }] : [];
    });
}
