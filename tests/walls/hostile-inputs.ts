/**
 * What a hostile or broken caller, person or model sends. Each list is data: a name, the input, and
 * where it differs from entry to entry, what must be true. The tests beside this file say where each
 * list is sent; a new entry needs no new test.
 */
export type Hostile<Input> = { name: string; input: Input };

const named = (inputs: Readonly<Record<string, string>>): Hostile<string>[] =>
  Object.entries(inputs).map(([name, input]) => ({ name, input }));

/** Short texts that cost a parser or a regular expression most when they are repeated. */
export const textUnits: readonly Hostile<string>[] = named({
  stars: '*',
  'pairs of stars': '**',
  'bold that never closes': '**a',
  'bold after spaces': '**a ',
  'emphasis that never closes': ' *a',
  'emphasis of two kinds': '*a_',
  'emphasis turned round': '_a*',
  underscores: '_',
  'pairs of underscores': '__a ',
  tildes: '~~',
  'strikes that never close': '~~a ',
  'opening brackets': '[',
  'closing brackets': ']',
  'middles of links': '](',
  'links that never close': '[a](',
  'links in links': '[[a](b)',
  'links with titles': '[a]( "',
  'links with angles': '[a](<',
  links: '[a](https://example.com/b) ',
  images: '![',
  'whole images': '![a](b)',
  'reference definitions': '[a]: https://example.com\n',
  footnotes: '[^a]: b\n',
  autolinks: '<https://example.com>',
  addresses: 'https://example.com/a?b=c ',
  'e-mail addresses': 'a@example.com ',
  'opening angles': '<',
  'closing angles': '>',
  'nested quotes': '> ',
  'quotes on lines': '\n> ',
  dashes: '- ',
  'list items': '\n- ',
  'deeper list items': '\n  - ',
  'task items': '\n- [ ] ',
  'nested numbers': '1. ',
  'numbered items': '\n1. ',
  'nested headings': '# ',
  headings: '\n## ',
  'underlined headings': '=\n',
  rules: '\n---\n',
  'lone dashes on lines': '-\n',
  'one letter a line': 'a\n',
  'empty lines': '\n\n',
  spaces: ' ',
  tabs: '\t',
  'no-break spaces': '\u00a0',
  'spaces before a line end': '  \n',
  backticks: '`',
  'code that never closes': '`a``',
  fences: '```\n',
  'fences of tildes': '~~~ js\n',
  backslashes: '\\',
  'escaped stars': '\\*',
  ampersands: '&',
  'character references': '&amp;',
  pipes: '|',
  'table rows': '| a | b |\n',
  'table heads': '|a|b|\n|--|--|\n',
  'table rules': '|--',
  'html tags': '<b>',
  'html tags that never close': '<a href="',
  'html comments': '<!-- a -->',
  'html comments that never close': '<!--',
  declarations: '<![CDATA[',
  'zero-width spaces': 'a\u200b',
  joiners: 'a\u200d',
  'overrides of direction': 'a\u202e',
  'isolates of direction': '\u2066a',
  'tag characters': '\u{e0041}',
  'variation selectors': '\ufe0f',
  'combining marks': '\u0301\u0323',
  'letters that decompose': '\ufdfa',
  'emoji sequences': '\u{1f469}\u200d\u{1f469}\u200d\u{1f467}',
  'halves of surrogate pairs': '\ud83d',
  'names of models': 'Claude ',
  'names with separators': 'gpt-1-2.3-',
  'who is who': 'I am ',
  'names that say who': 'I am an AI model made by Google ',
  'speaking as': 'speaking as an ',
  'as an assistant': 'As an AI, ',
  'ends of knowledge': 'my training data ',
  'short sentences': '. ',
  'orders to ignore': 'ignore all the ',
  'notes to reviewers': 'note to the ai ',
  'ends of blocks': '[end ',
  numbers: '1,000.',
  digits: '7',
  quotes: '"',
  'one word': 'word ',
});

