import type { Community } from '#services/optimizations/contract/dashboard.ts';
import { dashboardLimits } from '#services/optimizations/contract/dashboard.ts';
import { challengeTypeWords } from '#web/run/words.ts';
import { percent } from '#web/ui/text/figures.ts';

export const sharingSentence =
  'Shares counts and scores only: runs that completed or failed, their agreement, how many models answered, and whether results turned out better, as expected, or worse. Never your questions, answers, or name.';

export const notEnough = 'Not enough shared results yet';

export const roundedNote =
  'The average of the middle half of each group, rounded to fives. Each person counts once.';

export const whenEnough = `Figures appear once ${dashboardLimits.groupLeast} customers of ${dashboardLimits.customerDays / 7} weeks or more share theirs. Runs on bonus credits don't count. Figures change once a week, on Monday (UTC).`;

/** The lines of the card: everyone first, then each kind that has enough contributors. */
export function communityRows({
  everyone,
  groups,
}: Pick<Community, 'everyone' | 'groups'>): { id: string; name: string; facts: string[] }[] {
  const all = [
    ...(everyone === null ? [] : [{ id: 'all', name: 'All questions', ...everyone }]),
    ...groups.map((group) => ({
      id: group.challenge_type,
      name: challengeTypeWords[group.challenge_type],
      ...group,
    })),
  ];
  return all.map(({ id, name, contributors, agreement, success_rate: rate }) => ({
    id,
    name,
    facts: [
      `${contributors}+ people`,
      ...(agreement === null ? [] : [`agreement ${agreement}`]),
      ...(rate === null ? [] : [`success ${percent(Math.round(rate * 100))}`]),
    ],
  }));
}

/** Where the user stands among those who share; null without a standing. */
export function standingWords({ standing }: Pick<Community, 'standing'>): string | null {
  if (standing === null) return null;
  const { above_percent: above, contributors } = standing;
  return above === 0
    ? `Your impossibility index is in the lowest tenth of ${contributors}+ people who share.`
    : `Your impossibility index is above that of ${above}% of ${contributors}+ people who share.`;
}
