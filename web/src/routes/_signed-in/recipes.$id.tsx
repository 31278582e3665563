import { useQuery } from '@tanstack/react-query';
import { createFileRoute, Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { Recipe } from '#services/recipes/contract.ts';
import { useSession } from '#web/features/identity/sessions/session.ts';
import { strategiesQuery } from '#web/features/optimize/queries.ts';
import { NoSuchRecipe } from '#web/features/recipes/no-such-recipe.tsx';
import { recipeQuery } from '#web/features/recipes/queries.ts';
import { Deleted, RecipeDetails } from '#web/features/recipes/recipe-page.tsx';
import { isMissing, QueryBlock } from '#web/api/query-block.tsx';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';

export const Route = createFileRoute('/_signed-in/recipes/$id')({
  component: RecipePage,
  staticData: { title: 'Recipe' },
});

function RecipePage(): ReactNode {
  const { id } = Route.useParams();
  return <Page key={id} id={id} />;
}

function Page({ id }: { id: string }): ReactNode {
  const session = useSession();
  const navigate = Route.useNavigate();
  const [deleted, setDeleted] = useState<Recipe | null>(null);
  const recipe = useQuery({ ...recipeQuery(id), enabled: deleted === null });
  const strategies = useQuery(strategiesQuery());
  if (!('user' in session)) return null;
  if (deleted)
    return (
      <Framed>
        <Deleted
          recipe={deleted}
          onRestored={(restored) =>
            void navigate({ to: '/recipes/$id', params: { id: restored.id }, replace: true })
          }
        />
      </Framed>
    );
  if (isMissing(recipe)) return <NoSuchRecipe />;
  return (
    <Framed>
      {recipe.data === undefined ? <h1 className="text-4xl">Recipe</h1> : null}
      <QueryBlock
        answer={recipe}
        label="Loading the recipe"
        failure="Failed to get recipe"
        safe="Your recipes are safe."
        skeleton={<Skeleton className="h-96" />}
      >
        {(data) => (
          <RecipeDetails
            recipe={data}
            userId={session.user.id}
            prices={strategies.data}
            onDeleted={setDeleted}
          />
        )}
      </QueryBlock>
    </Framed>
  );
}

function Framed({ children }: { children: ReactNode }): ReactNode {
  return (
    <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6">
      <p>
        <Link to="/recipes" className="link inline-flex min-h-11 items-center">
          All recipes
        </Link>
      </p>
      {children}
    </div>
  );
}
