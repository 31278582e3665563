import { listed } from '#services/models/seating/words.ts';
import type { Strategy } from '#services/optimizations/contract/panel.ts';
import { creditsInWords } from '#services/platform/numbers.ts';
import type { ChallengeType, RunStatus } from '#services/optimizations/contract/summary.ts';
import type { StatusTone } from '#web/ui/feedback/status.tsx';

export const runStatusTones: Readonly<Record<RunStatus, StatusTone>> = {
  pending: 'neutral',
  processing: 'active',
  completed: 'ok',
  failed: 'warn',
  cancelled: 'neutral',
};

/** A recipe's category is one of them, too. */
export const challengeTypeWords: Readonly<Record<ChallengeType, string>> = {
  business_strategy: 'Business strategy',
  marketing: 'Marketing',
  operations: 'Operations',
  finance: 'Finance',
  product: 'Product',
  sales: 'Sales',
  hiring: 'Hiring',
  other: 'Other',
};

/** "about 40s", in steps that do not flicker; null when unknown. */
export function timeLeft(seconds: number | null): string | null {
  if (seconds === null || seconds <= 0) return null;
  if (seconds < 90) return `about ${Math.max(5, Math.ceil(seconds / 5) * 5)}s`;
  return `about ${Math.ceil(seconds / 60)} min`;
}

/** The price of a run; the one that a refined run has paid covers a refinement. */
export function priceWords(price: number): string {
  return price === 0 ? 'Included' : creditsInWords(price);
}

/** Which providers receive the text of a question, in a sentence or two. */
export function destinationSentence({ providers }: Pick<Strategy, 'providers'>): string {
  const real = providers.filter(({ simulated }) => !simulated).map(({ name }) => name);
  const hasSimulated = providers.some(({ simulated }) => simulated);
  if (real.length === 0) {
    return "This run's models are simulated on this machine. A prepared case answers; its question may differ from yours. Your text isn't sent to any provider.";
  }
  const passedOn = real.includes('OpenRouter')
    ? ' OpenRouter passes them on to the makers of its models.'
    : '';
  const sent = `Your question and its files are sent to ${listed(real)}.${passedOn}`;
  return hasSimulated ? `${sent} The other models are simulated on this machine.` : sent;
}
