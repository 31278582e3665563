/**
 * Numbers that a recommendation may not invent: money, shares, large numbers, and counts of what the
 * question counts. They are compared by value, so 1,000, 1.000, 1 000 and 1k are one number. In
 * a source 1.500 may be read in either convention. A number inside a word (Q3, c12) is a name and not a number.
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
  const known = new Set(sources.flatMap((text) => numbersIn(text).flatMap(({ values }) => values)));
  const units = new Set(
    question
      .flatMap((text) => numbersIn(text).map(({ unit }) => unit))
      .filter((unit) => unit !== '' && !months.test(unit)),
  );
  const unknown = statements.flatMap(({ text, isStep }) =>
    numbersIn(text)
      .filter((number) => isChecked(number, units) && !(isStep && isOfPlan(number)))
      .filter(({ values: [value] }) => value === undefined || !known.has(value))
      .map(({ written }) => written),
  );
  return [...new Set(unknown)];
}

type Found = {
  written: string;
  /** Each value that the digits may mean, the usual one first: only a source has the others, too. */
  values: readonly number[];
  isMoney: boolean;
  isShare: boolean;
  /** The word after it, without a plural s; empty without one. */
  unit: string;
};

function isChecked({ values, isMoney, isShare, unit }: Found, units: ReadonlySet<string>): boolean {
  return isMoney || isShare || units.has(unit) || values.every((each) => isLarge(each));
}

function isLarge(value: number): boolean {
  const isYear = Number.isInteger(value) && value >= 1900 && value <= 2100;
  return value > 100 && !isYear;
}

function isOfPlan({ values, isMoney, isShare, unit }: Found): boolean {
  if (isMoney || isShare) return false;
  const isSmall = values.some((value) => Number.isInteger(value) && value <= 12);
  return isSmall || durations.test(unit) || months.test(unit);
}

// cspell:disable
const numberPattern =
  /(?<![\p{L}\p{N}_])(?<before>(?:US|A|C)?[$€£¥]\s?|(?:USD|EUR|GBP|CHF)\s)?(?<digits>\d{1,3}(?: \d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,'’]\d+)*)(?<rest>\s?(?:k|m|bn|thousand|million|billion|tsd\.?|mio\.?|mrd\.?|tausend|millionen|milliarden)(?![\p{L}\p{N}]))?(?<share>\s?%|\s?(?:per ?cent|prozent)(?!\p{L}))?(?<after>\s?[$€£¥]|\s?(?:usd|eur|gbp|chf|dollars?|euros?|pounds?|francs?|franken)(?!\p{L}))?(?:[\s-](?<unit>\p{L}{3,}))?/giu;

const magnitudes: Readonly<Record<string, number>> = {
  k: 1e3,
  thousand: 1e3,
  tsd: 1e3,
  tausend: 1e3,
  m: 1e6,
  mio: 1e6,
  million: 1e6,
  millionen: 1e6,
  bn: 1e9,
  mrd: 1e9,
  billion: 1e9,
  milliarden: 1e9,
};

const durations =
  /^(?:minute|hour|day|week|month|quarter|year|minuten|stunden?|tage?n?|wochen?|monate?n?|quartale?n?|jahre?n?)$/;
const months =
  /^(?:jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)(?:uary|ruary|ch|il|e|y|ust|t|tember|ober|ember|uar|ruar|z|i)?$/;
// cspell:enable

function numbersIn(text: string): Found[] {
  // Spaces of every width become plain ones, and full-width digits ASCII ones.
  return [...text.normalize('NFKC').matchAll(numberPattern)].map(({ 0: whole, groups = {} }) => {
    const { before, digits = '', rest, share, after, unit = '' } = groups;
    const magnitude = magnitudes[rest?.trim().replace('.', '').toLowerCase() ?? ''] ?? 1;
    return {
      written: (unit === '' ? whole : whole.slice(0, -unit.length - 1)).trim(),
      values: readings(digits).map((value) => value * magnitude),
      isMoney: before !== undefined || after !== undefined,
      isShare: share !== undefined,
      unit: unit.toLowerCase().replace(/s$/, ''),
    };
  });
}

/** A point or comma before three digits may separate thousands or decimals. */
function readings(digits: string): number[] {
  const plain = digits.replace(/[ '’]/g, '');
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
  const isGrouped = /^[1-9]\d{0,2}(?:[.,]\d{3})+$/.test(plain);
  if (marks.length > 1) return [isGrouped ? asThousands() : asDecimal()];
  return isGrouped ? [asThousands(), asDecimal()] : [asDecimal()];
}
