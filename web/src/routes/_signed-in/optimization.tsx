import { useQuery, useQueryClient } from '@tanstack/react-query';
import { createFileRoute } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import * as v from 'valibot';
import { factLines } from '#services/onboarding/challenge-list.ts';
import { challengeOf } from '#services/onboarding/challenges.ts';
import type { Onboarding } from '#services/onboarding/contract.ts';
import { IdText } from '#services/platform/contract.ts';
import { filledChallenge, type Recipe } from '#services/recipes/contract.ts';
import { balanceQuery } from '#web/features/credits/queries.ts';
import { onSessionEnd, useSession } from '#web/features/identity/sessions/session.ts';
import { onboardingQuery } from '#web/features/onboarding/calls.ts';
import { questionOf } from '#web/features/onboarding/words.ts';
import { type Draft, draftToText, readDraft } from '#web/features/optimize/question/draft.ts';
import {
  emptyFields,
  type Fields,
  fieldsOfRun,
  hasText,
} from '#web/features/optimize/question/fields.ts';
import { OptimizationForm } from '#web/features/optimize/form.tsx';
import { rowsOf } from '#web/features/optimize/question/rows.ts';
import { readGaps } from '#web/features/recipes/gaps.ts';
import { recipeQuery } from '#web/features/recipes/queries.ts';
import { runQuery, runsKey } from '#web/features/runs/queries.ts';
import { isLocalMode } from '#web/app/local-mode.ts';
import { QueryBlock } from '#web/api/query-block.tsx';
import { LinkButton } from '#web/ui/form/button.tsx';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';

const text = (schema: v.GenericSchema<unknown, string>) =>
  v.fallback(v.optional(schema), undefined);

const Search = v.object({
  /** The run to ask again or to change. */
  from: text(IdText('opt')),
  recipe: text(IdText('rec')),
  /** A challenge to start with. A number in the address is text here. */
  challenge: text(
    v.pipe(v.union([v.string(), v.number()]), v.transform(String), v.trim(), v.nonEmpty()),
  ),
});

export const Route = createFileRoute('/_signed-in/optimization')({
  validateSearch: Search,
  component: OptimizationPage,
  staticData: { title: 'Business Optimization' },
});

function OptimizationPage(): ReactNode {
  const session = useSession();
  const { from, recipe, challenge } = Route.useSearch();
  if (!('user' in session)) return null;
  const userId = session.user.id;
  return (
    <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6">
      <div className="max-w-prose space-y-3">
        <h1 className="text-4xl">Business Optimization</h1>
        <p className="text-ink-2">
          Ask seven or more models one business question. They answer independently and review each
          other blind. You get one recommendation that shows where they agree and where they don't.
        </p>
      </div>
      {from !== undefined ? (
        <CopiedForm key={`${userId} ${from}`} userId={userId} from={from} />
      ) : recipe !== undefined ? (
        <RecipeForm key={`${userId} ${recipe}`} userId={userId} recipe={recipe} />
      ) : challenge !== undefined && challengeOf(challenge) !== undefined ? (
        <OnboardingForm key={`${userId} ${challenge}`} userId={userId} id={challenge} />
      ) : (
        <Form
          key={`${userId} ${challenge ?? ''}`}
          userId={userId}
          prefilled={
            challenge === undefined
              ? null
              : { fields: { ...emptyFields, challenge }, attempt: null }
          }
        />
      )}
    </div>
  );
}

/** The form with the fields of an earlier run, once it is loaded. */
function CopiedForm({ userId, from }: { userId: string; from: string }): ReactNode {
  const run = useQuery({ ...runQuery(from), staleTime: Infinity });
  return (
    <>
      <QueryBlock
        answer={run}
        label="Loading the run to ask again"
        failure="We couldn't load the run you're copying"
        safe="Nothing was started."
        skeleton={<Skeleton className="h-96" />}
      >
        {(data) => (
          <Form userId={userId} prefilled={{ fields: fieldsOfRun(data), attempt: null }} />
        )}
      </QueryBlock>
      {run.isError && run.data === undefined ? (
        <LinkButton to="/optimization">Start with an empty form</LinkButton>
      ) : null}
    </>
  );
}

