import { courses } from './bank/courses.ts';
import type { Course } from './bank/courses.ts';
import { baseOfGerund, capitalize, gerundOf, isVerb, toSecondPerson } from './words/grammar.ts';

/** One course of action that could be the answer, in the person's own words where they gave any. */
export type Option = {
  /** As a heading: "Raise the price of your course to $79". */
  label: string;
  /** As an imperative without its capital. */
  act: string;
  /** "raising the price of your course": the option as a noun, short enough to be repeated. */
  doing: string;
  /** What it is about, definite: "your course", "the virtual assistant". */
  thing: string;
  course: Course;
};

/** An option from an imperative phrase; `thing` and `course` are found in it unless given. */
export function optionOf(
  phrase: string,
  business: string,
  given: { thing?: string; course?: string } = {},
): Option {
  const act = tidyPhrase(phrase);
  const course = given.course === undefined ? courseOf(act) : courseById(given.course);
  return {
    label: capitalize(act),
    act,
    doing: shortened(doingOf(act)),
    thing: given.thing ?? thingOf(act, course, business),
    course,
  };
}

// "keep growing" → "continuing to grow"; "start running ads" → "running ads".
function doingOf(act: string): string {
  const [first = '', second = '', ...rest] = act.split(' ');
  const base = baseOfGerund(second);
  if (base !== null && /^(?:keep|continue)$/.test(first))
    return ['continuing to', base, ...rest].join(' ');
  if (base !== null && /^(?:start|begin|try|consider)$/.test(first))
    return [second, ...rest].join(' ');
  return gerundOf(act);
}

// Leaves out what follows the core of a long phrase.
function shortened(doing: string): string {
  const words = doing.split(' ');
  if (words.length <= 5) return doing;
  const cut = words.findIndex(
    (word, at) =>
      at >= 3 &&
      /^(?:and|to|before|after|without|until|instead|that|which|so|from|in|during|until)$/.test(
        word,
      ),
  );
  return cut < 0 ? doing : words.slice(0, cut).join(' ');
}

/**
 * Two options of one kind would be argued for and against in the same words, so the later one is
 * argued in general terms, and both are told apart by what only they mention.
 */
function distinguish(options: readonly Option[]): Option[] {
  return options.map((option, index) => {
    const twin = options.find((other, at) => at !== index && other.thing === option.thing);
    const earlier = options.findIndex((other) => other.course.id === option.course.id) < index;
    return {
      ...option,
      doing: options.some((other, at) => at !== index && other.doing === option.doing)
        ? doingOf(option.act)
        : option.doing,
      thing: twin === undefined ? option.thing : (ownWords(option.act, twin.act) ?? option.doing),
      course: earlier ? courseById('general') : option.course,
    };
  });
}

function ownWords(act: string, other: string): string | null {
  const theirs = new Set(other.toLowerCase().split(' '));
  const own = act
    .split(' ')
    .slice(1)
    .filter((word) => !theirs.has(word.toLowerCase()));
  return own.length === 0 || own.length > 4 ? null : definite(own.join(' '));
}

/** A third way that splits the difference, for councils that fall into three camps. */
export function middleWay(options: readonly Option[], business: string): Option {
  const boldest = options.toSorted((one, other) => other.course.boldness - one.course.boldness)[0];
  const about = boldest?.thing ?? business;
  return optionOf('run a six-week trial before deciding', business, {
    thing: about,
    course: 'trial',
  });
}

/** The options that a sentence names; empty when it asks an open question. */
export function namedOptions(sentence: string, business: string): Option[] {
  const body = optionBody(sentence);
  if (body === null) return [];
  const parts = splitChoices(body);
  const phrases = completePhrases(parts);
  if (phrases.length === 0) return [];
  const options = phrases.slice(0, 3).map((phrase) => optionOf(phrase, business));
  if (options.length > 1) return distinguish(options);
  const only = options[0];
  return only === undefined ? [] : [only, opposite(only, business)];
}

function optionBody(sentence: string): string | null {
  const text = sentence
    .replace(/[?!.\s]+$/, '')
    .replace(/\bshould (I|we) or should (?:I|we) not\b/i, 'should $1');
  for (const pattern of optionPatterns) {
    const match = pattern.exec(text);
    if (match?.[1] !== undefined) return match[1];
  }
  const versus = /(?:^|[:,] )([^:,]+?),? (?:vs\.?|versus) ([^:,?]+)/i.exec(text);
  if (versus !== null) return `${versus[1] ?? ''} or ${versus[2] ?? ''}`;
  return null;
}

