import * as v from 'valibot';

/**
 * Search parameters of a list. Every page loads this, so it imports no contract: a word is any
 * text, and unreadable values are dropped.
 */

export const PageNumber = v.fallback(
  v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100_000))),
  undefined,
);

export const Text = v.fallback(v.optional(v.string()), undefined);

/** A number in the address arrives as a number; it is text here. */
export const Words = v.fallback(v.optional(v.union([v.string(), v.number()])), undefined);
