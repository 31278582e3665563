/**
 * Numbers that a recommendation may not invent: money, shares, large numbers, and counts of what the
 * question counts. They are compared by value, so 1,000, 1.000, 1 000 and 1k are one number. What a
 * recommendation says has its usual reading; a source has every one: 1.500 in either convention, and
 * the cells of a table, 120 340 560 or 120,340,560, each on its own. A number inside a word (Q3, c12) is a
 * name and not a number.
 */
export type Statement = { text: string; isStep: boolean };

/**
 * The statements' numbers that are in no source, as written, each once. The small counts, durations
 * and dates of a next step are the writer's own.
 *
 * @param sources every text that a number may come from
 * @param question the sources that say what is counted
 */
export function numbersNotIn(
  statements: readonly Statement[],
  sources: readonly string[],
  question: readonly string[],
): string[] {
  const known = new Set(sources.flatMap((text) => numbersIn(text).flatMap(everyReading)));
  const units = new Set(
    question
      .flatMap((text) => numbersIn(text).map(({ unit }) => unit))
      .filter((unit) => unit !== '' && !months.test(unit)),
  );
  const unknown = statements.flatMap(({ text, isStep }) =>
    numbersIn(text)
      .filter((number) => isChecked(number, units) && !(isStep && isOfPlan(number)))
      .filter((number) => !usualReading(number).some((value) => known.has(value)))
      .map(({ written }) => written),
  );
  return [...new Set(unknown)];
}

type Found = {
  written: string;
  digits: string;
  /** Without a currency, share, magnitude or unit on its line. */
  isBare: boolean;
  /** Powers of ten. Only `mil` has two, a thousand in Spanish and a million in Czech. */
  powers: readonly number[];
  isMoney: boolean;
  isShare: boolean;
  /** The word after it, without a plural s; empty without one. */
  unit: string;
};

function isChecked(number: Found, units: ReadonlySet<string>): boolean {
  const { isMoney, isShare, unit } = number;
  return isMoney || isShare || units.has(unit) || readings(number).every((value) => isLarge(value));
}

function isLarge(value: number): boolean {
  const isYear = Number.isInteger(value) && value >= 1900 && value <= 2100;
  return value > 100 && !isYear;
}

function isOfPlan(number: Found): boolean {
  const { isMoney, isShare, unit } = number;
  if (isMoney || isShare) return false;
  const isSmall = readings(number).some((value) => Number.isInteger(value) && value <= 12);
  return isSmall || durations.test(unit) || months.test(unit);
}

// cspell:disable
const powers: Readonly<Record<string, readonly number[]>> = {
  thousand: [3],
  mil: [3, 6],
  lakh: [5],
  million: [6],
  crore: [7],
  billion: [9],
  trillion: [12],
};

// In any case of letters, unless another case is an ordinary word or measure, such as 12 mm or 3 ft.
const magnitude = String.raw`(?:
  (?<thousand>k|thousands?|tsd\.?|tausend|t(?=€|eur)|mille|mila|duizend|tusen|tys\.?|тыс\.?)|
  (?<mil>mil\.?(?!\smil))|
  (?<lakh>lakhs?|lacs?)|
  (?<million>m|(?-i:MM)|mn|mio\.?|mln\.?|million(?:s|en)?|milion[eiyů]?|milionów|mill[oó]n(?:es)?|
    milh(?:ão|ões)|miljoen|miljon(?:er)?|млн\.?)|
  (?<crore>crores?|(?-i:Cr))|
  (?<billion>bn|(?<=\d)(?-i:B)|billions?|mrd\.?|mld\.?|mds?(?=\s?€)|milliard(?:s|en?)?|
    miliard(?:[oiy]|ów)?|miljard(?:en|er)?|bilh(?:ão|ões)|mil\smill[oó]nes|mil\smilhões|млрд\.?)|
  (?<trillion>trillions?)
)(?=eur|usd|chf|[^\p{L}\p{N}]|$)`;

const sign = String.raw`(?:US|AU?|CA?|NZ|HK|SG?|MX|R)?\p{Sc}`;
const code = String.raw`usd|eur|gbp|chf|rs|kr|zł|kč|inr|(?-i:JPY|CNY|AUD|CAD|NZD|SGD|HKD|SEK|NOK|DKK|PLN|CZK|HUF|RON|BRL|MXN|ZAR|AED|ILS|TRY)`;
const name = String.raw`dollars?|euros?|pounds?|francs?|franken|rupees?|yen|yuan|kronor|kroner|złotych|zloty|reais|pesos?|dólares|dollari|(?-i:Ft)|lei|руб`;