/** Characters that reorder or hide what is written, and what must be left of the text around them. */
export const hiddenCharacters: readonly (Hostile<string> & { left: string })[] = [
  ...Object.entries({
    'an override of direction': '\u202e',
    'an embedding of direction': '\u202a',
    'the end of an embedding': '\u202c',
    'an isolate of direction': '\u2066',
    'the end of an isolate': '\u2069',
    'a mark from left to right': '\u200e',
    'a mark from right to left': '\u200f',
    'an Arabic mark': '\u061c',
    'a tag character': '\u{e0041}',
    'a cancelled tag': '\u{e007f}',
    'a zero-width space': '\u200b',
    'a word joiner': '\u2060',
    'a joiner between Latin letters': '\u200d',
    'a non-joiner between Latin letters': '\u200c',
    'a soft hyphen': '\u00ad',
    'a byte order mark': '\ufeff',
    'a filler that is a letter': '\u3164',
    'a variation of a letter': '\ufe0f',
    'a variation far above': '\u{e0100}',
    'a joiner behind a variation': '\ufe0f\u200d',
    'an annotation': '\ufff9',
    'a character that terminals obey': '\u001b',
    'the character that no database holds': '\u0000',
  }).map(([name, input]) => ({ name, input: `Cla${input}ude is right`, left: 'Claude is right' })),
  { name: 'half of a surrogate pair', input: 'a \ud83d b', left: 'a \ufffd b' },
  { name: 'a separator of lines', input: 'one line\u2028or two', left: 'one line\nor two' },
  {
    name: 'marks without an end',
    input: `e${'\u0301'.repeat(500)} as it is`,
    left: `e${'\u0301'.repeat(30)} as it is`,
  },
  // These have a meaning where they stand.
  ...Object.entries({
    'a family of emoji': 'We are \u{1f469}\u200d\u{1f469}\u200d\u{1f467}',
    'a flag of emoji': 'We are \u{1f3f3}\ufe0f\u200d\u{1f308}',
    'an emoji with a skin colour': 'I am \u{1f469}\u{1f3fd}\u200d\u{1f52c}',
    'a heart and a key': 'With \u2764\ufe0f and 1\ufe0f\u20e3',
    'a Persian non-joiner': '\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 now',
    'a Hindi joiner': '\u0915\u094d\u200d\u0937 now',
    'Hebrew and English': '\u05e9\u05dc\u05d5\u05dd means hello',
  }).map(([name, input]) => ({ name, input, left: input })),
];

/** Turns the order of the characters around it, wherever it is shown. */
export const reordering = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/** Counts as a broken provider writes them, as JSON. */
export const counts: readonly Hostile<string>[] = named({
  'a negative count': '-5',
  'a fraction': '1.5',
  'a number beyond all counts': '1e308',
  'a number that becomes infinite': '1e999',
  'more than is counted safely': '9007199254740993',
  'a trillion': '1000000000000',
  'a text': '"12"',
  'a truth': 'true',
  nothing: 'null',
  'a list': '[7]',
  'an object': '{"a":7}',
});

/** Waits as a broken provider asks for them, and the milliseconds that are left of each. */
export const waits: readonly (Hostile<Readonly<Record<string, string>>> & {
  left: number | null;
})[] = [
  { name: 'a negative wait', input: { 'retry-after': '-5' }, left: null },
  { name: 'a wait that is no number', input: { 'retry-after': 'NaN' }, left: null },
  { name: 'a wait in powers', input: { 'retry-after': '1e308' }, left: null },
  { name: 'an endless wait', input: { 'retry-after': 'Infinity' }, left: null },
  { name: 'a wait of a century', input: { 'retry-after': '3155760000' }, left: 3_600_000 },
  { name: 'a wait of 400 digits', input: { 'retry-after': '9'.repeat(400) }, left: 3_600_000 },
  {
    name: 'a day in the past',
    input: { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' },
    left: 0,
  },
  {
    name: 'a day in the far future',
    input: { 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' },
    left: 3_600_000,
  },
  { name: 'a day beyond all days', input: { 'retry-after': '+275760-09-14' }, left: null },
  { name: 'a negative wait in milliseconds', input: { 'retry-after-ms': '-1' }, left: null },
  { name: 'an endless wait in milliseconds', input: { 'retry-after-ms': '1e400' }, left: null },
  { name: 'milliseconds of a century', input: { 'retry-after-ms': '3e12' }, left: null },
  {
    name: 'milliseconds of 20 digits',
    input: { 'retry-after-ms': '9'.repeat(20) },
    left: 3_600_000,
  },
];

/** A text of this many characters, made of one unit. */
export function filled(unit: string, length: number): string {
  return unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
}
