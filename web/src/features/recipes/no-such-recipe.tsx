import type { ReactNode } from 'react';
import { LinkButton } from '#web/ui/form/button.tsx';
import { NotFound } from '#web/ui/feedback/not-found.tsx';

/** The same page for a recipe that never existed, was deleted, or belongs to another user. */
export function NoSuchRecipe(): ReactNode {
  return (
    <NotFound
      sentence="We can't find that recipe. The address may be mistyped, or the recipe was deleted."
      actions={
        <>
          <LinkButton tone="primary" to="/recipes">
            All recipes
          </LinkButton>
          <LinkButton to="/recipes/new">New recipe</LinkButton>
        </>
      }
    />
  );
}
