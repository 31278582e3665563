/** Enough English to reuse a person's words: pronouns, verb forms and capitals. */

/** First person to second: "my shop", "should I" → "your shop", "should you". */
export function toSecondPerson(text: string): string {
  return secondPerson.reduce((result, [from, to]) => result.replace(from, to), text);
}

const secondPerson: readonly (readonly [RegExp, string])[] = [
  [/\b(?:I|i)['\u2019]m\b|\b(?:I|i) am\b|\b[Ww]e['\u2019]re\b|\b[Ww]e are\b/g, 'you are'],
  [/\b(?:I|i) was\b|\b[Ww]e were\b/g, 'you were'],
  [/\b(?:I|i)['\u2019]ve\b|\b[Ww]e['\u2019]ve\b/g, 'you have'],
  [/\b(?:I|i)['\u2019]d\b|\b[Ww]e['\u2019]d\b/g, 'you would'],
  [/\b(?:I|i)['\u2019]ll\b|\b[Ww]e['\u2019]ll\b/g, 'you will'],
  [/\bmyself\b/gi, 'yourself'],
  [/\bourselves\b/gi, 'yourselves'],
  [/\bmine\b/gi, 'yours'],
  [/\bours\b/gi, 'yours'],
  [/\bmy\b/gi, 'your'],
  [/\b[Oo]ur\b/g, 'your'],
  [/\bme\b/gi, 'you'],
  [/\bus\b/g, 'you'],
  [/\bI\b|\bi\b|\b[Ww]e\b/g, 'you'],
];

export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** "raise prices and drop the trial" → "raising prices and dropping the trial". */
export function gerundOf(phrase: string): string {
  const [first = '', ...rest] = phrase.split(' ');
  const tail = rest
    .join(' ')
    .replace(/\b(and|or|then) ([a-z]+)(?= [a-z])/g, (match, joint: string, verb: string) =>
      isVerb(verb) && !alsoNouns.has(verb) ? `${joint} ${gerundOfVerb(verb)}` : match,
    );
  return tail === '' ? gerundOfVerb(first) : `${gerundOfVerb(first)} ${tail}`;
}

/** "hiring" → "hire" when it is a form of a known verb; otherwise null. */
export function baseOfGerund(word: string): string | null {
  if (!word.endsWith('ing')) return null;
  const lower = word.toLowerCase();
  return verbList.find((verb) => gerundOfVerb(verb) === lower) ?? null;
}

export function isVerb(word: string): boolean {
  return verbs.has(word.toLowerCase());
}

function gerundOfVerb(verb: string): string {
  const lower = verb.toLowerCase();
  if (lower.includes('-')) {
    const cut = lower.lastIndexOf('-') + 1;
    return lower.slice(0, cut) + gerundOfVerb(lower.slice(cut));
  }
  if (lower.endsWith('ie')) return `${lower.slice(0, -2)}ying`;
  if (/[^eoy]e$/.test(lower) && lower !== 'be') return `${lower.slice(0, -1)}ing`;
  if (doubling.has(lower) || /^[^aeiou]*[aeiou][bdgmnprt]$/.test(lower))
    return `${lower}${lower.slice(-1)}ing`;
  return `${lower}ing`;
}

const doubling: ReadonlySet<string> = new Set(['quit', 'refer', 'transfer', 'begin', 'commit']);

const verbList = (
  'accept acquire adapt add adopt advertise allow announce answer apply approach ask attend attract ' +
  'automate avoid become begin boost borrow brand break bring broaden build bundle buy call cancel change ' +
  'charge choose close coach collaborate combine commit compete concentrate consolidate contact continue ' +
  'contract convert copy create cut deal decide delay delegate deliver design develop diversify do double ' +
  'drop earn email employ end enter expand experiment explore export extend fill finance find fire fix ' +
  'focus follow form franchise freelance get give go grow handle help hire hold host implement import ' +
  'improve include increase integrate introduce invest join keep kill launch lead learn lease leave let ' +
  'license limit list live lower maintain make manage market maximize merge migrate monetize move ' +
  'narrow negotiate network niche offer open operate optimize order outsource own package partner pause ' +
  'pay phase pick pilot pitch pivot plan post postpone prepare presell pre-sell price prioritize produce ' +
  'promote protect publish purchase pursue push put quit raise reach rebrand rebuild recruit redesign reduce ' +
  'refer refuse reinvest relaunch release relocate remain rename renegotiate renew rent reopen replace ' +
  'reposition require resign respond restructure retain retire rewrite run save say scale schedule sell ' +
  'send separate serve set share shift ship shorten shrink shut sign simplify specialize specialise split ' +
  'sponsor spend stand start stay stick stop store streamline structure subscribe survey switch take ' +
  'target teach test train transition translate travel try turn undercut upgrade upsell use validate ' +
  'wait win wind work write accept archive attend audit beat bid bootstrap cap crowdfund customize cross-sell decline ' +
  'delete discount document double downgrade downsize evaluate gather halve incorporate insource measure ' +
  'onboard pay personalize prune raise rebuild reconsider record register reject remodel reorganize ' +
  'renovate retrain review rework sample self-publish settle sign source stabilize standardize subcontract ' +
  'subscribe systemize trade trademark train triple white-label withdraw repair relieve rebuild'
).split(' ');

/** Verbs that mean a thing as often as an action, and so stay as they are after "and". */
const alsoNouns: ReadonlySet<string> = new Set(
  'design market plan price test work focus form travel support contract network brand store list call email post share limit trade form sample source record review train stock study document discount staff'.split(
    ' ',
  ),
);

const verbs: ReadonlySet<string> = new Set(verbList);