/** The form filled in from a recipe and its gaps. */
function RecipeForm({ userId, recipe: id }: { userId: string; recipe: string }): ReactNode {
  const recipe = useQuery({ ...recipeQuery(id), staleTime: Infinity });
  return (
    <>
      <QueryBlock
        answer={recipe}
        label="Loading the recipe"
        failure="We couldn't load that recipe"
        safe="Nothing was started."
        skeleton={<Skeleton className="h-96" />}
      >
        {(data) => (
          <Form
            userId={userId}
            prefilled={{ fields: fieldsOfRecipe(userId, data), attempt: null }}
          />
        )}
      </QueryBlock>
      {recipe.isError && recipe.data === undefined ? (
        <LinkButton to="/optimization">Start with an empty form</LinkButton>
      ) : null}
    </>
  );
}

function fieldsOfRecipe(userId: string, recipe: Recipe): Fields {
  return {
    ...emptyFields,
    challenge: filledChallenge(recipe.challenge, readGaps(userId, recipe.id)),
    objectives: rowsOf(recipe.objectives),
    constraints: rowsOf(recipe.constraints),
    chosenType: recipe.category,
    strategy: recipe.strategy,
    recipe: recipe.id,
  };
}

/** The form with a challenge of the onboarding, as the user left it there. */
function OnboardingForm({ userId, id }: { userId: string; id: string }): ReactNode {
  const onboarding = useQuery(onboardingQuery);
  if (onboarding.isPending) return <Skeleton className="h-96" />;
  const fields = fieldsOfChallenge(id, onboarding.data);
  return <Form userId={userId} prefilled={{ fields, attempt: null }} />;
}

/** Without the answers of the onboarding it is the challenge's own question. */
function fieldsOfChallenge(id: string, answers: Onboarding | undefined): Fields {
  const challenge = challengeOf(id);
  if (challenge === undefined) return emptyFields;
  const { template } = challenge;
  const edited = answers?.selectedChallenge === id ? answers.question : null;
  return {
    ...emptyFields,
    ...(edited ??
      (answers === undefined
        ? { challenge: template.challenge, context: factLines(template) }
        : questionOf(challenge, answers.auditData))),
    objectives: rowsOf(template.objectives),
    constraints: rowsOf(template.constraints),
    chosenType: template.challengeType,
  };
}

function Form({ userId, prefilled }: { userId: string; prefilled: Draft | null }): ReactNode {
  const client = useQueryClient();
  const navigate = Route.useNavigate();
  const balance = useQuery(balanceQuery);
  const [{ initial, earlier }] = useState(() => begin(userId, prefilled));
  return (
    <OptimizationForm
      userId={userId}
      onSessionEnd={onSessionEnd}
      initial={initial}
      earlier={earlier}
      balance={balance.data}
      isLocal={isLocalMode()}
      onStarted={(id) => {
        void client.invalidateQueries({ queryKey: runsKey });
        void client.invalidateQueries({ queryKey: balanceQuery.queryKey });
        void navigate({ to: '/evolution-chamber', search: { id } });
      }}
    />
  );
}

/** What the form starts with. A draft that this replaces is offered beside it. */
function begin(userId: string, prefilled: Draft | null): { initial: Draft; earlier: Draft | null } {
  const kept = readDraft(userId);
  if (!prefilled) return { initial: kept ?? { fields: emptyFields, attempt: null }, earlier: null };
  const isOther =
    kept !== null && hasText(kept.fields) && draftToText(kept) !== draftToText(prefilled);
  return { initial: prefilled, earlier: isOther ? kept : null };
}
