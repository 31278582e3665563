import type { ReactNode } from 'react';
import { LinkButton } from '#web/ui/form/button.tsx';

/** The same page for a recipe that never existed, was deleted, or belongs to another user. */
export function NoSuchRecipe(): ReactNode {
  return (
    <div className="mx-auto max-w-page space-y-4 px-4 pt-8 sm:px-6">
      <h1 className="text-4xl">That page does not exist</h1>
      <p className="max-w-prose text-ink-2">
        There is no such recipe. The address may be mistyped, or the recipe was deleted.
      </p>
      <div className="flex flex-wrap gap-3">
        <LinkButton tone="primary" to="/recipes">
          All recipes
        </LinkButton>
        <LinkButton to="/recipes/new">New recipe</LinkButton>
      </div>
    </div>
  );
}
