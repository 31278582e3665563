import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkReview, opinionText } from '#services/optimizations/prompts/reply-checks.ts';
import { parseReply, replyJsonSchemas } from '#services/optimizations/prompts/reply-schemas.ts';
import type { ReplyName } from '#services/optimizations/prompts/reply-schemas.ts';
import { checkSecondVote } from '#services/optimizations/prompts/second-vote.ts';
import type { JsonSchema } from '#services/models/model.ts';

/**
 * A stored reply is read again when a run is checked. Whatever a model wrote, the second reading must
 * find what the first one found, or an honest run would be accused.
 */
const odd = fc.string({
  unit: fc.oneof(
    fc.nat(0xffff).map((unit) => String.fromCharCode(unit)),
    fc.constantFrom(' ', '\n', '…', '\u200b', '\u202e', '\uD83D', 'a', 'ﬁ', '\0'),
  ),
  maxLength: 90,
});
const labels = ['F4G', 'H5J', 'K6M'];
const words = fc.oneof(
  odd,
  odd.map((text) => text.repeat(30)),
  fc.constantFrom(...labels, ...labels.map((label) => ` ${label} `), 'c1', 'o1'),
);

/** A reply of this form, with values out of range, in other types and too many. */
function replyOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  switch (schema['type']) {
    case 'object':
      return fc.record(
        Object.fromEntries(
          Object.entries(schema['properties'] as Record<string, JsonSchema>).map(
            ([key, member]) => [key, replyOf(member)],
          ),
        ),
      );
    case 'array':
      return fc.array(replyOf(schema['items'] as JsonSchema), { minLength: 1, maxLength: 16 });
    case 'integer':
      return fc.oneof(fc.double({ noNaN: true, min: -9, max: 200 }), fc.constantFrom('7', '85 %'));
    case 'boolean':
      return fc.constantFrom(true, false, 'Yes');
    default:
      return Array.isArray(schema['enum'])
        ? fc.constantFrom(...(schema['enum'] as string[]))
        : words;
  }
}

const shown = { labels, claimIds: ['c1'], optionIds: ['o1'] };

const found: { [Name in ReplyName]?: (value: never) => unknown } = {
  opinion: (value) => opinionText(value).toWellFormed(),
  review: (value) => checkReview(value, shown),
  second_vote: (value) => checkSecondVote(value, shown),
};

test.each(['opinion', 'review', 'second_vote'] as const)(
  'a stored %s is read as it was read first',
  (name) => {
    let met = 0;
    fc.assert(
      fc.property(replyOf(replyJsonSchemas[name]), (value) => {
        const first = parseReply(name, { value, isRepaired: false });
        if (!first.ok) return;
        met += 1;
        const stored: unknown = JSON.parse(JSON.stringify(first.value));
        const second = parseReply(name, { value: stored, isRepaired: false });
        if (!second.ok) throw new Error(`It is refused: ${second.reason}`);
        expect(found[name]!(second.value as never)).toEqual(found[name]!(first.value as never));
      }),
    );
    expect(met).toBeGreaterThan(10);
  },
);
