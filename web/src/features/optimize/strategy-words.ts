import { listed } from '#services/models/seating/words.ts';
import type { StrategiesReply, Strategy } from '#services/optimizations/contract/panel.ts';

/** "3 × GPT-6.1 Terra, GPT-6 Luna": each name once, in the order of its first. */
export function counted(names: readonly string[]): string {
  return [...new Set(names)]
    .map((name) => {
      const count = names.filter((other) => other === name).length;
      return count === 1 ? name : `${count} × ${name}`;
    })
    .join(', ');
}

/** "7 models"; with copies "7 answers of 2 models by 1 maker". */
export function modelsInWords({ seats, copies, makers }: Strategy): string {
  if (copies === 0) return `${seats.length} models`;
  const models = new Set(seats.map(({ model }) => model)).size;
  const each = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;
  return `${seats.length} answers of ${each(models, 'model')} by ${each(makers, 'maker')}`;
}

/** Which providers receive the text of a question, in a sentence or two. */
export function destinationSentence({ providers }: Pick<Strategy, 'providers'>): string {
  const real = providers.filter(({ simulated }) => !simulated).map(({ name }) => name);
  const hasSimulated = providers.some(({ simulated }) => simulated);
  if (real.length === 0) {
    return 'The models of this run are simulated on this machine: a prepared case answers, whose question may be another than yours, and your text is sent to no provider.';
  }
  const passedOn = real.includes('OpenRouter')
    ? ' OpenRouter passes them on to the makers of its models.'
    : '';
  const sent = `Your question and its files are sent to ${listed(real)}.${passedOn}`;
  return hasSimulated ? `${sent} The other models are simulated on this machine.` : sent;
}

/** Where a question goes before a start; null when nothing checks it. */
export function checkerSentence(checker: StrategiesReply['checker']): string | null {
  if (checker === null) return null;
  return checker.simulated
    ? 'Your question is checked first. It stays on this machine.'
    : `Your question is first sent to ${checker.name} to be checked, at no charge.`;
}

export function unavailableSentence({ unavailable }: Pick<Strategy, 'unavailable'>): string {
  return `Not available. ${unavailable ?? ''}`.trimEnd();
}

/** What the reviews of a run cannot say; null when they can name a clear winner. */
export function verdictSentence({ verdict }: Pick<Strategy, 'verdict'>): string | null {
  switch (verdict) {
    case 'full':
      return null;
    case 'order_only':
      return 'This strategy gives an order, never a clear winner.';
    case 'may_stay_open':
      return 'Its reviews may leave open whether there is a clear winner.';
  }
}
