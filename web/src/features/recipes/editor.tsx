import type { ReactNode } from 'react';
import { ChallengeType } from '#services/optimizations/contract/summary.ts';
import { optimizationLimits } from '#services/optimizations/contract/requests.ts';
import { type Recipe, recipeLimits, RecipeRequest } from '#services/recipes/contract.ts';
import { challengeTypeWords } from '#web/run/words.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { Button, LinkButton } from '#web/ui/form/button.tsx';
import { Card } from '#web/ui/card.tsx';
import { SelectField, TextArea, TextField } from '#web/ui/form/field.tsx';
import { useForm } from '#web/ui/form/form.ts';
import { creditsInWords } from '#services/platform/numbers.ts';
import { Notice } from '#web/ui/feedback/notice.tsx';
import type { StrategyPrices } from './words.ts';

export type Beginning = Omit<RecipeRequest, 'strategy'> & { strategy: Recipe['strategy'] | null };

export const emptyRecipe: Beginning = {
  title: '',
  category: 'business_strategy',
  summary: '',
  challenge: '',
  objectives: [],
  constraints: [],
  strategy: null,
};

const text = (data: FormData, name: string): string => {
  const value = data.get(name);
  return typeof value === 'string' ? value : '';
};
const lines = (data: FormData, name: string): string[] => text(data, name).split(/\r?\n/);

/** All fields of a recipe, with names in braces where the next question will differ. */
export function RecipeEditor({
  initial,
  prices,
  onSave,
}: {
  initial: Beginning;
  prices: StrategyPrices;
  onSave: (recipe: RecipeRequest) => Promise<void>;
}): ReactNode {
  const form = useForm({
    schema: RecipeRequest,
    read: (data) => ({
      title: text(data, 'title'),
      category: text(data, 'category'),
      summary: text(data, 'summary'),
      challenge: text(data, 'challenge'),
      objectives: lines(data, 'objectives'),
      constraints: lines(data, 'constraints'),
      strategy: text(data, 'strategy'),
    }),
    send: onSave,
  });
  const errorOf = (name: string): string | undefined =>
    form.errors[name] ??
    Object.entries(form.errors).find(([field]) => field.startsWith(`${name}.`))?.[1];
  return (
    <form {...form.props}>
      <Card aria-label="The recipe" className="max-w-prose space-y-6">
        <TextField
          label="Title"
          name="title"
          required
          defaultValue={initial.title}
          error={errorOf('title')}
        />
        <SelectField
          label="Category"
          name="category"
          defaultValue={initial.category}
          error={errorOf('category')}
        >
          {ChallengeType.options.map((type) => (
            <option key={type} value={type}>
              {challengeTypeWords[type]}
            </option>
          ))}
        </SelectField>
        <TextArea
          label="Summary"
          name="summary"
          rows={2}
          hint={`Optional. Shown in the list. Up to ${recipeLimits.summary} characters.`}
          defaultValue={initial.summary}
          error={errorOf('summary')}
        />
        <TextArea
          label="Challenge"
          name="challenge"
          required
          rows={6}
          hint={`Put anything that changes in braces, like {product}. Up to ${recipeLimits.placeholders} blanks.`}
          defaultValue={initial.challenge}
          error={errorOf('challenge')}
        />
        <TextArea
          label="Objectives"
          name="objectives"
          hint={`Optional. One per line, up to ${optimizationLimits.rows}.`}
          defaultValue={initial.objectives.join('\n')}
          error={errorOf('objectives')}
        />
        <TextArea
          label="Constraints"
          name="constraints"
          hint={`Optional. One per line, up to ${optimizationLimits.rows}.`}
          defaultValue={initial.constraints.join('\n')}
          error={errorOf('constraints')}
        />
        <SelectField
          // Its options arrive after the form does.
          key={prices === undefined ? 'waiting' : 'known'}
          label="Suggested strategy"
          name="strategy"
          defaultValue={initial.strategy ?? 'balanced'}
          error={errorOf('strategy')}
        >
          {(prices ?? []).map(({ id, name, credits }) => (
            <option key={id} value={id}>
              {name}, {creditsInWords(credits)}
            </option>
          ))}
        </SelectField>
        {form.failure === null ? null : (
          <Notice
            tone="bad"
            title="We couldn't save the recipe"
            announced={`We couldn't save the recipe. ${problemSentence(form.failure)}`}
          >
            {problemSentence(form.failure)}
          </Notice>
        )}
        <div className="flex flex-wrap gap-3">
          <Button type="submit" tone="primary" busy={form.busy} disabled={prices === undefined}>
            {form.busy ? 'Saving…' : 'Save recipe'}
          </Button>
          <LinkButton to="/recipes" search={{ tab: 'mine' }} tone="quiet">
            Cancel
          </LinkButton>
        </div>
      </Card>
    </form>
  );
}
