import type { Stripe } from 'stripe';
import type { FakeFaults } from './faults.ts';
import type { Store } from './store.ts';

/** What every part of the fake stands on. */
export type World = {
  store: Store;
  faults: FakeFaults;
  /** Where its pages are, without a trailing slash. */
  publicUrl: string;
  /** Seconds since 1970, by the fake's own clock. */
  now(): number;
  /**
   * How far that clock is ahead of the world's, in seconds. Times that are sent to it are meant by the
   * world's: without this nobody could buy once it was moved on.
   */
  ahead(): number;
  /** Emits what happened to an object, with the object as it is now. */
  emit<T extends Stripe.Event.Type>(type: T, object: EventObject<T>): void;
};

export type EventObject<T extends Stripe.Event.Type> = Extract<
  Stripe.Event,
  { type: T }
>['data']['object'];
