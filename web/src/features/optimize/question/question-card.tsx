import type { ReactNode } from 'react';
import { optimizationLimits } from '#services/optimizations/contract/requests.ts';
import { fieldError, rowErrors } from '#web/features/optimize/form-state.ts';
import { Card } from '#web/ui/card.tsx';
import { Counter } from '#web/ui/form/counter.tsx';
import { GrowingField } from '#web/ui/form/field.tsx';
import { checkFields, type Fields } from './fields.ts';
import { RowsField } from './rows-field.tsx';
import { TypeField } from './type-field.tsx';

/** Everything that is asked about the question, on one card. */
export function QuestionCard({
  fields,
  onChange,
  children,
}: {
  fields: Fields;
  onChange: (part: Partial<Fields>) => void;
  /** Shown below the fields. */
  children: ReactNode;
}): ReactNode {
  const checked = checkFields(fields);
  const errors = checked.ok ? null : checked.errors;
  return (
    <Card aria-label="Your question" className="space-y-5">
      <GrowingField
        label="What business challenge are you facing?"
        name="challenge"
        required
        rows={3}
        value={fields.challenge}
        onChange={(event) => onChange({ challenge: event.currentTarget.value })}
        error={fieldError(checked, 'challenge', fields.challenge)}
        aside={<Counter text={fields.challenge} limit={optimizationLimits.challenge} />}
      />
      <TypeField fields={fields} onChange={onChange} />
      <GrowingField
        label="Context"
        name="context"
        hint="Optional. Numbers, history, what you've tried."
        rows={2}
        value={fields.context}
        onChange={(event) => onChange({ context: event.currentTarget.value })}
        error={fieldError(checked, 'context', fields.context)}
        aside={<Counter text={fields.context} limit={optimizationLimits.context} />}
      />
      <RowsField
        legend="Objectives"
        rowName="Objective"
        hint="What does a good outcome look like? Press Enter to add a row, or paste several lines."
        rows={fields.objectives}
        onChange={(objectives) => onChange({ objectives })}
        errors={rowErrors(fields.objectives, 'objectives', checked)}
        error={errors?.get('objectives')}
      />
      <RowsField
        legend="Constraints"
        rowName="Constraint"
        hint="What must not happen? What do you have to work with?"
        rows={fields.constraints}
        onChange={(constraints) => onChange({ constraints })}
        errors={rowErrors(fields.constraints, 'constraints', checked)}
        error={errors?.get('constraints')}
      />
      {children}
    </Card>
  );
}
