import { toSecondPerson } from './grammar.ts';

/** What a person says in passing: what the business is, and its figures. */
export type Fact = { text: string; kind: 'money' | 'count' | 'share' | 'time' };

const trades =
  'side business|side project|online shop|online store|[Pp]odcast studio|shop|store|studio|agency|bakery|business|company|practice|newsletter|course|app|SaaS|saas|product|consultancy|service|startup|restaurant|café|cafe|salon|gym|brand|site|website|podcast|channel|blog|marketplace|firm|clinic|school|farm|workshop|membership|community|tool|plugin|book|coaching|freelancing|boutique|brewery|roastery|gallery|nursery|garage';

/** "your bakery in Lyon"; "the business" when nothing says. */
export function findBusiness(text: string): string {
  const flat = text.replace(/\s+/g, ' ');
  const owned = new RegExp(
    `\\b(?:I|We|we) (?:run|own|have|operate|manage|started|launched|founded|am running|'m running|am building|'m building)\\s+(?:a |an |the |my |our )?((?:[\\w'’-]+ ){0,4}?(?:${trades})\\b(?: (?:in [A-Z][\\w'’-]+(?: [A-Z][\\w'’-]+)?|for (?:[a-z-]+ )?[a-z]+s\\b))?)`,
  ).exec(flat)?.[1];
  const named =
    owned ??
    new RegExp(`\\b(?:[Mm]y|[Oo]ur) ((?:[\\w'’-]+ ){0,3}?(?:${trades})\\b)`).exec(flat)?.[1];
  if (named !== undefined) return `your ${clipBusiness(named)}`;
  const working =
    /\bI(?:'m| am) an? ((?:[\w-]+ ){0,3}?(?:designer|developer|consultant|coach|photographer|writer|copywriter|therapist|trainer|teacher|tutor|accountant|illustrator|editor|translator|marketer|engineer|artist|freelancer|architect|nutritionist|videographer|bookkeeper|lawyer|planner))\b/i.exec(
      flat,
    )?.[1];
  if (working !== undefined)
    return `your work as a ${working.toLowerCase()}`.replace(/\ba ([aeiou])/, 'an $1');
  const product = findProduct(flat);
  return product === null ? 'the business' : `${product} business`;
}

/** "your watercolor course" from "I sell a $29 watercolor course"; null when nothing is sold. */
function findProduct(text: string): string | null {
  const flat = text.replace(/\s+/g, ' ');
  const sold =
    /\b(?:I|We|we) (?:sell|make|teach|offer|produce) ((?:an? |my |our |the |some )?[^.,;:!?()]{3,60}?)(?= (?:to|for|on|at|in|with|from|through|via|and|but|online|that|which|who|while)\b|[.,;:!?()]|$)/.exec(
      flat,
    )?.[1];
  if (sold === undefined) return null;
  const noun = sold
    .replace(/^(?:an?|my|our|the|some) /i, '')
    .replace(/[$€£]\s?\d[\d,.]*(?:[kKmM])?(?:\/\w+)? ?/g, '')
    .trim();
  const lastThree = noun.split(' ').slice(-3).join(' ');
  const short = lastThree.length > longestName ? noun.split(' ').slice(-2).join(' ') : lastThree;
  return short === '' ? null : `your ${toSecondPerson(short)}`;
}

const longestName = 24;

function clipBusiness(phrase: string): string {
  return toSecondPerson(
    phrase
      .trim()
      .replace(/^(?:small|little|tiny|own|new|solo)\s+(?=\w+ )/i, (word) =>
        /^(?:own|new)/i.test(word) ? '' : word,
      ),
  ).replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase());
}

const units =
  'subscribers?|customers?|clients?|users?|followers?|orders?|leads?|students?|members?|visitors?|sales|hours?|employees?|people|units?|products?|calls?|reviews?|seats?|downloads?|readers?|buyers?|bookings?|projects?|freelancers?|guests?|patients?|listeners?|enquiries|inquiries|signups?|sign-ups|days?|weeks?|months?|years?|minutes?';
const per =
  '(?: (?:a|an|per|each|every) (?:day|week|month|year|hour|quarter|seat|user|customer|client|session|project))?';

/** Figures with their units, in the order in which they were written. */
export function findFacts(text: string): Fact[] {
  const found: (Fact & { at: number })[] = [];
  const collect = (pattern: RegExp, kind: Fact['kind']) => {
    for (const match of text.matchAll(pattern))
      found.push({ text: match[0].replace(/\s+/g, ' ').trim(), kind, at: match.index });
  };
  collect(
    new RegExp(`[$€£]\\s?\\d[\\d,.]*\\d?(?:\\s?[kKmM]\\b)?(?:/[a-z]+)?(?: MRR| ARR)?${per}`, 'g'),
    'money',
  );
  collect(
    new RegExp(
      `\\b\\d[\\d,.]*\\s?(?:%|percent\\b)(?: (?:churn|margin|conversion|of (?:my|our|the) \\w+))?`,
      'g',
    ),
    'share',
  );
  collect(
    new RegExp(`(?<![$€£\\d.,])\\b\\d[\\d,]*\\s(?:[a-z-]+ ){0,2}?(?:${units})\\b${per}`, 'g'),
    'count',
  );
  return found
    .toSorted((one, other) => one.at - other.at)
    .filter((fact, index, all) => all.findIndex((each) => each.text === fact.text) === index)
    .filter(({ text: fact }) => fact.length <= 45)
    .map(({ text: fact, kind }) => ({
      text: toSecondPerson(fact).replace(/[.,]$/, ''),
      kind:
        /\b(?:hours?|days?|weeks?|months?|years?|minutes?)\b/.test(fact) && kind === 'count'
          ? 'time'
          : kind,
    }));
}

/** Lower-case words with how often each occurs. */
export function countWords(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of text.toLowerCase().match(/[\p{L}][\p{L}\p{N}-]*/gu) ?? [])
    counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** How the person calls those who buy, in the singular: "member", "client"; "customer" by default. */
export function findAudience(vocabulary: ReadonlyMap<string, number>): string {
  const named = audiences
    .map((noun) => ({
      noun,
      count: (vocabulary.get(noun) ?? 0) + (vocabulary.get(`${noun}s`) ?? 0),
    }))
    .toSorted((one, other) => other.count - one.count)[0];
  if (named !== undefined && named.count > 0) return named.noun;
  return (
    settings.find(({ words }) => words.some((word) => vocabulary.has(word)))?.noun ?? 'customer'
  );
}

const audiences = [
  'client',
  'member',
  'student',
  'subscriber',
  'reader',
  'user',
  'guest',
  'patient',
  'listener',
  'customer',
  'buyer',
  'player',
  'tenant',
  'donor',
  'pupil',
];

// What the people are called where nobody names them.
const settings = [
  {
    noun: 'client',
    words: [
      'agency',
      'freelance',
      'consulting',
      'consultancy',
      'coaching',
      'photographer',
      'designer',
      'therapist',
    ],
  },
  { noun: 'reader', words: ['newsletter', 'blog', 'book', 'ebook'] },
  { noun: 'user', words: ['app', 'saas', 'software', 'plugin'] },
  { noun: 'student', words: ['course', 'school', 'lessons', 'workshop'] },
  { noun: 'guest', words: ['restaurant', 'hotel', 'café', 'cafe', 'retreat'] },
  { noun: 'listener', words: ['podcast'] },
];
