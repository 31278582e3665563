import type { UnprovenLine } from '#services/optimizations/audit/pack/pack-checks.ts';

/** What `verify` says of texts in a file whose words nothing in it proves. */
export function unprovenSentence({
  line,
  run,
  event,
  field,
  in_part: inPart,
}: UnprovenLine): string {
  const why = inPart
    ? 'checked prompts hold at most a part of its words'
    : 'nothing in the file proves its words';
  return `line ${line}, ${event} of ${run}, text "${field}": ${why}`;
}

/** Never a bare "Verified" where a text could have other words. */
export function verifiedSentence(
  unproven: readonly UnprovenLine[],
  events: number,
  runId: string,
): string {
  const subject = `${events} events of ${runId}`;
  const inPart = unproven.filter((text) => text.in_part).length;
  const wholly = unproven.length - inPart;
  const exceptions = [
    ...(wholly > 0 ? [`the words of ${textsOf(wholly)}, which nothing in the file proves`] : []),
    ...(inPart > 0
      ? [`${wholly > 0 ? '' : 'the words '}of ${textsOf(inPart)} that it proves at most in part`]
      : []),
  ];
  return exceptions.length === 0
    ? `Verified: ${subject}.`
    : `Verified, except ${exceptions.join(', and ')}: ${subject}.`;
}

function textsOf(count: number): string {
  return count === 1 ? '1 text' : `${count} texts`;
}
