import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { LinkButton } from '#web/ui/form/button.tsx';
import { Card } from '#web/ui/card.tsx';
import { Method } from './method.tsx';
import { Pricing } from './pricing.tsx';
import { Strands } from './strands.tsx';

const phases = [
  {
    name: 'Parallel Generation',
    fact: 'Seven to twelve models answer at the same time. None of them sees another answer.',
  },
  {
    name: 'Cross-Evaluation',
    fact: 'They review each other without names, each in an order of its own. No model reviews itself.',
  },
  {
    name: 'Bias Detection',
    fact: 'Whether a reviewer is milder than the rest, or favours what it read first, is measured.',
  },
  {
    name: 'Synthesis',
    fact: 'One recommendation. A draft that leaves out a disagreement is sent back by a check in code.',
  },
] as const;

/** `notice` comes first, for an address without a page. */
export function Home({ signedIn, notice }: { signedIn: boolean; notice?: ReactNode }): ReactNode {
  return (
    <div className="mx-auto max-w-page space-y-24 px-4 pt-8 sm:px-6 lg:pt-16">
      {notice}
      <section className="grid grid-cols-1 items-center gap-x-6 gap-y-12 lg:grid-cols-12">
        <div className="space-y-6 lg:col-span-7">
          <div className="space-y-3">
            <p className="font-medium text-accent">Seven or more models, one accountable answer</p>
            <h1 className="text-5xl">Ask a business question. Watch seven AIs argue it out.</h1>
          </div>
          <p className="max-w-prose text-lg text-ink-2">
            Describe the decision in front of you. Independent models answer it, review each other
            and agree on what to do next, or do not. You see who agreed, who did not, and what it
            cost.
          </p>
          <HeroActions signedIn={signedIn} />
        </div>
        <div className="max-w-form lg:col-span-5 lg:max-w-none">
          <Strands />
        </div>
      </section>

      <section aria-labelledby="features" className="space-y-8">
        <h2 id="features" className="text-4xl">
          Four phases, in the open
        </h2>
        <ol className="grid grid-cols-1 gap-px overflow-hidden rounded-card border border-line bg-line sm:grid-cols-2 lg:grid-cols-4">
          {phases.map(({ name, fact }) => (
            <li key={name} className="space-y-2 bg-surface p-6">
              <h3 className="font-serif text-xl font-medium">{name}</h3>
              <p className="text-ink-2">{fact}</p>
            </li>
          ))}
        </ol>
      </section>

      <Proof />
      <Method />
      <Pricing signedIn={signedIn} />

      {signedIn ? null : (
        <section className="rounded-card border border-line bg-surface px-6 py-12 text-center">
          <div className="mx-auto flex max-w-prose flex-col items-center gap-6">
            <h2 className="text-4xl">What are you deciding this week?</h2>
            <LinkButton to="/signup" tone="primary">
              Find Your First Opportunity $5
            </LinkButton>
            <p className="text-ink-2">No card now. Signing up charges nothing.</p>
          </div>
        </section>
      )}
    </div>
  );
}

function HeroActions({ signedIn }: { signedIn: boolean }): ReactNode {
  return (
    <div className="space-y-3">
      <div className="flex flex-wrap gap-3">
        {signedIn ? (
          <>
            <LinkButton to="/dashboard" tone="primary">
              Open Opportunity Discovery Chamber
            </LinkButton>
            <LinkButton to="/" hash="features">
              See How It Works
            </LinkButton>
          </>
        ) : (
          <>
            <LinkButton to="/signup" tone="primary">
              Find Your First Opportunity $5
            </LinkButton>
            <LinkButton to="/login">Watch 7 AIs Battle-Test Live</LinkButton>
          </>
        )}
      </div>
      <p className="text-ink-3">
        10 credits for $5, and they never expire. Signing up is free; you pay when you buy.
      </p>
    </div>
  );
}

/** Three claims that a reader can check, each with the place to check it. */
function Proof(): ReactNode {
  return (
    <section aria-labelledby="proof" className="space-y-8">
      <h2 id="proof" className="text-4xl">
        Instant Expertise Proven
      </h2>
      <ul className="grid grid-cols-1 gap-4 lg:grid-cols-3 lg:gap-6">
        <Statement
          words="The agreement score is arithmetic, and you can do it by hand."
          basis={
            <Link to="/" hash="method" className="link">
              The formula, with worked examples
            </Link>
          }
        />
        <Statement
          words="A claim counts only with a quote that stands word for word in a model's answer."
          basis={
            <Link to="/" hash="quotes" className="link">
              How quotes are checked
            </Link>
          }
        />
        <Statement
          words="When a run fails, half of its price is back on your account without asking."
          basis={
            <Link to="/terms" hash="failed-runs" className="link">
              The rule in our terms
            </Link>
          }
        />
      </ul>
    </section>
  );
}

function Statement({ words, basis }: { words: string; basis: ReactNode }): ReactNode {
  return (
    <li>
      <Card className="flex h-full flex-col justify-between gap-4">
        <p className="flex gap-3 text-lg">
          <svg
            viewBox="0 0 20 20"
            width="20"
            height="20"
            className="mt-1 shrink-0 text-accent"
            aria-hidden="true"
          >
            <path
              d="m3 10.5 4.5 4.5L17 5.5"
              fill="none"
              stroke="currentColor"
              strokeWidth="2"
              strokeLinecap="round"
            />
          </svg>
          {words}
        </p>
        <p>{basis}</p>
      </Card>
    </li>
  );
}
