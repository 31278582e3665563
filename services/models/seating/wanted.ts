import type { Effort } from '#services/models/model.ts';
import type { Offer, Tier } from '#services/models/offer.ts';
import type { SeatRole } from '#services/models/strategy-list.ts';

/** What a strategy asks for, and what stands in its place. */

export type WantedUse = { model: string; effort: Effort | null };
export type WantedSeat = WantedUse & { seat: string; role: SeatRole };

export type WantedPanel = {
  /** Credits for one run. */
  credits: number;
  panel: readonly WantedSeat[];
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
export type SeatedModel = Placed & { seat: string; role: SeatRole };
