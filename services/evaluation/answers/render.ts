import type { RunResult } from '#services/optimizations/contract/result.ts';
import type { Opinion } from '#services/optimizations/prompts/reply-schemas.ts';
import { describeResult } from '#services/optimizations/reading/describe-result.ts';
import type { OpenRun } from '#services/optimizations/reading/read-run.ts';
import { opinionOf } from '#services/optimizations/reading/texts.ts';

/**
 * Every answer in one form, of every condition: the same four headings in the same order, plain text,
 * without counts of votes, names of models and ids.
 */
export type Parts = {
  recommendation: string;
  reasons: readonly string[];
  doubts: readonly string[];
  open: readonly string[];
};

export function rendered({ recommendation, reasons, doubts, open }: Parts): string {
  const sections: [string, readonly string[]][] = [
    ['Reasons and steps', reasons],
    ['Risks and other views', doubts],
    ['Open points', open],
  ];
  return [
    `Recommendation:\n${oneLine(recommendation)}`,
    ...sections.map(([heading, lines]) => {
      const filled = lines.map(oneLine).filter((line) => line !== '');
      return `${heading}:\n${filled.length === 0 ? '(none)' : filled.map((line) => `- ${line}`).join('\n')}`;
    }),
  ].join('\n\n');
}

/** Of a run that has ended; null without a result. */
export function partsOfRun({ view }: OpenRun): { parts: Parts; heading: string } | null {
  const result = describeResult(view);
  if (result === null) return null;
  const { heading, seat } = result;
  const alone = seat === null ? null : opinionOf(view, seat);
  return { parts: alone === null ? partsOfResult(result) : partsOfOpinion(alone), heading };
}

export function partsOfOpinion(opinion: Opinion): Parts {
  return {
    recommendation: opinion.recommendation.one_line,
    reasons: [...opinion.reasoning, ...opinion.claims.map(({ text }) => text)],
    doubts: opinion.risks,
    open: [...opinion.assumptions, ...opinion.missing_info],
  };
}

export function partsOfResult(result: RunResult): Parts {
  return {
    recommendation: result.decision,
    reasons: [
      ...result.sections.flatMap(({ blocks }) => blocks.map(({ text }) => text)),
      ...result.next_steps.map(stepLine),
    ],
    doubts: [
      ...result.flaws.flatMap(({ texts, reply }) => [
        ...texts.map(({ text }) => text),
        ...(reply === null ? [] : [reply]),
      ]),
      ...result.options.flatMap(({ text, answer }) =>
        answer === null ? [] : [`Another option: ${text}. ${answer.text}`],
      ),
      ...result.dissent.map(({ text }) => text),
    ],
    open: [...result.uncertainties, ...result.missing_facts],
  };
}

function stepLine({
  action,
  owner,
  by_days: days,
  measure,
  stop_if: stop,
}: RunResult['next_steps'][number]): string {
  const facts = [
    owner === 'you' || owner === '' ? '' : `Who: ${owner}.`,
    days === null ? '' : `Within ${days} days.`,
    measure === '' ? '' : `Measure: ${measure}`,
    stop === '' ? '' : `Stop if: ${stop}`,
  ];
  return [action, ...facts].filter((part) => part !== '').join(' ');
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
