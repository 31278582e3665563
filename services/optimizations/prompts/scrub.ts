import { recognisedNames } from '#services/models/provider-list.ts';
import { flattenMarkdown } from './plain-text.ts';

/**
 * The text of an answer as its reviewers read it: plain, without Markdown (style is the largest
 * measured bias of model judges) and without the names of its model.
 */

/** A model of the run, by all names under which it could name itself. */
export type NamedModel = { model: string; name?: string; family?: string };

/** Makes text plain and free of self-identification; scrubbing twice changes nothing. */
export type Scrub = (text: string) => string;

/** @param models all models of the run, whose names are removed beside those of known providers */
export function scrubOf(models: readonly NamedModel[]): Scrub {
  const patterns = selfIdentificationOf(models);
  return (text) => {
    let scrubbed = text;
    // Removing one thing can uncover another (a name behind a bullet, say), so repeat until stable.
    for (let pass = 0; pass < maximumScrubPasses; pass += 1) {
      const next = dropSelfIdentification(flattenMarkdown(scrubbed), patterns);
      if (next === scrubbed) break;
      scrubbed = next;
    }
    return scrubbed;
  };
}

/**
 * Whether an answer addresses its reviewers instead of the question: it names labels or ranks,
 * instructs its judges, or imitates the markers of a prompt.
 */
export function findsInjection(text: string): boolean {
  const plain = inLatin(text.normalize('NFKC')).replace(/\s+/g, ' ');
  return injectionPatterns.some((pattern) => pattern.test(plain));
}

/** Letters of other alphabets that look like Latin ones, in words that hold Latin ones as well. */
function inLatin(text: string): string {
  return text.replace(/[\p{L}\d]+/gu, (word) =>
    /[a-z]/i.test(word)
      ? word.replace(/[^\p{Script=Latin}\d]/gu, (letter) => latin[alike.indexOf(letter)] ?? letter)
      : word,
  );
}

// cspell:disable-next-line
const alike = 'асеһіјорѕухНІКМОРСТХοα';
// cspell:disable-next-line
const latin = 'acehijopsyxHIKMOPCTXoa';

/** Marks may stand behind one another, as in a name inside a quotation; few passes reach them all. */
const maximumScrubPasses = 4;

const generic = [
  'large',
  'medium',
  'small',
  'mini',
  'nano',
  'pro',
  'flash',
  'lite',
  'turbo',
  'ultra',
];

function selfIdentificationOf(models: readonly NamedModel[]): readonly RegExp[] {
  const known = recognisedNames();
  const own = models.flatMap(({ model, name }) => [model, name ?? model]);
  const names = [...own.map((name) => `${escaped(name)}(?!\\w)`), ...known.models];
  const variants = [...new Set([...generic, ...own.flatMap(wordsOf)])];
  const makers = [...known.makers, ...models.flatMap(({ family }) => family ?? []).map(escaped)];
  // A name and its version words, without the full stop that may follow.
  const modelNames = `(?:${names.join('|')})(?:[- ]?(?:\\d+(?:\\.\\d+)*[a-z]?|${variants.join('|')})\\b)*`;
  const maker = `(?:${makers.join('|')})`;
  const machine =
    '(?:an?\\s+|the\\s+)?(?:large\\s+)?(?:ai|a\\.i\\.|artificial intelligence|language|generative)(?:[- ](?:language|based|powered))?\\s*(?:model|assistant|system|chatbot)?';
  const made = `(?:,?\\s*(?:an?\\s+[\\w ]{0,30})?(?:made|built|created|developed|trained|designed)\\s+by\\s+${maker})`;
  return [
    // "As an AI model made by X," and "Speaking as Claude, ..." at the head of a clause.
    new RegExp(
      `\\b(?:speaking\\s+)?as\\s+(?:${machine}|${modelNames})(?:,?\\s+(?:an?\\s+)?${machine})?${made}?,\\s*`,
      'gi',
    ),
    // "I am Claude, made by Anthropic." and "My name is …" up to the end of the sentence or clause.
    new RegExp(
      `\\b(?:hi[,!]?\\s+|hello[,!]?\\s+)?(?:i['\u2019]?m|i am|my name is|this is)\\s+(?:${modelNames}|${machine}\\b)${made}?[^.;\\n]{0,80}?(?:[.;!]|(?:,?\\s+and\\s+)(?=i\\b)|\\n|$)\\s*`,
      'gim',
    ),
    new RegExp(
      `\\b(?:i was|i have been)\\s+(?:made|built|created|developed|trained|designed)\\s+by\\s+${maker}[^.\\n]{0,80}(?:[.!]|$)\\s*`,
      'gim',
    ),
    new RegExp(`\\bhere at\\s+${maker},\\s*`, 'gi'),
    /\b(?:based on|according to|given)\s+my\s+training(?:\s+data)?(?:\s+and[^,.\n]{0,40})?,\s*/gi,
    /(^|[.!?]\s+)[^.\n]{0,80}\bmy\s+(?:knowledge|training)(?:\s+data)?\s+(?:cut-?off|ends?|stops?)\b[^.\n]{0,120}(?:[.!]|$)\s*/gim,
    // A signature on a line of its own.
    new RegExp(
      `^[ \\t]*(?:[-\u2013\u2014]{1,2}|signed:?|answer by:?|model:)[ \\t]*${modelNames}[ \\t]*$`,
      'gim',
    ),
  ];
}

