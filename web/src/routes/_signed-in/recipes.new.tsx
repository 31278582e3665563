import { useQuery, useQueryClient } from '@tanstack/react-query';
import { createFileRoute } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import * as v from 'valibot';
import { recipeLimits } from '#services/recipes/contract.ts';
import { strategiesQuery } from '#web/features/optimize/queries.ts';
import { type Beginning, emptyRecipe, RecipeEditor } from '#web/features/recipes/editor.tsx';
import { createRecipe, recipeQuery, recipesKey } from '#web/features/recipes/queries.ts';
import { runQuery } from '#web/features/runs/queries.ts';
import { isMissing, QueryBlock } from '#web/api/query-block.tsx';
import { Text } from '#web/app/search-params.ts';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';

const Search = v.object({
  from: Text,
  /** The run whose question becomes a recipe. */
  run: Text,
});

export const Route = createFileRoute('/_signed-in/recipes/new')({
  validateSearch: Search,
  component: NewPage,
  staticData: { title: 'New recipe' },
});

function NewPage(): ReactNode {
  const { from, run } = Route.useSearch();
  return (
    <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6">
      <h1 className="text-4xl">New recipe</h1>
      {from !== undefined ? (
        <OfRecipe key={from} from={from} />
      ) : run !== undefined ? (
        <OfRun key={run} run={run} />
      ) : (
        <Editor initial={emptyRecipe} />
      )}
    </div>
  );
}

function OfRecipe({ from }: { from: string }): ReactNode {
  const recipe = useQuery({ ...recipeQuery(from), staleTime: Infinity });
  if (isMissing(recipe)) return <Gone what="recipe" />;
  return (
    <QueryBlock
      answer={recipe}
      label="Loading the recipe to copy"
      failure="We couldn't load the recipe you're copying"
      skeleton={<Skeleton className="h-96" />}
    >
      {(data) => (
        <Editor initial={{ ...data, title: `${data.title} (copy)`.slice(0, recipeLimits.title) }} />
      )}
    </QueryBlock>
  );
}

function OfRun({ run }: { run: string }): ReactNode {
  const answer = useQuery({ ...runQuery(run), staleTime: Infinity });
  if (isMissing(answer)) return <Gone what="run" />;
  return (
    <QueryBlock
      answer={answer}
      label="Loading the question"
      failure="The run could not be loaded"
      skeleton={<Skeleton className="h-96" />}
    >
      {({ title, challenge, objectives, constraints, challenge_type: category, strategy }) => (
        <Editor
          initial={{
            title: title.slice(0, recipeLimits.title),
            category,
            summary: '',
            challenge,
            objectives,
            constraints,
            strategy,
          }}
        />
      )}
    </QueryBlock>
  );
}

/** The source may have been deleted; an empty recipe can still be written. */
function Gone({ what }: { what: 'recipe' | 'run' }): ReactNode {
  return (
    <>
      <p className="text-ink-2">We couldn't find the {what} to copy, so this one starts empty.</p>
      <Editor initial={emptyRecipe} />
    </>
  );
}

function Editor({ initial }: { initial: Beginning }): ReactNode {
  const client = useQueryClient();
  const navigate = Route.useNavigate();
  const strategies = useQuery(strategiesQuery());
  // One recipe per visit, however often its reply is lost.
  const [kept, setKept] = useState<{ text: string; key: string } | null>(null);
  return (
    <RecipeEditor
      initial={initial}
      prices={strategies.data}
      onSave={async (request) => {
        const text = JSON.stringify(request);
        const key = kept?.text === text ? kept.key : crypto.randomUUID();
        setKept({ text, key });
        const made = await createRecipe(request, key);
        void client.invalidateQueries({ queryKey: recipesKey });
        await navigate({ to: '/recipes/$id', params: { id: made.id } });
      }}
    />
  );
}
