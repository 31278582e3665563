import { scrubOf } from '#services/optimizations/prompts/scrub.ts';
import type { NamedModel } from '#services/optimizations/prompts/scrub.ts';

/**
 * Takes out of an answer what would show a judge how it was made: names of models, and words about a
 * council, its votes and its members. What is left of such words is reported.
 */
export type Blinded = {
  text: string;
  /** Words that may still reveal the condition. */
  revealing: string[];
};

export function blinded(text: string, models: readonly NamedModel[]): Blinded {
  const scrub = scrubOf(models);
  const lines = text.split('\n').map((line) => {
    // The form is ours; the words behind it are a model's.
    const [, form = '', words = ''] = /^(- )?(.*)$/.exec(line) ?? [];
    let neutral = words === '' ? '' : scrub(words);
    for (const [pattern, instead] of neutralWords)
      neutral = neutral.replace(pattern, (found) =>
        isCapital(found) ? capital(instead) : instead,
      );
    return `${form}${neutral}`;
  });
  const blind = lines.join('\n');
  return { text: blind, revealing: [...new Set(blind.match(revealingWords) ?? [])] };
}

const number = String.raw`(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)`;
const member =
  '(?:models?|experts?|seats?|reviewers?|advisers?|advisors?|panelists?|voters?|members?)';

/** Longer phrases first. Everything here is English, as the cases are. */
const neutralWords: readonly (readonly [RegExp, string])[] = [
  [new RegExp(String.raw`\b${number} (?:out )?of (?:the )?${number} ${member}\b`, 'gi'), 'some'],
  [
    new RegExp(
      String.raw`\b(?:all|most|some|both|several|many) (?:of the )?(?:experts|reviewers|panelists|voters)\b`,
      'gi',
    ),
    'some',
  ],
  [/\b(?:the|this|our) (?:council|panel of experts|expert panel)['’]s\b/gi, "this advice's"],
  [/\b(?:the|this|our) (?:council|panel of experts|expert panel)\b/gi, 'this advice'],
  [/\bthe (?:experts|reviewers|panelists|voters)\b/gi, 'some'],
  [/\bthe (?:vote|votes|voting)\b/gi, 'the assessment'],
  [/\bthe minority view\b/gi, 'another view'],
];

/** Of a process, not of a business: "pricing model" and "solar panel" are not here. */
const revealingWords =
  /\b(?:council|panelists?|reviewers?|voters?|voted|votes|dissent(?:ing)?|consensus|experts?|minority view|language models?|AI models?)\b/gi;

function isCapital(word: string): boolean {
  return /^\p{Lu}/u.test(word);
}

function capital(word: string): string {
  return `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`;
}
