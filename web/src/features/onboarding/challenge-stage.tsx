import { type ReactNode, useId } from 'react';
import type { Challenge, ChallengeId } from '#services/onboarding/challenge-list.ts';
import { counted } from '#services/platform/numbers.ts';
import { type Business, type Fit, matchChallenges } from '#services/onboarding/challenges.ts';
import { classNames } from '#web/ui/class-names.ts';
import { Badge } from '#web/ui/feedback/status.tsx';
import { type Moves, NextButton, Stage } from './stage.tsx';
import { fitWords } from './words.ts';

/** Stage 2: one challenge of those that fit the audit. */
export function ChallengeStage({
  business,
  chosen,
  takesFocus,
  moves,
  onChoose,
  onNext,
}: {
  business: Business;
  chosen: ChallengeId | null;
  takesFocus: boolean;
  moves: Moves;
  onChoose: (id: ChallengeId) => void;
  onNext: () => void;
}): ReactNode {
  const found = matchChallenges(business);
  // A change of the audit may have taken the chosen one out of the list.
  const isListed = found.some(({ challenge }) => challenge.id === chosen);
  return (
    <Stage
      number={2}
      title="Choose a challenge"
      about="Pick the decision that would help most right now. Each one comes with a question, the facts it needs, and its limits. You can edit all of it."
      takesFocus={takesFocus}
      moves={moves}
      next={
        <NextButton
          label="Continue"
          waitsFor={isListed ? null : 'Choose one challenge, or skip this step.'}
          onPress={onNext}
        />
      }
    >
      <fieldset className="min-w-0">
        <legend className="sr-only">Challenge</legend>
        <ul className="grid grid-cols-1 gap-4 sm:grid-cols-2">
          {found.map(({ challenge, fit }) => (
            <li key={challenge.id} className="min-w-0">
              <ChallengeCard
                challenge={challenge}
                fit={fit}
                business={business}
                isChosen={challenge.id === chosen}
                onChoose={() => onChoose(challenge.id)}
              />
            </li>
          ))}
        </ul>
      </fieldset>
    </Stage>
  );
}

function ChallengeCard({
  challenge,
  fit,
  business,
  isChosen,
  onChoose,
}: {
  challenge: Challenge;
  fit: Fit;
  business: Business;
  isChosen: boolean;
  onChoose: () => void;
}): ReactNode {
  const id = useId();
  return (
    <label
      className={classNames(
        'flex h-full cursor-pointer gap-3 rounded-card border bg-surface p-4 wrap-anywhere hover:bg-sunken has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent',
        isChosen ? 'border-accent ring-1 ring-accent' : 'border-line-strong',
      )}
    >
      <input
        type="radio"
        name="challenge"
        value={challenge.id}
        checked={isChosen}
        onChange={onChoose}
        aria-labelledby={`${id}-title`}
        aria-describedby={`${id}-facts`}
        className="mt-0.5 size-5 shrink-0 accent-accent"
      />
      <span className="min-w-0 space-y-3">
        <span id={`${id}-title`} className="block font-semibold">
          {challenge.title}
        </span>
        <span id={`${id}-facts`} className="block space-y-3 text-sm text-ink-2">
          <span className="block">{challenge.description}</span>
          <span className="block">
            <Badge>{challenge.complexity} complexity</Badge>
          </span>
          <span className="block">
            By hand about {counted(challenge.normalTime, 'hour')}, with a run about{' '}
            {counted(challenge.eliteTime, 'hour')} of your own time. Both are our estimates.
          </span>
          <span className="block">{fitWords(challenge, fit, business)}</span>
        </span>
      </span>
    </label>
  );
}
