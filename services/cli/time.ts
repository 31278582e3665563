/**
 * A day or a time (ISO 8601, UTC unless it says so); null for anything else. `Date.parse` also takes -1, and
 * reads the 30th of February as a day in March.
 */
export function timeOf(given: string): string | null {
  const match =
    /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?)?$/.exec(
      given,
    );
  const day = Date.parse(`${match?.[1]}T00:00:00Z`);
  if (!match || Number.isNaN(day) || !new Date(day).toISOString().startsWith(match[1] ?? ''))
    return null;
  const isUtc = given.includes('T') && match[2] === undefined;
  const time = Date.parse(isUtc ? `${given}Z` : given);
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}

/** The same for days alone. */
export function dayOf(given: string): string | null {
  return given.length === 10 ? timeOf(given) : null;
}
