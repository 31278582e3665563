import type { CreditAnalytics, ModelCosts } from '#services/credits/contract.ts';
import { formatNumber, modelCost, unknownFigure, usd } from '#services/platform/numbers.ts';
import { percent } from '#web/ui/text/figures.ts';

type OwnModel = CreditAnalytics['models'][number];
type PricedModel = ModelCosts['models'][number];

/** A share of a charge in thousandths of a credit: "8", "0.3", "<0.1". */
export function shareOfCredits(millicredits: number, locale?: string): string {
  if (millicredits > 0 && millicredits < 50) return `<${shareOfCredits(100, locale)}`;
  return formatNumber(millicredits / 1000, { maximumFractionDigits: 1 }, locale);
}

/** Its share of the credits of all these models: "12%", "<1%". */
export function partWords(millicredits: number, all: number): string {
  if (all <= 0) return unknownFigure;
  const part = (millicredits / all) * 100;
  return part > 0 && part < 1 ? '<1%' : percent(part);
}

/** "1,234 in, 567 out"; unknown when no call reported any. */
export function tokenWords(
  { input_tokens: input, output_tokens: output }: OwnModel,
  locale?: string,
): string {
  if (input === 0 && output === 0) return unknownFigure;
  const count = (tokens: number): string =>
    formatNumber(tokens, { maximumFractionDigits: 0 }, locale);
  return `${count(input)} in, ${count(output)} out`;
}

/** "$0.021", "at least $0.021". */
export function costWords({ cost, cost_is_minimum: isMinimum }: OwnModel, locale?: string): string {
  const dollars = modelCost(cost, locale);
  return isMinimum ? `at least ${dollars}` : dollars;
}

/** A list price for a million tokens; a dash where the catalogue names none. */
export function listPrice(dollars: number | null, locale?: string): string {
  return dollars === null ? '—' : usd(dollars, [2, 3], locale);
}

/** The measured cost of one answer; simulated answers say so, and too few have none. */
export function measuredWords(model: PricedModel, locale?: string): string {
  const real = model.average_cost;
  if (real !== null) return modelCost(real, locale);
  const simulated = model.simulated.average_cost;
  return simulated === null ? '—' : `${modelCost(simulated, locale)}, simulated`;
}
