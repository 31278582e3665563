import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import * as v from 'valibot';

/**
 * The prepared cases: questions that were answered beforehand, each by a council that can fall out in
 * several ways. The simulator says their sentences as they stand.
 */

const text = v.pipe(v.string(), v.minLength(1));
const texts = v.pipe(v.array(text), v.minLength(1));
const byRole = <Of extends v.GenericSchema>(of: Of) =>
  v.strictObject({ strategic: of, risk: of, implementation: of });
const cited = { text, claim_ids: texts };

const claim = v.strictObject({
  id: text,
  text,
  importance: v.picklist([1, 2, 3]),
  /** Ids of options. */
  supports: v.array(text),
  weakens: v.array(text),
  flips: v.boolean(),
  says: byRole(text),
  /** Its arithmetic or mechanism, intelligible without the claim. */
  why: text,
  disagree: texts,
  /** The fact that is missing. */
  unsure: text,
  dispute: text,
  settles: text,
});

const option = v.strictObject({
  id: v.optional(text, 'undecidable'),
  label: text,
  one_lines: byRole(texts),
  openings: byRole(texts),
  /** Why one votes for it: each is the reason of one voter. */
  closings: byRole(texts),
  assumptions: texts,
  missing: texts,
  risks: texts,
  critiques: texts,
  fatal_flaw: v.strictObject({ ...cited, answer: text }),
  /** What those who chose it would do, and why, after "2 of 7 models would". */
  minority: v.strictObject({ claim_id: text, text }),
  draft: v.strictObject({
    decision: text,
    sections: v.array(v.strictObject({ heading: text, blocks: v.array(v.strictObject(cited)) })),
    next_steps: v.array(
      v.strictObject({
        action: text,
        owner: text,
        by_days: v.pipe(v.number(), v.integer()),
        measure: text,
        stop_if: text,
        claim_ids: texts,
      }),
    ),
    uncertainties: texts,
  }),
});

const preparedCase = v.strictObject({
  case: text,
  /** The shipped recipe that it answers. */
  recipe: text,
  language: v.optional(v.picklist(['en', 'de']), 'en'),
  question: v.strictObject({
    type: text,
    title: text,
    challenge: text,
    context: text,
    objectives: v.array(text),
    constraints: v.array(text),
  }),
  claims: v.pipe(v.array(claim), v.minLength(1)),
  /** The first wins most often. */
  options: v.pipe(v.array(option), v.minLength(2)),
  undecidable: option,
});

export type PreparedCase = v.InferOutput<typeof preparedCase>;
export type CaseClaim = v.InferOutput<typeof claim>;
export type CaseOption = v.InferOutput<typeof option>;
export type SeatRole = keyof CaseClaim['says'];

const folder = new URL('./cases/', import.meta.url);
let loaded: readonly PreparedCase[] | null = null;

/**
 * All cases, in the order of their files.
 * @throws ValiError for a file of another shape
 */
export function preparedCases(): readonly PreparedCase[] {
  loaded ??= readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .toSorted()
    .map((file) => {
      const found = v.parse(preparedCase, JSON.parse(readFileSync(new URL(file, folder), 'utf8')));
      if (found.case !== basename(file, '.json')) throw new Error(`${file} names another case`);
      return found;
    });
  return loaded;
}

/** The options that a council chooses from; the last says that the question cannot be decided. */
export function optionsOf({ options, undecidable }: PreparedCase): readonly CaseOption[] {
  return [...options, undecidable];
}

/** The claim that a sentence states: the claim's text, or what a seat says. Null for any other. */
export function claimStated({ claims }: PreparedCase, sentence: string): CaseClaim | null {
  const states = (each: CaseClaim) =>
    each.text === sentence || Object.values(each.says).includes(sentence);
  return claims.find(states) ?? null;
}

/** What a case is chosen by. */
export type AskedQuestion = { type: string; challenge: string; context: string };

/**
 * The case that answers a question: of its type, in its language where there is one, with the most
 * words in common. `exact` when it is the case's own question, word for word.
 */
export function nearestCase(asked: AskedQuestion): { case: PreparedCase; exact: boolean } {
  const language = languageOf(`${asked.challenge} ${asked.context}`);
  const ofType = preparedCases().filter(({ question }) => question.type === asked.type);
  const typed = ofType.length > 0 ? ofType : preparedCases();
  const spoken = typed.filter((each) => each.language === language);
  const words = wordsOf(asked);
  const [nearest] = (spoken.length > 0 ? spoken : typed).toSorted(
    (one, other) =>
      shared(words, other) - shared(words, one) || Number(isUsual(other)) - Number(isUsual(one)),
  );
  if (nearest === undefined) throw new RangeError('There is no prepared case');
  return { case: nearest, exact: isExact(nearest, asked) };
}

/** Stands in where no word decides. */
function isUsual({ recipe }: PreparedCase): boolean {
  return recipe === 'raise-prices';
}

/** What screens say about a run that a prepared case answers. */
export type StandIn = {
  title: string;
  question: { challenge: string; context: string };
  /** The case's own question was asked. */
  exact: boolean;
};

/** Null for a case that there no longer is. */
export function standInFor(
  caseId: string,
  asked: { challenge: string | null; context: string | null },
): StandIn | null {
  const found = preparedCases().find((each) => each.case === caseId);
  if (found === undefined) return null;
  const { title, challenge, context } = found.question;
  return { title, question: { challenge, context }, exact: isExact(found, asked) };
}

/** Whether the case's own question was asked, word for word. */
export function isExact(
  { question }: PreparedCase,
  asked: { challenge: string | null; context: string | null },
): boolean {
  return same(question.challenge, asked.challenge) && same(question.context, asked.context);
}

function same(one: string, other: string | null): boolean {
  const plain = (written: string) => written.replace(/\s+/g, ' ').trim().toLowerCase();
  return other !== null && plain(one) === plain(other);
}

// cspell:ignore nicht meine soll sollen eine oder kann wann
const germanWords =
  /[äöüß]|\b(?:der|die|das|ein|eine|und|oder|ist|nicht|ich|mein|meine|man|kann|soll|sollen|wie|wann|mit|wir)\b/gi;
const englishWords = /\b(?:the|and|is|not|i|my|should|how|for|with|we|of|to|do|what)\b/gi;

export function languageOf(written: string): PreparedCase['language'] {
  const count = (words: RegExp) => written.match(words)?.length ?? 0;
  return count(germanWords) > count(englishWords) ? 'de' : 'en';
}

function wordsOf({ challenge, context }: { challenge: string; context: string }): Set<string> {
  const words = `${challenge} ${context}`.toLowerCase().match(/\p{L}{4,}/gu) ?? [];
  return new Set(words);
}

function shared(words: ReadonlySet<string>, { question }: PreparedCase): number {
  const known = wordsOf(question);
  return [...words].filter((word) => known.has(word)).length;
}
