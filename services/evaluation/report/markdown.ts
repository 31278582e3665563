import { conditionWords } from '#services/evaluation/answers/conditions.ts';
import type { Estimate } from '#services/evaluation/statistics.ts';
import { escapeMarkdown } from '#services/optimizations/prompts/plain-text.ts';
import { figure, usd } from '#services/platform/numbers.ts';
import type { ConditionFigures } from './figures.ts';
import type { Report } from './report.ts';

/** A report for people. Every part of a simulated one says so. */
export function reportMarkdown(report: Report): string {
  const mark = report.simulated === null ? '' : ' (simulated)';
  const parts: (readonly [string, readonly string[]])[] = [
    [`# One model or the council${mark}`, [...notices(report), strongest(report), verdict(report)]],
    [`## Which answer judges prefer${mark}`, [winRates(report), winRatesNote]],
    [`## What the rubric says${mark}`, [rubric(report), rubricNote]],
    [`## Cost, time and length${mark}`, [costs(report), costsNote(report)]],
    [`## The judges${mark}`, [judges(report), judgesNote(report)]],
    [`## What is missing${mark}`, missing(report)],
    [`## What was run${mark}`, [...run(report), models(report)]],
  ];
  return `${parts
    .map(([heading, blocks]) => [heading, ...blocks.filter((block) => block !== '')].join('\n\n'))
    .join('\n\n')}\n`;
}

function strongest({ strongest: ids }: Report): string {
  return `The strongest model of the panel is ${ids.map(escapeMarkdown).join(' or ')}${ids.length > 1 ? ', depending on the case' : ''}.`;
}

function notices(report: Report): string[] {
  const {
    simulated,
    ended,
    cases,
    figures: { completeCases },
  } = report;
  return [
    ...(simulated === null ? [] : [`> **${simulated.notice}** ${plantedWords(report)}`]),
    ...(ended === 'complete' && completeCases === cases.asked
      ? []
      : [
          `> **Partial.** ${endedWords[ended]} ${completeCases} of ${cases.asked} cases are complete, and only these are compared.`,
        ]),
  ];
}

function plantedWords({ simulated, conditions }: Report): string {
  if (simulated === null) return '';
  const { plantedBest, found } = simulated;
  const leftOut = plantedBest !== null && !conditions.includes(plantedBest);
  const sentences = [
    plantedBest === null
      ? 'No condition was planted as the best.'
      : `Planted as the best: ${conditionWords[plantedBest]}${leftOut ? ', which is not compared here, so no other is the best' : ''}.`,
    found === null ? '' : `The figures ${found ? 'agree' : 'disagree'} with this.`,
  ];
  return sentences.join(' ').trim();
}

const endedWords = {
  complete: 'Some answers or judgments failed.',
  budget: 'The budget did not allow a further call.',
  interrupted: 'The evaluation was stopped.',
} as const;

function verdict({ figures, cases, simulated }: Report): string {
  const { best, completeCases } = figures;
  const [start, no] = simulated === null ? ['', 'No'] : ['In this simulation, ', 'no'];
  if (completeCases < cases.fewestForAVerdict)
    return `${start}${no} condition is named the best with fewer than ${cases.fewestForAVerdict} complete cases.`;
  if (best === null)
    return `${start}${no} condition is better than each of the others beyond chance.`;
  return `${start}**${conditionWords[best]}** is better than each of the others beyond chance: every one of its intervals excludes 50%.`;
}

function winRates({ figures }: Report): string {
  const names = figures.judges.map(({ judge }) => judge);
  return table(
    [
      'Condition',
      'against',
      'Win rate',
      '95% interval',
      'Won',
      'Tied',
      'Lost',
      ...names.map((name) => `By ${name}`),
    ],
    figures.comparisons.map(({ one: name, other, winRate, won, tied, lost, byJudge }) => [
      conditionWords[name],
      conditionWords[other],
      shareWords(winRate.mean),
      intervalWords(winRate, percentWords),
      String(won),
      String(tied),
      String(lost),
      ...names.map((judge) => shareWords(byJudge[judge] ?? null)),
    ]),
  );
}

const winRatesNote =
  'Won, Tied and Lost count verdicts, one of each judge on each case: the win rate is Won plus half of Tied, divided by all three together. Where a judge prefers another answer when the two change places, that is a tie. Intervals come from drawing the cases 10,000 times again.';

function rubric({ figures }: Report): string {
  return table(
    ['Condition', 'Rubric met, of 100', '95% interval', 'Traps walked into, %', '95% interval'],
    figures.conditions.map(({ condition, rubric: met, traps }) => [
      conditionWords[condition],
      met.mean === null ? none : one(met.mean),
      intervalWords(met, one),
      traps.mean === null ? none : one(traps.mean),
      intervalWords(traps, one),
    ]),
  );
}

const rubricNote =
  'Yes counts 1, partly ½ and no 0, by the weights of the criteria. These marks are given beside another answer, so they are no absolute grades.';

function costs({ figures }: Report): string {
  return table(
    ['Condition', 'Answers', 'Calls', 'Tokens in', 'Tokens out', 'Cost', 'Seconds', 'Words'],
    figures.conditions.map((each) => [
      conditionWords[each.condition],
      String(each.answers),
      whole(each.medianCalls),
      whole(each.medianInputTokens),
      whole(each.medianOutputTokens),
      costWords(each),
      each.medianSeconds === null ? none : one(each.medianSeconds),
      whole(each.medianWords),
    ]),
  );
}