const numberPattern = new RegExp(
  String.raw`(?<![\p{L}\p{N}_])
    (?<before>${sign}\s?|(?:${code})\.?\s?)?
    (?<digits>\d{1,3}(?:[ ]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,'’·]\d+)*)
    (?<rest>\s?${magnitude})?
    (?<share>\s?%|\s?(?:per[ ]?cent|prozent)(?!\p{L}))?
    (?<after>\s?${sign}|\s?(?:d['’]|de\s)?(?:${code}|${name})(?!\p{L}))?
    (?:[\s-](?<unit>\p{L}{3,}))?`.replace(/\n\s*/g, ''),
  'giu',
);

const durations =
  /^(?:minute|hour|day|week|month|quarter|year|minuten|stunden?|tage?n?|wochen?|monate?n?|quartale?n?|jahre?n?)$/;
const months =
  /^(?:jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)(?:uary|ruary|ch|il|e|y|ust|t|tember|ober|ember|uar|ruar|z|i)?$/;
// cspell:enable

function numbersIn(text: string): Found[] {
  // Spaces of every width become plain ones, and full-width digits ASCII ones.
  return [...text.normalize('NFKC').matchAll(numberPattern)].map(({ 0: whole, groups = {} }) => {
    const { before, digits = '', share, after, unit = '' } = groups;
    const word = Object.keys(powers).find((each) => groups[each] !== undefined) ?? '';
    return {
      written: (unit === '' ? whole : whole.slice(0, -unit.length - 1)).trim(),
      digits,
      isBare: whole === digits || whole.startsWith(`${digits}\n`),
      powers: powers[word] ?? [0],
      isMoney: before !== undefined || after !== undefined,
      isShare: share !== undefined,
      unit: unit.toLowerCase().replace(/s$/, ''),
    };
  });
}

/** Each value of the whole number. */
function readings({ digits, powers: magnitudes }: Pick<Found, 'digits' | 'powers'>): number[] {
  return raised(valuesOf(digits), magnitudes);
}

function usualReading({ digits, powers: magnitudes }: Found): number[] {
  return raised(valuesOf(digits).slice(0, 1), magnitudes);
}

/**
 * Also of each cell and of neighbouring ones; a magnitude belongs to the last one. Commas part the
 * cells of a CSV file only in bare digits: €1,250 is no 250.
 */
function everyReading(number: Found): number[] {
  const { digits, isBare, powers: magnitudes } = number;
  const cells = digits.split(isBare ? /(?<=[ ,])/ : /(?<= )/);
  const runs = cells.flatMap((_, from) =>
    Array.from({ length: Math.min(mostCells, cells.length - from) }, (_cell, more) => ({
      digits: cells
        .slice(from, from + more + 1)
        .join('')
        .replace(/[ ,]$/, ''),
      powers: from + more + 1 === cells.length ? magnitudes : [0],
    })),
  );
  return [number, ...runs].flatMap(readings);
}

/** So many make trillions. */
const mostCells = 5;

/** Rounded, because 1.1 times a million is a little more than 1,100,000. */
function raised(values: readonly number[], magnitudes: readonly number[]): number[] {
  return values.flatMap((value) =>
    magnitudes.map((power) => Number((value * 10 ** power).toPrecision(15))),
  );
}

/** A point or comma before three digits may separate thousands or decimals. */
function valuesOf(digits: string): number[] {
  const plain = digits.replace(/[ '’]/g, '').replaceAll('·', '.');
  const marks = plain.match(/[.,]/g) ?? [];
  const last = marks.at(-1);
  if (last === undefined) return [Number(plain)];
  const isMixed = new Set(marks).size > 1;
  const asDecimal = () => {
    const at = plain.lastIndexOf(last);
    return Number(`${plain.slice(0, at).replace(/[.,]/g, '')}.${plain.slice(at + 1)}`);
  };
  const asThousands = () => Number(plain.replace(/[.,]/g, ''));
  if (isMixed) return [asDecimal()];
  // In India, 12,50,000 is 12.5 lakh.
  const isGrouped = /^[1-9](?:\d{0,2}(?:[.,]\d{3})+|\d?(?:,\d{2})+,\d{3})$/.test(plain);
  if (marks.length > 1) return [isGrouped ? asThousands() : asDecimal()];
  return isGrouped ? [asThousands(), asDecimal()] : [asDecimal()];
}