const adverbs = '(?:rather |better |now |really |just |actually |finally |also |even |first )*';
const optionPatterns: readonly RegExp[] = [
  /(?:torn|choose|choosing|decide|deciding|choice|decision) between (.+)/i,
  new RegExp(
    `\\bwhether (?:or not )?(?:i|we|you) (?:should|shall|can|could|ought to) ${adverbs}(.+)`,
    'i',
  ),
  new RegExp(`\\bwhether (?:or not )?to ${adverbs}(.+)`, 'i'),
  new RegExp(
    `\\b(?<!(?:how|what|which|who|where|when|why|much|many|price|channel|one)\\s(?:\\w+\\s){0,3})(?:should|shall|must) (?:i|we) ${adverbs}(.+)`,
    'i',
  ),
  new RegExp(
    `\\b(?:better|wiser|smarter|worth it|sensible|time|right) (?:for me |for us )?to ${adverbs}(.+)`,
    'i',
  ),
  /\bis it worth (\w+ing .+)/i,
  new RegExp(`^(?:do|would) (?:i|we) ${adverbs}(.+)`, 'i'),
  new RegExp(
    `\\bshould (?:my|our|the) (?:\\w+ ){1,4}?${adverbs}((?:raise|launch|build|hire|offer|open|move|switch|focus|start|stop|drop|sell|add|expand|keep|charge|buy|use)\\b.+)`,
    'i',
  ),
  /\b(?:thinking (?:of|about)|considering|not sure (?:if|whether) (?:i|we) should) (.+)/i,
];

/** Splits at "or", and a list of three at its commas. */
function splitChoices(body: string): string[] {
  const parts = body
    .split(
      /,?\s+(?:or rather|or should (?:i|we)|or do (?:i|we)|or instead|or else|or|versus|vs\.?|instead of|rather than)\s+/i,
    )
    .flatMap((part, index, all) =>
      index === 0 && all.length > 1 && /,\s/.test(part) ? splitList(part) : [part],
    );
  if (parts.length === 1 && /^\w+ing\b/.test(body)) {
    const pair = body.split(/,?\s+and\s+(?=\w+ing\b)/);
    if (pair.length === 2) return pair;
  }
  return parts
    .map((part) => part.trim())
    .filter((part) => part !== '' && !/^(?:not|no|wait and see not)$/i.test(part));
}

// "raise prices, add a tier" is a list of two; "my course, which I sell on Gumroad" is one phrase.
function splitList(part: string): string[] {
  const pieces = part.split(/,\s+/);
  const rest = pieces.slice(1);
  return rest.every((piece) => isVerb(firstWord(piece)) || piece.split(' ').length <= 4)
    ? pieces
    : [part];
}

/**
 * Makes an imperative of every part. "sell on Gumroad or Etsy" has a fragment for its second choice:
 * it takes the words before the place where the first choice has its counterpart.
 */
function completePhrases(parts: readonly string[]): string[] {
  const cleaned = parts.map(dropFiller);
  const first = asImperative(cleaned[0] ?? '');
  if (first === null) {
    if (cleaned.length < 2) return [];
    return cleaned.map((part) => asImperative(part) ?? `go with ${part}`);
  }
  return [first, ...cleaned.slice(1).map((part) => asImperative(part) ?? complete(first, part))];
}

export function dropFiller(part: string): string {
  return toSecondPerson(part)
    .replace(
      /^(?:should you|do you|to|just|rather|instead|simply|first|maybe|perhaps|also|is it better to|you should)\s+/i,
      '',
    )
    .replace(/\s+(?:instead|first|rather|or not|now)$/i, '')
    .trim();
}

// A single word such as "design" is rather a thing than an order.
const standsAlone =
  /^(?:wait|stay|quit|rent|lease|leave|buy|hire|sell|stop|grow|outsource|automate|expand|pivot|invest|build|raise|borrow|save)$/i;

export function asImperative(part: string): string | null {
  const [first = '', ...rest] = part.split(' ');
  const base = baseOfGerund(first);
  if (base !== null) return [base, ...rest].join(' ');
  if (rest.length === 0 && !standsAlone.test(first)) return null;
  return isVerb(first) ? [first.toLowerCase(), ...rest].join(' ') : null;
}