function costsNote({ simulated, figures }: Report): string {
  const revealed = figures.conditions.filter(({ revealing }) => revealing > 0);
  return [
    'Medians over all answers.',
    simulated === null ? '' : 'Costs are what such calls would have cost; times mean nothing.',
    'The conditions differ in the number of calls and tokens, and so does what they cost: a difference in quality is not a difference at equal cost.',
    revealed.length === 0
      ? 'No answer holds a word of the list of words that would reveal how it was made.'
      : `Words that may reveal how an answer was made are left in ${revealed.map(({ condition, revealing, answers }) => `${revealing} of ${answers} answers of “${conditionWords[condition]}”`).join(', ')}.`,
  ]
    .filter((sentence) => sentence !== '')
    .join(' ');
}

function judges({ figures }: Report): string {
  return table(
    ['Judge', 'Judgments', 'Failed', 'Same verdict in both orders', 'Prefers the first'],
    figures.judges.map(({ judge, judgments, failed, consistency, firstShare }) => [
      judge,
      String(judgments),
      String(failed),
      shareWords(consistency),
      shareWords(firstShare),
    ]),
  );
}

function judgesNote({ judges: all, figures }: Report): string {
  const related = all.filter(({ siblings }) => siblings > 0);
  return [
    all.length === 1 ? 'There is only one judge, so nothing checks it.' : '',
    figures.judgesAgree === null
      ? ''
      : `The judges score ${percentWords(figures.judgesAgree)} of all pairs alike.`,
    related.length === 0
      ? 'No judge comes from a maker that has a seat on the panel.'
      : `${related.map(({ model }) => model).join(' and ')} ${related.length === 1 ? 'comes from a maker that has' : 'come from makers that have'} seats on the panel, because no other model was available or named.`,
  ]
    .filter((sentence) => sentence !== '')
    .join(' ');
}

const listedAtMost = 50;

function missing({ missing: all, refusals }: Report): string[] {
  if (all.length === 0) return ['Nothing: every answer and every judgment is there.'];
  return [
    `${all.length} missing; refused by a model: ${refusals.answers} answers, ${refusals.judgments} judgments.`,
    all
      .slice(0, listedAtMost)
      .map(({ caseId, what, why }) => escapeMarkdown(`${caseId}: ${what}: ${why}`))
      .map((line) => `- ${line}`)
      .join('\n'),
    all.length > listedAtMost ? `The rest is in report.json.` : '',
  ];
}

function run({ at, seed, versions, strategy, cases, budget, figures }: Report): string[] {
  const headings = figures.conditions.flatMap(({ condition, headings: counts }) =>
    Object.entries(counts).map(
      ([heading, count]) =>
        `${conditionWords[condition]}: ${heading.replaceAll('_', ' ')} ${count}`,
    ),
  );
  const limit =
    budget.limitUsd === null ? 'no limit' : `limit ${usd(budget.limitUsd, [2, 2], 'en-US')}`;
  const lines = [
    `Date: ${at}`,
    `Strategy: ${strategy.id}, version ${strategy.version}`,
    `Cases: ${cases.asked}, complete ${figures.completeCases}`,
    `Seed: ${seed}`,
    `Versions: product ${versions.product}, prompts ${versions.prompts}, judging ${versions.judging}, metric ${versions.metric}, catalogue ${versions.catalogue}`,
    `Counted against the budget: ${usd(budget.countedUsd, [2, 4], 'en-US')} (${limit})`,
    ...(headings.length === 0 ? [] : [`Published as: ${headings.join('; ')}`]),
  ];
  return [lines.map((line) => `- ${escapeMarkdown(line)}`).join('\n')];
}

function models(report: Report): string {
  return table(
    ['Place', 'Model', 'Provider', 'Id there', 'Effort', 'USD per million tokens in', 'out'],
    [...report.models, ...report.judges].map((each) => [
      each.places,
      each.model,
      each.provider,
      each.remoteId,
      each.effort ?? 'its own',
      each.inputPerMTok === null ? none : String(each.inputPerMTok),
      each.outputPerMTok === null ? none : String(each.outputPerMTok),
    ]),
  );
}

// ── words ───────────────────────────────────────────────────────────────────────────────────────

const none = '–';

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(escapeMarkdown).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}

function costWords({ medianCostMicros, costIsLeast }: ConditionFigures): string {
  if (medianCostMicros === null) return none;
  return `${costIsLeast ? 'at least ' : ''}${usd(medianCostMicros / 1e6, [4, 4], 'en-US')}`;
}

function intervalWords({ interval }: Estimate, words: (value: number) => string): string {
  return interval === null ? none : `${words(interval.low)} to ${words(interval.high)}`;
}

function percentWords(share: number): string {
  return `${(share * 100).toFixed(1)}%`;
}

function shareWords(share: number | null): string {
  return share === null ? none : percentWords(share);
}

function one(value: number): string {
  return value.toFixed(1);
}

function whole(value: number | null): string {
  return value === null ? none : figure(Math.round(value), 'en-US');
}
