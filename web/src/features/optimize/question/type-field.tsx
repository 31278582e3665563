import { type ReactNode, useId } from 'react';
import { ChallengeType } from '#services/optimizations/contract/summary.ts';
import { classNames } from '#web/ui/class-names.ts';
import { suggestChallengeType } from './challenge-type.ts';
import { challengeTypeWords } from '#web/run/words.ts';
import { challengeTypeOf, type Fields } from './fields.ts';

/** The type of the question as chips: suggested by its text until the user chooses one. */
export function TypeField({
  fields,
  onChange,
}: {
  fields: Fields;
  onChange: (part: Partial<Fields>) => void;
}): ReactNode {
  const id = useId();
  const type = challengeTypeOf(fields);
  return (
    <fieldset className="min-w-0" aria-labelledby={id} aria-describedby={`${id}-hint`}>
      <legend className="mb-1.5 flex flex-wrap items-baseline gap-x-3">
        <span id={id} className="font-medium">
          Challenge type
        </span>
        <span id={`${id}-hint`} className="text-sm text-ink-3">
          {hintOf(fields)}
        </span>
      </legend>
      <div className="flex flex-wrap gap-1">
        {ChallengeType.options.map((option) => (
          <label
            key={option}
            className={classNames(
              'relative inline-flex min-h-11 cursor-pointer items-center rounded-full border px-2.5 text-sm font-medium has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent lg:min-h-9',
              option === type
                ? 'border-accent bg-accent-soft text-ink'
                : 'border-line-strong text-ink-2 hover:bg-sunken',
            )}
          >
            <input
              type="radio"
              name="challenge_type"
              value={option}
              checked={option === type}
              onChange={() => onChange({ chosenType: option })}
              className="absolute inset-0 cursor-pointer appearance-none outline-none"
            />
            {challengeTypeWords[option]}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function hintOf({ challenge, chosenType }: Fields): string {
  const suggested = suggestChallengeType(challenge);
  if (chosenType === null && suggested !== null)
    return "Suggested from your question. Change it if it's wrong.";
  // A challenge, a recipe or an earlier run may have chosen it.
  return suggested === null || suggested === chosenType
    ? 'Says what the models should weigh first.'
    : `Your question suggests ${challengeTypeWords[suggested]}.`;
}
