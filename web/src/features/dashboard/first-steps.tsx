import { Link } from '@tanstack/react-router';
import { Check } from 'lucide-react';
import type { ReactNode } from 'react';
import { LinkButton } from '#web/ui/form/button.tsx';

/** Example questions; the form is filled with the chosen one. */
const exampleQuestions: readonly string[] = [
  'Should I turn my consulting work into a fixed-price package, and what should it contain?',
  'Which one marketing channel should a two-person software company try for the next quarter?',
  'Should we hire a first salesperson now, or keep selling on our own for another six months?',
];

/** For a user without any run. */
export function FirstSteps({ hasCredits }: { hasCredits: boolean }): ReactNode {
  return (
    <div className="space-y-6">
      <ol className="space-y-4">
        <Step done={hasCredits} number={1} title="Get credits">
          {hasCredits ? (
            'You have credits to start with.'
          ) : (
            <LinkButton to="/credits/purchase">Get credits</LinkButton>
          )}
        </Step>
        <Step done={false} number={2} title="Ask your first question">
          <LinkButton to="/optimization" tone="primary">
            New Optimization
          </LinkButton>
        </Step>
        <Step done={false} number={3} title="Watch the models answer, and read what they recommend">
          Takes a few minutes.
        </Step>
      </ol>
      <p>
        <Link
          to="/onboarding/$view"
          params={{ view: 'singularity' }}
          className="link inline-flex min-h-11 items-center"
        >
          Take the onboarding: estimate what work between AI tools costs you
        </Link>
      </p>
      <div className="space-y-2">
        <p className="font-medium">Or try one of these:</p>
        <ul className="space-y-1">
          {exampleQuestions.map((challenge) => (
            <li key={challenge}>
              <Link
                to="/optimization"
                search={{ challenge }}
                className="link inline-flex min-h-11 items-center"
              >
                {challenge}
              </Link>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

function Step({
  number,
  title,
  done,
  children,
}: {
  number: number;
  title: string;
  done: boolean;
  children: ReactNode;
}): ReactNode {
  return (
    <li className="flex gap-4">
      <span
        aria-hidden="true"
        className="grid size-8 shrink-0 place-items-center rounded-full border border-line-strong font-semibold"
      >
        {done ? <Check size={16} className="text-ok" /> : number}
      </span>
      <div className="min-w-0 space-y-2">
        <p className="pt-1 font-medium">
          {title}
          {done ? <span className="text-ok"> · done</span> : null}
        </p>
        <div className="text-ink-2">{children}</div>
      </div>
    </li>
  );
}
