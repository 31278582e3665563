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

/** "7 models · 4 makers"; with copies "7 answers of 2 models by 1 maker". */
export function seatsInWords({ seats, copies, makers }: Strategy): string {
  const each = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;
  if (copies === 0) return `${each(seats.length, 'model')} · ${each(makers, 'maker')}`;
  const models = new Set(seats.map(({ model }) => model)).size;
  return `${seats.length} answers of ${each(models, 'model')} by ${each(makers, 'maker')}`;
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
