import { createReadable } from '#services/live/readable.ts';
import {
  escapeMarkdown,
  flattenMarkdown,
  normalizeSpace,
} from '#services/optimizations/prompts/plain-text.ts';
import { findsInjection, scrubOf } from '#services/optimizations/prompts/scrub.ts';
import { numbersNotIn } from '#services/optimizations/prompts/numbers.ts';
import { sharedNotes, opinionText } from '#services/optimizations/prompts/reply-checks.ts';
import { parseReply } from '#services/optimizations/prompts/reply-schemas.ts';
import { filled } from '#tests/walls/hostile/inputs.ts';
import { asJson } from './as-read.ts';

/** Every step that reads a reply's text between the provider and storage or display. */

const flattening = { flattenMarkdown, scrub: scrubOf([]), escapeMarkdown };
const comparing = {
  findsInjection,
  normalizeSpace,
  numbersNotIn: (text: string) => numbersNotIn([{ text, isStep: false }], [text], [text]),
};

/** Of one field; 36 of them make the longest opinion. */
const fieldShare = 1200 / 20_000;

/** Every step over a text of one repeated unit, as its name and what it does. */
export function stepsOver(unit: string, length: number): [string, () => unknown][] {
  const raw = filled(unit, length);
  const field = raw.slice(0, length * fieldShare);
  const shown = written(field);
  return [
    ['parsing', () => written(field)],
    ['streaming', () => createReadable().push(`{"a":${JSON.stringify(raw)}}`)],
    ...Object.entries({ ...flattening, ...comparing }).map(
      ([name, step]): [string, () => unknown] => [name, () => step(shown)],
    ),
    // A question is not cut into fields.
    ...Object.entries(flattening).map(([name, step]): [string, () => unknown] => [
      `${name}, raw`,
      () => step(raw),
    ]),
  ];
}

function written(raw: string): string {
  // A field that is empty once it is cleaned is malformed.
  const text = `a ${raw}`;
  const opinion = {
    recommendation: { option_label: text, one_line: text },
    reasoning: Array.from({ length: 8 }, () => text),
    claims: Array.from({ length: 8 }, () => ({ text, importance: 3, if_false_flips: true })),
    assumptions: Array.from({ length: 6 }, () => text),
    missing_info: Array.from({ length: 6 }, () => text),
    risks: Array.from({ length: 6 }, () => text),
    stated_confidence: 50,
  };
  const parsed = parseReply('opinion', asJson(opinion));
  if (!parsed.ok) throw new Error(parsed.reason);
  sharedNotes([
    { author: 'S1', opinion: parsed.value },
    { author: 'S2', opinion: parsed.value },
  ]);
  return opinionText(parsed.value);
}
