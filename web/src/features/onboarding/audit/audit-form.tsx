import { type ReactNode, useState } from 'react';
import {
  aiSubscriptions,
  businessTypes,
  competitivePressures,
  hoursPerLostDeal,
  revenueLevels,
} from '#services/onboarding/audit.ts';
import type { AuditData } from '#services/onboarding/contract.ts';
import { Card } from '#web/ui/card.tsx';
import { Checkbox, SelectField, TextField } from '#web/ui/form/field.tsx';
import { countedAs, type NumberField, subscriptionsPerMonth } from './numbers.ts';
import { dollars, pressureQuestion } from '#web/features/onboarding/words.ts';

type Props = { audit: AuditData; onChange: (part: Partial<AuditData>) => void };

/** The questions of stage 1. */
export function AuditForm({ audit, onChange }: Props): ReactNode {
  const listed = subscriptionsPerMonth(audit.aiSubscriptions);
  return (
    <Card className="space-y-6">
      <fieldset className="space-y-1">
        <legend className="font-medium">AI subscriptions you pay for</legend>
        <div className="grid grid-cols-1 gap-x-6 sm:grid-cols-2 lg:grid-cols-3">
          {aiSubscriptions.map((label) => (
            <Checkbox
              key={label}
              name="aiSubscriptions"
              value={label}
              label={<span className="wrap-anywhere">{label}</span>}
              checked={audit.aiSubscriptions.includes(label)}
              onChange={(event) =>
                onChange({
                  aiSubscriptions: aiSubscriptions.filter((one) =>
                    one === label
                      ? event.currentTarget.checked
                      : audit.aiSubscriptions.includes(one),
                  ),
                })
              }
            />
          ))}
        </div>
      </fieldset>
      <div className="grid grid-cols-1 gap-6 sm:grid-cols-2">
        <NumberInput
          field="monthlySpend"
          label="Spend on AI tools, dollars a month"
          hint={
            listed > 0
              ? `Empty or 0 counts as the ${dollars(listed)} of the subscriptions above.`
              : 'Empty counts as 0.'
          }
          value={audit.monthlySpend}
          onChange={onChange}
        />
        <NumberInput
          field="orchestrationHours"
          label="Hours a week between AI tools"
          hint="Copying prompts, comparing answers, merging results by hand."
          value={audit.orchestrationHours}
          required
          onChange={onChange}
        />
        <Choice
          field="revenueLevel"
          label="Yearly revenue"
          hint="Sets what an hour is worth, and which challenges the onboarding shows."
          options={Object.entries(revenueLevels).map(([id, { label }]) => [id, label])}
          required
          {...{ audit, onChange }}
        />
        <Choice
          field="businessType"
          label="Type of business"
          hint="Decides which challenges the onboarding shows."
          options={Object.entries(businessTypes)}
          {...{ audit, onChange }}
        />
        <Choice
          field="competitivePressure"
          label={pressureQuestion}
          hint="Changes no estimate. It's a fact for the real run in step 3 of the onboarding."
          options={Object.entries(competitivePressures)}
          {...{ audit, onChange }}
        />
        <NumberInput
          field="lostDeals"
          label="Deals lost a year for lack of time"
          hint={`Leave it empty and we assume 1 for every ${hoursPerLostDeal} hours a year. 0 means none.`}
          value={audit.lostDeals}
          onChange={onChange}
        />
      </div>
    </Card>
  );
}

/** Text while it is typed; what it counts as is what is kept. */
function NumberInput({
  field,
  label,
  hint,
  value,
  required,
  onChange,
}: {
  field: NumberField;
  label: string;
  hint: string;
  value: number | null;
  required?: boolean;
  onChange: (part: Partial<AuditData>) => void;
}): ReactNode {
  const [text, setText] = useState(value === countedAs(field, '').value ? '' : String(value));
  const { hint: counted } = countedAs(field, text);
  return (
    <TextField
      name={field}
      label={label}
      inputMode="numeric"
      autoComplete="off"
      required={required}
      value={text}
      hint={counted === null ? hint : <span className="font-medium text-warn">{counted}</span>}
      onChange={(event) => {
        setText(event.currentTarget.value);
        onChange({ [field]: countedAs(field, event.currentTarget.value).value });
      }}
    />
  );
}

function Choice({
  field,
  options,
  audit,
  onChange,
  ...shown
}: Props & {
  field: 'revenueLevel' | 'businessType' | 'competitivePressure';
  label: string;
  hint: string;
  /** Each with its id in the audit. */
  options: readonly (readonly [id: string, label: string])[];
  required?: boolean;
}): ReactNode {
  return (
    <SelectField
      name={field}
      {...shown}
      value={audit[field] ?? ''}
      onChange={({ target: { value } }) => onChange({ [field]: value || null })}
    >
      <option value="">Choose</option>
      {options.map(([id, words]) => (
        <option key={id} value={id}>
          {words}
        </option>
      ))}
    </SelectField>
  );
}
