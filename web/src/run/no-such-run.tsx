import type { ReactNode } from 'react';
import { LinkButton } from '#web/ui/form/button.tsx';
import { NotFound } from '#web/ui/feedback/not-found.tsx';

/** The same page for a run that never existed, was deleted, or belongs to another user. */
export function NoSuchRun(): ReactNode {
  return (
    <NotFound
      sentence="We can't find that run. The address may be mistyped, or the run was deleted."
      actions={
        <>
          <LinkButton tone="primary" to="/dashboard">
            Dashboard
          </LinkButton>
          <LinkButton to="/optimization">New Optimization</LinkButton>
        </>
      }
    />
  );
}
