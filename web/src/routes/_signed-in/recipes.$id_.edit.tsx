import { useQuery, useQueryClient } from '@tanstack/react-query';
import { createFileRoute } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { strategiesQuery } from '#web/features/optimize/queries.ts';
import { RecipeEditor } from '#web/features/recipes/editor.tsx';
import { NoSuchRecipe } from '#web/features/recipes/no-such-recipe.tsx';
import { changeRecipe, recipeQuery, recipesKey } from '#web/features/recipes/queries.ts';
import { isMissing, QueryBlock } from '#web/api/query-block.tsx';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';

export const Route = createFileRoute('/_signed-in/recipes/$id_/edit')({
  component: EditPage,
  staticData: { title: 'Edit recipe' },
});

function EditPage(): ReactNode {
  const { id } = Route.useParams();
  const client = useQueryClient();
  const navigate = Route.useNavigate();
  const recipe = useQuery({ ...recipeQuery(id), staleTime: Infinity });
  const strategies = useQuery(strategiesQuery());
  if (isMissing(recipe)) return <NoSuchRecipe />;
  return (
    <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6">
      <h1 className="text-4xl">Edit recipe</h1>
      <QueryBlock
        answer={recipe}
        label="Loading the recipe"
        failure="Failed to get recipe"
        safe="Your recipes are safe."
        skeleton={<Skeleton className="h-96" />}
      >
        {(data) => (
          <RecipeEditor
            initial={data}
            prices={strategies.data}
            onSave={async (request) => {
              const saved = await changeRecipe(id, request);
              client.setQueryData(recipeQuery(id).queryKey, saved);
              void client.invalidateQueries({ queryKey: recipesKey });
              await navigate({ to: '/recipes/$id', params: { id } });
            }}
          />
        )}
      </QueryBlock>
    </div>
  );
}