function wordsOf(name: string): string[] {
  return name.toLowerCase().match(/[a-z]{2,}/g) ?? [];
}

/** As part of a pattern: every space may also be a hyphen, and the reverse. */
function escaped(name: string): string {
  return RegExp.escape(name).replace(/(?:\\x20|\\x2d| |-)+/g, '[- ]?');
}

function dropSelfIdentification(text: string, patterns: readonly RegExp[]): string {
  let result = text;
  for (const pattern of patterns)
    result = result.replace(pattern, (_match, before: unknown) =>
      typeof before === 'string' ? before : '',
    );
  if (result === text) return text;
  return result
    .replace(
      /(^|\n)([a-z])/g,
      (_match, lead: string, letter: string) => lead + letter.toUpperCase(),
    )
    .replace(
      /([.!?]\s+)([a-z])/g,
      (_match, lead: string, letter: string) => lead + letter.toUpperCase(),
    )
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

const judges = '(?:reviewers?|evaluators?|judges?|graders?|raters?|rankers?)';
const answerWord = '(?:answer|response|opinion|submission|reply|proposal text)';

const injectionPatterns: readonly RegExp[] = [
  new RegExp(
    `\\b${answerWord}s?\\s+(?:labell?ed\\s+)?["'(]?[DFGHJKMNPQRTVWXZ][4-9][DFGHJKMNPQRTVWXZ]\\b`,
    'i',
  ),
  /\b(?:labell?ed|label)\s+["'(]?[DFGHJKMNPQRTVWXZ][4-9][DFGHJKMNPQRTVWXZ]\b/i,
  new RegExp(
    `\\b(?:rank|rate|score|grade|place|put|choose|prefer|vote for|pick)\\s+(?:only\\s+)?(?:this|my)\\s+${answerWord}`,
    'i',
  ),
  new RegExp(
    `\\b(?:this|my)\\s+${answerWord}\\s+(?:should|must|deserves?|needs|has|ought|is)\\s+(?:to\\s+)?(?:be\\s+)?(?:ranked|rated|scored|graded|placed|first|the\\s+(?:best|winner|highest|top)|win|receive|get)`,
    'i',
  ),
  new RegExp(
    `\\b(?:other|remaining|competing|all)\\s+${answerWord}s\\s+(?:should|must|are to)\\s+be\\s+(?:ranked|rated|scored|placed|marked|ignored)`,
    'i',
  ),
  new RegExp(
    `\\b(?:note|message|instructions?|attention|notice|reminder)\\s*(?:to|for|:)?\\s*(?:the\\s+|all\\s+|any\\s+)?(?:ai\\s+|peer\\s+|model\\s+)?${judges}\\b`,
    'i',
  ),
  new RegExp(`\\b(?:dear|attention)\\s+(?:ai\\s+|peer\\s+)?${judges}\\b`, 'i'),
  new RegExp(
    `\\b(?:if|when|since)\\s+you\\s+are\\s+(?:a|an|the|one of the)\\s+(?:ai\\s+|peer\\s+|model\\s+)?${judges}\\b`,
    'i',
  ),
  new RegExp(`\\b(?:peer|ai|model)\\s+${judges}\\s+(?:should|must|are|will|please)\\b`, 'i'),
  /\b(?:ignore|disregard|forget|override)\s+(?:all\s+|any\s+|the\s+|your\s+)*(?:previous|prior|above|earlier|preceding|foregoing|system)\s+(?:instructions?|prompts?|rules|messages?|answers?)/i,
  new RegExp(
    `\\b(?:give|award|assign)\\s+(?:this|my|it|every other|all other)\\s*${answerWord}?s?\\s+(?:a\\s+|the\\s+)?(?:score|rating|rank|10|ten|1|one|highest|lowest|top|maximum|minimum)\\b`,
    'i',
  ),
  /\b(?:set|leave|keep|return)\s+(?:the\s+)?(?:["']?(?:injection_suspected|fatal_flaws|decision_vote)\b|["']ranking["'])/i,
  // cspell:disable
  /\bignorier(?:e|en|t)\s+(?:Sie\s+)?(?:alle\s+|die\s+|deine\s+|Ihre\s+)*(?:vorherigen|bisherigen|früheren|obigen)\s+(?:Anweisungen|Anleitungen|Vorgaben|Regeln)/i,
  /\b(?:Hinweis|Nachricht|Anweisung)\s+(?:an|für)\s+(?:die|alle)\s+(?:Gutachter|Prüfer|Bewerter|Juroren)/i,
  /\b(?:setze|setzen|stelle|stellen|bewerte|bewerten)\s+(?:Sie\s+)?diese\s+Antwort\s+(?:auf\s+(?:Platz|Rang)|an\s+die\s+erste|am\s+höchsten)/i,
  /\bignore[zr]?\s+(?:toutes\s+)?les\s+(?:instructions|consignes|règles)\s+(?:précédentes|antérieures|ci-dessus)/i,
  /\b(?:note|message|consigne)\s+(?:aux|pour\s+les)\s+(?:évaluateurs|examinateurs|relecteurs|juges)/i,
  // cspell:enable
  /\[\s*(?:begin|end)\s+[0-9a-f]{8,}/i,
  /<\|\s*(?:im_start|im_end|system|eot_id|end_header_id)\s*\|>|\[\/?INST\]/i,
  /<\/?\s*(?:system|instructions?|prompt)\s*>|\bsystem prompt\b.{0,40}\b(?:reveal|print|repeat|is)\b/i,
];
