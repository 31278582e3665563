import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { LinkButton } from '#web/ui/form/button.tsx';
import { phases } from '#web/run/drawing/phases.ts';
import { Card } from '#web/ui/card.tsx';
import { Method } from './method.tsx';
import { Pricing } from './pricing.tsx';

/** `notice` comes first, for an address without a page; `example` is the recorded run. */
export function Home({
  signedIn,
  example,
  notice,
}: {
  signedIn: boolean;
  example: ReactNode;
  notice?: ReactNode;
}): ReactNode {
  return (
    <div className="mx-auto max-w-page space-y-24 px-4 pt-8 sm:px-6 lg:pt-16">
      {notice}
      <section className="grid grid-cols-1 items-start gap-x-12 gap-y-12 lg:grid-cols-2">
        <div className="space-y-6 lg:pt-10">
          <div className="space-y-3">
            <p className="font-medium text-accent">Seven or more models, one accountable answer</p>
            <h1 className="text-5xl">Ask a business question. Watch seven AIs argue it out.</h1>
          </div>
          <p className="max-w-prose text-lg text-ink-2">
            Describe the decision in front of you. Independent models answer it, review each other,
            and either agree on what to do next or don't. You see who agreed, who didn't, and what
            it cost.
          </p>
          <HeroActions signedIn={signedIn} />
        </div>
        <div className="min-w-0">{example}</div>
      </section>

      <section aria-labelledby="features" className="space-y-8">
        <h2 id="features" className="text-4xl">
          Four phases, nothing hidden
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
            <p className="text-ink-2">No card needed. Signing up is free.</p>
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
            <LinkButton to="/how-it-works">See How It Works</LinkButton>
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
        10 credits for $5, and they never expire. Signing up is free. You pay only when you buy.
      </p>
    </div>
  );
}

const claims = import.meta.env.CLAIMS ?? [];

/** Three claims that a reader can check, each with the place to check it. */
function Proof(): ReactNode {
  return (
    <section aria-labelledby="proof" className="space-y-8">
      <h2 id="proof" className="text-4xl">
        Instant Expertise Proven
      </h2>
      {claims.map((claim) => (
        <p key={claim} className="text-lg">
          {claim}
        </p>
      ))}
      <ul className="grid grid-cols-1 gap-4 lg:grid-cols-3 lg:gap-6">
        <Statement
          words="The agreement score is plain arithmetic. You can check it by hand."
          basis={
            <Link to="/" hash="method" className="link">
              The formula, with worked examples
            </Link>
          }
        />
        <Statement
          words="A claim counts only if its quote appears word for word in a model's answer."
          basis={
            <Link to="/" hash="quotes" className="link">
              How quotes are checked
            </Link>
          }
        />
        <Statement
          words="When a run fails, half its price is back in your balance. You don't have to ask."
          basis={
            <Link to="/terms" hash="failed-runs" className="link">
              Read the rule in our terms
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
