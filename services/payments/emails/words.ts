/** What several emails say in the same words. */

/** `12 credits`, or `12 unused credits`. */
export function credits(count: number, kind: string = ''): string {
  return `${count.toLocaleString('en-US')} ${kind}${count === 1 ? 'credit' : 'credits'}`;
}

/** For one credit and for several. */
export function isOrAre(count: number): string {
  return count === 1 ? 'is' : 'are';
}

export function wasOrWere(count: number): string {
  return count === 1 ? 'was' : 'were';
}

/** Wherever an email speaks of money that was not paid. */
export function testPayments({ movesMoney }: { movesMoney: boolean }): string[] {
  return movesMoney
    ? []
    : ['This server uses test payments. No money moved, and no card was charged.'];
}
