import type { Effort } from '#services/models/model.ts';
import type { Offer, Tier } from '#services/models/offer.ts';
import type { SeatRole } from '#services/models/strategy-list.ts';
import type { UsualCalls } from './tokens.ts';

/** What a strategy asks for, and what stands in its place. */

/** `effort` null: that of its stage. */
export type WantedUse = { model: string; effort: Effort | null };
export type WantedSeat = WantedUse & { seat: string; role: SeatRole };

export type WantedPanel = {
  /** Credits for one run. */
  credits: number;
  panel: readonly WantedSeat[];
  /** Asked of a model that the strategy asks for none of its own. */
  efforts: Readonly<Record<keyof UsualCalls, Effort>>;
  reviewsPerSeat: number;
  minFamilies: number;
  /** First and second. */
  extractors: readonly [WantedUse, WantedUse];
  /** First and other. */
  synthesizers: readonly [WantedUse, WantedUse];
  /** For each synthesiser the two models that verify its draft. */
  verifiers: readonly [readonly [WantedUse, WantedUse], readonly [WantedUse, WantedUse]];
};

/** What the catalogue says of a wanted model. */
export type KnownModel = { displayName: string; family: string; tier: Tier };

export type Placed = { offer: Offer; effort: Effort | null };
/** `effort` is that of its answer. */
export type SeatedModel = Placed & { seat: string; role: SeatRole; reviewEffort: Effort | null };

/** The strategy with the effort of its stage wherever it asks for none. */
export function withEfforts<Wanted extends WantedPanel>(strategy: Wanted): Wanted {
  const { efforts, panel, extractors, synthesizers, verifiers } = strategy;
  const asked = <Use extends WantedUse>(use: Use, call: keyof UsualCalls): Use => ({
    ...use,
    effort: use.effort ?? efforts[call],
  });
  const both = ([one, two]: Pair, call: keyof UsualCalls): Pair => [
    asked(one, call),
    asked(two, call),
  ];
  return {
    ...strategy,
    panel: panel.map((seat) => asked(seat, 'opinion')),
    extractors: both(extractors, 'claims'),
    synthesizers: both(synthesizers, 'draft'),
    verifiers: [both(verifiers[0], 'verdict'), both(verifiers[1], 'verdict')],
  };
}

type Pair = readonly [WantedUse, WantedUse];
