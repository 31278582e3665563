/** What a run's refinements cost. */
export const refinementTerms = {
  /** A run's price covers one that completes, in so many tries. */
  tries: 3,
  /** Each later one costs so much of the run's price, rounded up, in percent. */
  percent: 20,
  leastPrice: 2,
} as const;

/** In credits, of one that the run's own price does not cover. */
export function laterRefinementPrice(runPrice: number): number {
  const { percent, leastPrice } = refinementTerms;
  return Math.max(leastPrice, Math.ceil((runPrice * percent) / 100));
}

/** The rule of the price, with an example. */
export function refinementPriceWords(): string {
  const { tries, percent, leastPrice } = refinementTerms;
  const example = 14;
  return `The price of a run includes its first refinement, with ${tries} tries at most until one completes. Each later one costs ${percent}% of the run’s price, rounded up, and at least ${leastPrice} credits: ${laterRefinementPrice(example)} credits for a run of ${example}.`;
}
