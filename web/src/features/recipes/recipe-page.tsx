import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { type Recipe } from '#services/recipes/contract.ts';
import { challengeTypeWords } from '#web/run/words.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { Button, LinkButton } from '#web/ui/form/button.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { undoMs } from '#web/ui/feedback/toasts.tsx';
import { Fill } from './fill.tsx';
import { createRecipe, deleteRecipe, recipeQuery, recipesKey } from './queries.ts';
import { Price } from './recipe-list.tsx';
import { type StrategyPrices, usesInWords } from './words.ts';

/** One recipe: its question, its aims, and the link to the form. */
export function RecipeDetails({
  recipe,
  userId,
  prices,
  onDeleted,
}: {
  recipe: Recipe;
  userId: string;
  prices: StrategyPrices;
  onDeleted: (recipe: Recipe) => void;
}): ReactNode {
  return (
    <article className="space-y-6">
      <div className="max-w-prose space-y-3">
        <h1 className="text-4xl break-words">{recipe.title}</h1>
        {recipe.summary === '' ? null : <p className="break-words text-ink-2">{recipe.summary}</p>}
        <p className="flex flex-wrap gap-x-3 text-sm text-ink-2">
          <span>{challengeTypeWords[recipe.category]}</span>
          <Price recipe={recipe} prices={prices} />
          <span>{usesInWords(recipe.times_used)}</span>
        </p>
        {recipe.strategy_reason === null ? null : (
          <p className="text-sm text-ink-2">{recipe.strategy_reason}</p>
        )}
      </div>
      <Fill key={recipe.id} recipe={recipe} userId={userId} />
      <div className="grid grid-cols-1 gap-6 lg:grid-cols-2">
        <Points title="Objectives" points={recipe.objectives} />
        <Points title="Constraints" points={recipe.constraints} />
      </div>
      <Actions recipe={recipe} onDeleted={onDeleted} />
    </article>
  );
}

function Points({ title, points }: { title: string; points: readonly string[] }): ReactNode {
  if (points.length === 0) return null;
  return (
    <section className="min-w-0 space-y-2">
      <h2 className="text-xl">{title}</h2>
      <ul className="list-disc space-y-1 ps-5">
        {points.map((point, index) => (
          // Texts may repeat, and their order never changes here.
          <li key={index} className="break-words">
            {point}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Actions({
  recipe,
  onDeleted,
}: {
  recipe: Recipe;
  onDeleted: (recipe: Recipe) => void;
}): ReactNode {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const remove = async (): Promise<void> => {
    setBusy(true);
    setFailure(null);
    try {
      await deleteRecipe(recipe.id);
      onDeleted(recipe);
      client.removeQueries({ queryKey: recipeQuery(recipe.id).queryKey });
      void client.invalidateQueries({ queryKey: recipesKey });
      announce('The recipe was deleted');
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  };
  return (
    <div className="space-y-4">
      <div className="flex flex-wrap gap-3">
        {recipe.owner === 'mine' ? (
          <LinkButton to="/recipes/$id/edit" params={{ id: recipe.id }}>
            Edit
          </LinkButton>
        ) : null}
        <LinkButton to="/recipes/new" search={{ from: recipe.id }}>
          {recipe.owner === 'mine' ? 'Duplicate' : 'Copy to my recipes'}
        </LinkButton>
        {recipe.owner === 'mine' ? (
          <Button tone="danger" busy={busy} onClick={() => void remove()}>
            Delete
          </Button>
        ) : null}
      </div>
      {failure === null ? null : (
        <Notice
          tone="bad"
          title="We couldn't delete the recipe"
          announced={`We couldn't delete the recipe. ${problemSentence(failure)}`}
        >
          {problemSentence(failure)}
        </Notice>
      )}
    </div>
  );
}

/** Replaces a deleted recipe, which can be restored for eight seconds. */
export function Deleted({
  recipe,
  onRestored,
}: {
  recipe: Recipe;
  onRestored: (recipe: Recipe) => void;
}): ReactNode {
  const client = useQueryClient();
  const [canUndo, setCanUndo] = useState(true);
  const [key] = useState(() => crypto.randomUUID());
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  useEffect(() => {
    const timer = setTimeout(() => setCanUndo(false), undoMs);
    return () => clearTimeout(timer);
  }, []);
  const undo = async (): Promise<void> => {
    setBusy(true);
    setFailure(null);
    const { title, category, summary, challenge, objectives, constraints, strategy } = recipe;
    try {
      const restored = await createRecipe(
        { title, category, summary, challenge, objectives, constraints, strategy },
        key,
      );
      void client.invalidateQueries({ queryKey: recipesKey });
      announce('Recipe restored');
      onRestored(restored);
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  };
  // A failed press may be repeated at any time.
  const isOffered = canUndo || busy || failure !== null;
  return (
    <div className="space-y-6">
      <h1 className="text-4xl">Recipe deleted</h1>
      <p className="break-words text-ink-2">“{recipe.title}” was deleted.</p>
      {failure === null ? null : (
        <Notice
          tone="bad"
          title="We couldn't restore the recipe"
          announced={`We couldn't restore the recipe. ${problemSentence(failure)}`}
        >
          {problemSentence(failure)}
        </Notice>
      )}
      <div className="flex flex-wrap gap-3">
        {isOffered ? (
          <Button tone="primary" busy={busy} onClick={() => void undo()}>
            Undo
          </Button>
        ) : null}
        <LinkButton to="/recipes" search={{ tab: 'mine' }}>
          My recipes
        </LinkButton>
      </div>
    </div>
  );
}