function complete(first: string, fragment: string): string {
  const words = first.split(' ');
  const startsWithPreposition = prepositions.test(firstWord(fragment));
  const place = words.findLastIndex((word, index) => index > 0 && prepositions.test(word));
  if (startsWithPreposition)
    return `${(place > 0 ? words.slice(0, place) : words).join(' ')} ${fragment}`;
  const opensObject = /^(?:a|an|the|your|more|another|one|some)$/i;
  const last = words.slice(place + 1);
  if (place > 1 && opensObject.test(last[0] ?? '') === opensObject.test(firstWord(fragment)))
    return `${words.slice(0, place + 1).join(' ')} ${fragment}`;
  const particle = prepositions.test(words[1] ?? '') ? 2 : 1;
  return `${words.slice(0, particle).join(' ')} ${fragment}`;
}

const prepositions =
  /^(?:on|in|at|with|to|for|through|via|from|by|into|as|around|about|towards?)$/i;

function opposite(option: Option, business: string): Option {
  if (option.course.boldness < 0)
    return optionOf(`make the larger change to ${option.thing} now`, business, {
      thing: option.thing,
      course: 'general',
    });
  const wording =
    oppositeWordings[option.course.id] ?? 'keep the present course and improve it first';
  return optionOf(wording.replace('{thing}', option.thing), business, {
    thing: option.course.id === 'keep' ? business : option.thing,
    course: 'keep',
  });
}

const oppositeWordings: Readonly<Record<string, string>> = {
  'price-up': 'keep the present price and strengthen the offer first',
  'price-down': 'keep the full price and show better proof first',
  'price-model': 'keep the present way of charging for another quarter',
  hire: 'stay solo and free hours another way first',
  outsource: 'keep the work in your own hands and simplify it first',
  build: 'keep improving what already sells before adding anything',
  expand: 'stay where you are and fill the present capacity first',
  ads: 'keep the budget and work the channels you own',
  content: 'keep to direct conversations for now',
  outreach: 'wait for enquiries and improve how they are won',
  tools: 'keep the present tools and tidy the process first',
  invest: 'keep the cash and rent or borrow what is missing',
  cut: 'keep {thing} and raise its price first',
  narrow: 'stay broad and let demand show the niche',
  leave: 'keep the salary and fix a figure for leaving',
};

