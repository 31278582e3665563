import { type ReactNode, useState } from 'react';
import { figure } from '#services/platform/numbers.ts';
import { optimizationLimits } from '#services/optimizations/contract/requests.ts';
import { filledChallenge, placeholdersOf, type Recipe } from '#services/recipes/contract.ts';
import { Card } from '#web/ui/card.tsx';
import { LinkButton } from '#web/ui/form/button.tsx';
import { TextField } from '#web/ui/form/field.tsx';
import { type GapValues, readGaps, writeGaps } from './gaps.ts';

/** The gaps of a recipe as fields, beside the resulting question. */
export function Fill({ recipe, userId }: { recipe: Recipe; userId: string }): ReactNode {
  const [values, setValues] = useState<GapValues>(() => readGaps(userId, recipe.id));
  const names = placeholdersOf(recipe.challenge);
  const open = names.filter((name) => (values.get(name)?.trim() ?? '') === '');
  const challenge = filledChallenge(recipe.challenge, values);
  const isTooLong = challenge.length > optimizationLimits.challenge;
  const change = (name: string, value: string): void => {
    const next = new Map(values).set(name, value);
    setValues(next);
    writeGaps(userId, recipe.id, next);
  };
  return (
    <div className="grid grid-cols-1 items-start gap-6 lg:grid-cols-2">
      {names.length === 0 ? null : (
        <Card aria-labelledby="gaps" className="min-w-0 space-y-4">
          <h2 id="gaps" className="text-2xl">
            Your details
          </h2>
          {names.map((name, index) => (
            <TextField
              key={name}
              label={name.charAt(0).toUpperCase() + name.slice(1)}
              name={`gap-${index}`}
              autoComplete="off"
              value={values.get(name) ?? ''}
              onChange={(event) => change(name, event.currentTarget.value)}
            />
          ))}
        </Card>
      )}
      <Card aria-labelledby="preview" className="min-w-0 space-y-4">
        <h2 id="preview" className="text-2xl">
          Your question
        </h2>
        <p className="break-words whitespace-pre-wrap">{challenge}</p>
        {recipe.challenge === '' || isTooLong ? null : (
          <LinkButton to="/optimization" search={{ recipe: recipe.id }} tone="primary">
            Use recipe
          </LinkButton>
        )}
        <p className="text-sm text-ink-2">{noteOf(open.length, isTooLong)}</p>
      </Card>
    </div>
  );
}

function noteOf(open: number, isTooLong: boolean): string {
  if (isTooLong)
    return `Your question is over ${figure(optimizationLimits.challenge)} characters. Shorten your details.`;
  const rest = open === 0 ? '' : open === 1 ? 'One blank left. ' : `${open} blanks left. `;
  return `${rest}You can edit everything in the form. Nothing starts until you say so.`;
}
