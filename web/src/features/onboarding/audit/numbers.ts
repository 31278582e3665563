import { auditLimits } from '#services/onboarding/audit.ts';
import type { AuditData } from '#services/onboarding/contract.ts';
import { figure } from '#services/platform/numbers.ts';

export type NumberField = 'monthlySpend' | 'orchestrationHours' | 'lostDeals';

const most: Readonly<Record<NumberField, number>> = {
  monthlySpend: auditLimits.spend,
  orchestrationHours: auditLimits.hours,
  lostDeals: auditLimits.deals,
};

/**
 * The whole number that a text counts as, null for no answer where 0 is one, and a hint where that is
 * not what was typed.
 */
export function countedAs(
  field: NumberField,
  text: string,
): { value: number | null; hint: string | null } {
  const typed = text
    .trim()
    .replaceAll(/[,\s$]/g, '')
    .replace('−', '-');
  const none = field === 'lostDeals' ? null : 0;
  if (typed === '') return { value: none, hint: null };
  const number = Number(typed);
  if (!Number.isFinite(number))
    return {
      value: none,
      hint: `Enter a whole number. This counts as ${none === null ? 'empty' : '0'}.`,
    };
  if (number < 0) return { value: 0, hint: 'A negative number counts as 0.' };
  if (number > most[field])
    return {
      value: most[field],
      hint:
        field === 'orchestrationHours'
          ? `A week has ${auditLimits.hours} hours, so this counts as ${auditLimits.hours}.`
          : `This counts as ${figure(most[field])}, the most this form takes.`,
    };
  const value = Math.trunc(number);
  return { value, hint: value === number ? null : `Whole numbers only: this counts as ${value}.` };
}

/** What the chosen subscriptions cost a month, by the prices in their names. */
export function subscriptionsPerMonth(labels: readonly string[]): number {
  return labels.reduce((sum, label) => sum + Number(/\$(\d+)\/mo/.exec(label)?.[1] ?? 0), 0);
}

/** Dollars a month: as entered, else what the chosen subscriptions cost. */
export function toolsPerMonth({ monthlySpend, aiSubscriptions }: AuditData): number {
  return monthlySpend > 0 ? monthlySpend : subscriptionsPerMonth(aiSubscriptions);
}
