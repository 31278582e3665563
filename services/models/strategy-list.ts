/** The ids of the strategies, by the prices of `catalogue.json`, which describes each. */
export const strategyIds = [
  'ultra-economy',
  'fast',
  'economy',
  'balanced',
  'premium',
  'comprehensive',
  'reasoning-focused',
  'ultra',
] as const;

export type StrategyId = (typeof strategyIds)[number];

export const seatRoles = ['strategic', 'risk', 'implementation'] as const;
export type SeatRole = (typeof seatRoles)[number];
