import type { SeatProgress } from '#services/optimizations/contract/run.ts';

export type Role = SeatProgress['role'];

/** Text colours of the roles; the seat's code always accompanies them. */
export const roleColours: Readonly<Record<Role, string>> = {
  strategic: 'text-strategic',
  risk: 'text-risk',
  implementation: 'text-implementation',
};

export const roleWords: Readonly<Record<Role, string>> = {
  strategic: 'Strategic',
  risk: 'Risk',
  implementation: 'Implementation',
};
