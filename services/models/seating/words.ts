import type { Found } from './panel.ts';

/** What a person reads about a seating, on the strategy's card and in the result. */

/** Fewer makers or different models than these on a panel, and its agreement says little. */
export const independent = { makers: 2, models: 4 } as const;

export const copiesSentence = 'Copies of one model tend to agree; agreement says little here.';

/** Why the wanted model does not work. */
export type Cause = 'missing' | 'too_small' | 'not_independent';

const causes: Readonly<Record<Cause, string>> = {
  missing: 'is not available',
  too_small: 'cannot hold a question of this length',
  not_independent: 'already has another part in this council',
};

const places: Readonly<Record<Exclude<Found, 'wanted'>, string>> = {
  same: 'takes the seat, a model of the same class.',
  lower: 'takes the seat, a model of a lower class.',
  copy: 'takes a further seat.',
  higher: 'takes the seat, a model of a higher class, because no other is available.',
  cheapest: 'takes the seat, the cheapest model that is available.',
};

export function seatReason(
  wanted: string,
  cause: Cause,
  seated: string,
  found: Exclude<Found, 'wanted'>,
): string {
  return `${wanted} ${causes[cause]}, so ${seated} ${places[found]}`;
}

export function roleReason(wanted: string, cause: Cause, seated: string): string {
  return `${wanted} ${causes[cause]}, so ${seated} takes its place.`;
}

/** "5 of 7 seats as designed, 2 substituted"; up to two other substituted roles follow by name. */
export function cardSentence({ seats, substitutions }: CardFacts): string {
  const codes = new Set(seats.map(({ seat }) => seat));
  const changed = substitutions.filter(({ seat }) => codes.has(seat)).length;
  const roles = substitutions.map(({ seat }) => seat).filter((seat) => !codes.has(seat));
  const panel =
    changed === 0
      ? `All ${seats.length} seats as designed`
      : `${seats.length - changed} of ${seats.length} seats as designed, ${changed} substituted`;
  if (roles.length === 0) return panel;
  return `${panel}; also substituted: ${roles.length > 2 ? `${roles.length} of the 8 other roles` : listed(roles)}`;
}

/** Null when the panel is independent enough for its agreement to say something. */
export function independenceSentence({ seats, makers }: CardFacts): string | null {
  const models = new Set(seats.map(({ offer }) => offer.model)).size;
  return makers < independent.makers || models < independent.models ? copiesSentence : null;
}

type CardFacts = {
  seats: readonly { seat: string; offer: { model: string } }[];
  substitutions: readonly { seat: string }[];
  makers: number;
};

/** "A", "A and B", "A, B and C". */
export function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

/** By a maker's name in the catalogue. */
const makerNames: Readonly<Record<string, string>> = {
  alibaba: 'Alibaba',
  anthropic: 'Anthropic',
  deepseek: 'DeepSeek',
  google: 'Google',
  meta: 'Meta',
  minimax: 'MiniMax',
  mistral: 'Mistral',
  moonshotai: 'Moonshot AI',
  openai: 'OpenAI',
  xai: 'xAI',
  zai: 'Z.ai',
};

/** A maker's display name; one of the operator's own catalogue has the name it has there. */
export function makerNameOf(family: string): string {
  return makerNames[family] ?? family;
}
