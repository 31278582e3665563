import type { Stripe } from 'stripe';
import type { FakeFaults } from './faults.ts';
import type { Store } from './store.ts';

export const daySeconds = 24 * 3600;

/** The state that all parts of the fake share. */
export type World = {
  store: Store;
  faults: FakeFaults;
  /** Where its pages are, without a trailing slash. */
  publicUrl: string;
  /** Seconds since 1970, by the fake's own clock. */
  now(): number;
  /**
   * How far that clock is ahead of real time, in seconds. Callers send real times: without this
   * offset every checkout would be expired once the clock was advanced.
   */
  ahead(): number;
  /** Emits what happened to an object, with the object as it is now. */
  emit<T extends Stripe.Event.Type>(type: T, object: EventObject<T>): void;
};

export type EventObject<T extends Stripe.Event.Type> = Extract<
  Stripe.Event,
  { type: T }
>['data']['object'];
