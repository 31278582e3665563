/**
 * In which locale numbers and dates are written when a call names none. Only the pages choose one, the
 * signed-in user's; without it the machine's own counts.
 */
let chosen: string | undefined;

export function writeIn(locale: string | null): void {
  chosen = locale ?? undefined;
}

export function chosenLocale(): string | undefined {
  return chosen;
}

/** Numbers and dates of `write` in US English, so that a file reads the same for everybody. */
export function inEnglish<Written>(write: () => Written): Written {
  const before = chosen;
  chosen = 'en-US';
  try {
    return write();
  } finally {
    chosen = before;
  }
}

/**
 * How dates are written: in English words, like the sentences around them, with the digits, the clock
 * and the order of day and month of the locale.
 */
export function dateFormat(
  style: Intl.DateTimeFormatOptions,
  locale: string | undefined = chosen,
): Intl.DateTimeFormat {
  const own = new Intl.DateTimeFormat(locale, { timeStyle: 'short' }).resolvedOptions();
  const { numberingSystem, hourCycle } = own;
  return new Intl.DateTimeFormat(/^en\b/.test(own.locale) ? own.locale : 'en-GB', {
    ...style,
    numberingSystem,
    ...(style.timeStyle === undefined || hourCycle === undefined ? {} : { hourCycle }),
  });
}

/** "December 31, 2026": a moment's day in UTC, so that all readers see the same date. */
export function dayInWords(at: string | Date): string {
  return longDay.format(new Date(at));
}

/** "October 25 to November 24, 2026", in UTC. */
export function daysInWords({ from, to }: { from: string; to: string }): string {
  return longDay.formatRange(new Date(from), new Date(to)).replace(/\s–\s/u, ' to ');
}

const longDay = dateFormat({ dateStyle: 'long', timeZone: 'UTC' }, 'en-US');
