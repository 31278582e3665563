/** The ids of the strategies, in the order in which they are shown; `catalogue.json` describes each. */
export const strategyIds = [
  'ultra-economy',
  'economy',
  'balanced',
  'reasoning-focused',
  'premium',
  'ultra',
  'fast',
  'comprehensive',
] as const;

export type StrategyId = (typeof strategyIds)[number];

export const seatRoles = ['strategic', 'risk', 'implementation'] as const;
export type SeatRole = (typeof seatRoles)[number];
