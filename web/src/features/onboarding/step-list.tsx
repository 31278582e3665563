import { Check } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Onboarding } from '#services/onboarding/contract.ts';
import { classNames } from '#web/ui/class-names.ts';

/** The four stages: which are done, and where the person is. */
export function StepList({
  stages,
  current,
}: {
  stages: Onboarding['stages'];
  current: number;
}): ReactNode {
  return (
    <ol aria-label="Steps" className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      {stages.map(({ id, title, completed }, index) => {
        const isCurrent = index + 1 === current;
        return (
          <li
            key={id}
            aria-current={isCurrent ? 'step' : undefined}
            className={classNames(
              'flex min-w-0 items-center gap-3 border-t-4 pt-3',
              isCurrent ? 'border-accent' : 'border-line',
            )}
          >
            <span
              aria-hidden="true"
              className="grid size-8 shrink-0 place-items-center rounded-full border border-line-strong font-semibold"
            >
              {completed ? <Check size={16} className="text-ok" /> : index + 1}
            </span>
            <span className={classNames('min-w-0 wrap-anywhere', isCurrent && 'font-semibold')}>
              {title}
              <span className="sr-only">
                {completed ? ', done' : isCurrent ? ', current step' : ''}
              </span>
            </span>
          </li>
        );
      })}
    </ol>
  );
}
