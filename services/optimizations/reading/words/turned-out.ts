import type { CountedBand } from '#services/optimizations/contract/dashboard.ts';
import type { Outcome, OutcomeFigures } from '#services/optimizations/contract/outcomes.ts';
import type { AskedDay, Happened } from '#services/optimizations/run/events.ts';
import { wholePercent } from '#services/platform/numbers.ts';

/** What came of a result, in words: on its page, on the dashboard and in files. */

export const turnedOutTitle = 'How it turned out';
export const outcomeQuestion = 'How did it turn out?';
export const didLabel = 'What did you do?';
export const happenedLabel = 'What happened?';

export const happenedWords: Readonly<Record<Happened, string>> = {
  better: 'Better than expected',
  as_expected: 'As expected',
  worse: 'Worse than expected',
  too_early: 'Too early to say',
};

/** "After 30 days: As expected". */
export function outcomeWords({ asked, happened }: Pick<Outcome, 'asked' | 'happened'>): string {
  return `After ${asked} days: ${happenedWords[happened]}`;
}

/** About a result that is shown on another page than that of the one it was asked about. */
export const otherResultNote = 'This is about another result of the run.';

export const unchangedNote = 'Your answer is kept with the run. It changes no result and no score.';

export function askedNote(asked: AskedDay): string {
  return asked === 30
    ? 'The question about the first 30 days. You will be asked once more after 90.'
    : 'The question about the first 90 days. It is the last one.';
}

const bandNames: Readonly<Record<CountedBand['band'], string>> = {
  strong: 'Strong agreement',
  majority: 'Majority',
  contested: 'Contested',
  split: 'Split',
  none: 'Not scored',
};

export const figuresTitle = 'How results like this turned out';

/** A band's share with its interval; below the least number how many there are, and never a share. */
export function bandWords(
  { band, outcomes, share, interval }: OutcomeFigures['bands'][number],
  least: number,
): { band: CountedBand['band']; name: string; words: string } {
  return {
    band,
    name: bandNames[band],
    words:
      share === null || interval === null
        ? `${outcomes} of the ${least} outcomes needed`
        : `${wholePercent(share)}% better or as expected (95% interval ${wholePercent(interval.low)}% to ${wholePercent(interval.high)}%, ${outcomes} outcomes)`,
  };
}

export const figuresNote =
  'What users who share their figures said 30 or 90 days after a result: each user counts once in a band, and the counts rise in tens. They chose to answer, so other results may have turned out differently. No score or recommendation is changed by it.';
