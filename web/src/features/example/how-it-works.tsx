import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { LinkButton } from '#web/ui/form/button.tsx';
import { largeExample } from './example.tsx';

/** The recorded run in large, for everyone without a run of their own. */
export function HowItWorks({ signedIn }: { signedIn: boolean }): ReactNode {
  return (
    <div className="mx-auto max-w-page space-y-8 px-4 pt-8 sm:px-6 lg:pt-12">
      <div className="max-w-prose space-y-3">
        <h1 className="text-4xl">How it works</h1>
        <p className="text-lg text-ink-2">
          Seven models answer one question, review each other, and vote. This run was recorded with
          simulated models: they stand in for the named ones and give prepared answers. The count
          and the checks ran as they do for you. It plays faster than it ran.
        </p>
      </div>
      {largeExample}
      <div className="flex flex-wrap items-center gap-x-6 gap-y-3">
        {signedIn ? (
          <LinkButton to="/optimization" tone="primary">
            Ask your own question
          </LinkButton>
        ) : (
          <LinkButton to="/signup" tone="primary">
            Find Your First Opportunity $5
          </LinkButton>
        )}
        <Link to="/method" className="link inline-flex min-h-11 items-center">
          How we score agreement
        </Link>
      </div>
      {signedIn ? null : <p className="text-ink-3">No card needed. Signing up is free.</p>}
    </div>
  );
}
