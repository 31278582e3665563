import * as v from 'valibot';

/**
 * What the address of a list may say. Every page loads this, so it names no contract: words are any
 * text, of which the page itself makes what it can, and what cannot be read is left out.
 */

/** The page of a list, from 1. */
export const PageNumber = v.fallback(
  v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100_000))),
  undefined,
);

/** A name of something, such as an id. */
export const Text = v.fallback(v.optional(v.string()), undefined);

/** A number in the address is text here. */
export const Words = v.fallback(v.optional(v.union([v.string(), v.number()])), undefined);