export function tidyPhrase(phrase: string): string {
  const trimmed = toSecondPerson(phrase)
    .replace(/[*_`#[\]<>|"“”]/g, '')
    .replace(/(?:,(?!\d)|\s*[;:(–—]).*$/, '')
    .replace(
      /\s+(?:because|so that|given|considering|even though|although|since|when|if|while|in order|and why|and how|and if|but)\b.*$/i,
      '',
    )
    .replace(/[.?!]+$/, '')
    .replace(/\s+/g, ' ')
    .trim();
  const words = trimmed.split(' ');
  const kept = words.slice(0, mostPhraseWords);
  while (
    kept.length > 3 &&
    /^(?:a|an|the|your|to|for|with|of|and|or|in|on|at|by|from)$/i.test(kept.at(-1) ?? '')
  )
    kept.pop();
  return kept.join(' ').charAt(0).toLowerCase() + kept.join(' ').slice(1);
}

const mostPhraseWords = 13;

function courseOf(act: string): Course {
  const text = ` ${act.toLowerCase()} `.replace(/^ (?:start|begin|try|consider) (?=\w+ing )/, ' ');
  const named = (course: Course) =>
    course.words.filter((word) => text.includes(` ${word}`)).length * 1.6;
  const begun = (course: Course) =>
    course.verbs.some((verb) => text.startsWith(` ${verb}`)) ? (course.common ? 1.3 : 2.5) : 0;
  const scored = courses.map((course, index) => ({
    course,
    index,
    score: begun(course) + named(course),
  }));
  const best = scored.toSorted(
    (one, other) => other.score - one.score || one.index - other.index,
  )[0];
  return best === undefined || best.score === 0
    ? courseById('general')
    : priceDirection(text, best.course);
}

/** A kind of course by its id; throws RangeError for one that the bank lacks. */
export function courseById(id: string): Course {
  const found = courses.find((course) => course.id === id);
  if (found === undefined) throw new RangeError(`The bank has no course ${id}.`);
  return found;
}

// "charge less" begins like a price rise, and "raise money" like one too.
function priceDirection(text: string, course: Course): Course {
  if (
    course.id === 'price-up' &&
    /\b(?:less|lower|cheaper|hourly|monthly|per|annual|value)\b/.test(text)
  )
    return courseById(/\b(?:less|lower|cheaper)\b/.test(text) ? 'price-down' : 'price-model');
  if (
    course.id === 'price-up' &&
    !/\b(?:price|prices|pricing|rate|rates|fee|fees|charge|more|cost)\b|[$€£]/.test(text)
  )
    return courseById(/\b(?:money|fund|capital|round|invest)/.test(text) ? 'invest' : 'general');
  return course;
}

const prepositionOrEnd =
  /^(?:to|for|with|in|on|at|by|from|through|via|as|into|before|after|instead|until|this|next|now|and|or|first|so|per|than|that|which|who|using|without|over|across|under|within)$/i;

/** The noun phrase after the verb, made definite. */
function thingOf(act: string, course: Course, business: string): string {
  const [, second = '', ...later] = act.split(' ');
  const words =
    baseOfGerund(second) === null && !/^with$/.test(second) ? [second, ...later] : later;
  const from = words.findIndex((word) => /^from$/i.test(word));
  const to = words.findIndex((word) => /^to$/i.test(word));
  const into = /^(?:turn|convert|make|change)\b/.test(act)
    ? words.findIndex((word) => /^into$/i.test(word))
    : -1;
  // "move from hourly to fixed" and "turn the practice into a package" are about what comes of it.
  const rest =
    from >= 0 && to > from ? words.slice(to + 1) : into > 0 ? words.slice(into + 1) : words;
  while (
    rest.length > 0 &&
    /^(?:to|on|in|into|with|at|up|out|down|over|for|off|around|away)$/i.test(rest[0] ?? '')
  )
    rest.shift();
  const stop = rest.findIndex(
    (word, index) =>
      index > 0 &&
      prepositionOrEnd.test(word) &&
      // "a first salesperson" goes on, "hire a salesperson first" does not.
      !(/^(?:first|next)$/i.test(word) && /^(?:an?|the|your|our)$/i.test(rest[index - 1] ?? '')),
  );
  let noun = (stop < 0 ? rest : rest.slice(0, stop)).slice(0, 6).join(' ');
  if (course.id === 'price-up' || course.id === 'price-down') {
    const priced =
      /^(?:(?:the|your|your own) )?(?:[\w-]+ )?(?:prices?|pricing|rates?|fees?|cost)$/i;
    const rated =
      /\b(?:price|prices|pricing|rate|rates|fee|fees) (?:of|for|on) ((?:\S+ ?){1,5})/i.exec(act);
    if (rated?.[1] !== undefined) noun = untilPreposition(rated[1].trim());
    else if (priced.test(noun) || noun === '' || /^(?:more|less|them|it)$/i.test(noun))
      noun = pricedThing(business);
  }
  if (
    course.id === 'narrow' &&
    noun !== '' &&
    /^(?:niche|focus|concentrate|specialise|specialize|target)\b/.test(act)
  )
    return `the focus on ${noun}`;
  if (course.id === 'tools' && act.startsWith('automat')) return `the automation of ${noun}`;
  if (
    noun === '' ||
    /^(?:it|them|this|that|more|less|everything|full|solo|all|you|your|your own|going|doing)$/i.test(
      noun,
    )
  )
    return course.noun;
  return definite(noun);
}

// "your watercolor course business" is what is priced, less the business.
function pricedThing(business: string): string {
  const product = business.endsWith(' business')
    ? business.slice(0, -' business'.length)
    : (/^your .*\b(?:course|coaching|newsletter|app|saas|product|service|book|tool|podcast|membership|workshop|plugin|community)$/i.exec(
        business,
      )?.[0] ?? '');
  return product === '' || product === 'the' ? 'what you sell' : product;
}

function untilPreposition(phrase: string): string {
  const words = phrase.split(' ');
  const stop = words.findIndex((word, index) => index > 0 && prepositionOrEnd.test(word));
  return (stop < 0 ? words : words.slice(0, stop)).join(' ');
}

function definite(noun: string): string {
  return noun.replace(/^(?:an?|another|one)\s+/i, 'the ');
}

function firstWord(text: string): string {
  return text.split(' ')[0] ?? '';
}
