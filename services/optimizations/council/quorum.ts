/**
 * How many seats make a council. The shares are of the panel as bought, not of the seats that are
 * left, so that losses cannot lower the bar. Shares are kept as fractions: 0.6 × n is not always
 * exact.
 */
const quorum = { atLeast: 3, numerator: 3, denominator: 5 } as const;

/** Accepted answers that a panel of `seats` needs: max(3, ⌈0.6 n⌉). */
export function answersNeeded(seats: number): number {
  return needed(seats);
}

/** Reviewers that `accepted` answers need: max(3, ⌈0.6 n⌉). */
export function reviewsNeeded(accepted: number): number {
  return needed(accepted);
}

/**
 * Whether these answers make a council: enough of them, from enough families. Three answers of one
 * laboratory are one opinion three times.
 */
export function answersQuorum(
  panelSize: number,
  minFamilies: number,
  answered: readonly { family: string }[],
): boolean {
  const families = new Set(answered.map((seat) => seat.family)).size;
  return answered.length >= answersNeeded(panelSize) && families >= minFamilies;
}

/**
 * Whether the answers could still make a council if every outstanding seat answered. When not, the
 * run fails at once instead of letting the person wait and the remaining calls cost.
 */
export function answersReachable(
  panelSize: number,
  minFamilies: number,
  answered: readonly { family: string }[],
  outstanding: readonly { family: string }[],
): boolean {
  return answersQuorum(panelSize, minFamilies, [...answered, ...outstanding]);
}

/**
 * Whether enough seats reviewed. The caller, who has the ballots, checks that each answer was read.
 */
export function reviewsQuorum(accepted: number, reviewers: number): boolean {
  return reviewers >= reviewsNeeded(accepted);
}

function needed(seats: number): number {
  const share = Math.ceil((seats * quorum.numerator) / quorum.denominator);
  return Math.max(quorum.atLeast, share);
}
