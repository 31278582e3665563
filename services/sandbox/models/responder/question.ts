import { inventedOptions } from './bank/playbook.ts';
import { countWords, findAudience, findBusiness, findFacts } from './words/details.ts';
import type { Fact } from './words/details.ts';
import { asImperative, dropFiller, namedOptions, optionOf, tidyPhrase } from './options.ts';
import type { Option } from './options.ts';
import type { Asked } from './reading.ts';
import { inTheirWords } from './words/wording.ts';

/** A question as far as it can be understood without understanding it. */
export type Question = {
  /** Best supported first is decided elsewhere; here the order is that of the question. */
  options: readonly Option[];
  /** What the person wants to reach, as an imperative; null when the question is a plain choice. */
  aim: string | null;
  /** "your bakery in Lyon"; "the business" when nothing says. */
  business: string;
  /** What those who buy are called, in the singular. */
  audience: string;
  facts: readonly Fact[];
  /** Lower-case words of everything the person wrote, once each with their count. */
  vocabulary: ReadonlyMap<string, number>;
};

export function understand(asked: Asked): Question {
  const everything = [
    asked.challenge,
    asked.context.slice(0, readContext),
    ...asked.objectives,
    ...asked.constraints,
  ].join('\n');
  const vocabulary = countWords(everything);
  const business = findBusiness(`${asked.challenge}\n${asked.context.slice(0, readContext)}`);
  const audience = findAudience(vocabulary);
  const asking = decisionSentence(asked.challenge);
  const chosen = namedOptions(asking, business);
  const aim = chosen.length === 0 ? findAim(asking, asked.objectives) : null;
  const options =
    chosen.length > 0
      ? chosen
      : inventedOptionsFor(asked.type, vocabulary, everything, business, audience);
  return { options, aim, business, audience, facts: findFacts(everything), vocabulary };
}

// Characters of a long context that are read for words and facts.
const readContext = 6000;

function decisionSentence(challenge: string): string {
  const sentences = challenge
    // An aside in brackets is no part of the choice, and would end the option that it stands in.
    .replace(/\s*[([][^()[\]]*[)\]]/g, '')
    .replace(/\s+/g, ' ')
    .split(/(?<=[.?!])\s+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '');
  const questions = sentences.filter((sentence) => sentence.endsWith('?'));
  const asking = questions.filter((sentence) => askingWords.test(sentence));
  const leading = sentences.filter((sentence) => statedChoice.test(sentence));
  const found = asking.find((sentence) => / or | vs\.? |versus|between/i.test(sentence));
  return (
    found ?? asking.at(-1) ?? leading.at(-1) ?? questions.at(-1) ?? sentences.at(-1) ?? challenge
  );
}

const askingWords =
  /\b(should|shall|whether|better|best|how|which|what|worth|choose|do (?:i|we))\b/i;
const statedChoice =
  /\b(whether (?:to|i|we)|(?:torn|choose|choosing|decide|deciding|choice) between|i (?:want|need|plan|would like) to|help me|not sure (?:if|whether)|thinking (?:of|about)|considering)\b/i;

/** "How do I get more bookings?" → "get more bookings". */
function findAim(sentence: string, objectives: readonly string[]): string | null {
  const text = sentence.replace(/[?!.\s]+$/, '');
  const patterns = [
    /\bhow (?:do|can|should|could|might|would|to) (?:i |we )?(?:best |better |ever )?(.+)/i,
    /\b(?:best|right|smartest|fastest|cheapest) way (?:for me |for us )?to (.+)/i,
    /\b(?:i|we) (?:want|need|would like|['\u2019]d like|hope|plan) to (.+)/i,
    /\bhelp (?:me|us) (?:to )?(.+)/i,
    /\bways? to (.+)/i,
  ];
  for (const pattern of patterns) {
    const found = pattern.exec(text)?.[1];
    const phrase = found === undefined ? null : asImperative(dropFiller(found));
    if (phrase !== null) return tidyPhrase(phrase.replace(/ without .*$/i, ''));
  }
  for (const objective of objectives) {
    const phrase = asImperative(dropFiller(objective));
    if (phrase !== null) return tidyPhrase(phrase);
  }
  return null;
}

function inventedOptionsFor(
  type: string,
  vocabulary: ReadonlyMap<string, number>,
  text: string,
  business: string,
  audience: string,
): Option[] {
  return inventedOptions(type, vocabulary, text).map(({ act, thing, course }) =>
    optionOf(
      inTheirWords(act.replaceAll('{business}', business), audience, 'the business'),
      business,
      { thing, course },
    ),
  );
}
