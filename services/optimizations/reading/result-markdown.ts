import type {
  BiasAnalysis,
  Disagreement,
  Optimization,
  OptionSide,
  RunResult,
} from '#services/optimizations/contract.ts';
import { escapeMarkdown } from '#services/optimizations/prompts/plain-text.ts';
import {
  unwrittenWords,
  campsWords,
  divergencesOf,
  flawsTitle,
  flawTexts,
  headingWords,
  isAdvice,
  minorityFlaws,
  missingTitle,
  objectionTitle,
  objectionWords,
  optionFacts,
  openPoints,
  optionsTitle,
  replyWords,
  seatName,
  seatNames,
  settledTitle,
  sideWords,
  stanceWord,
  stepFacts,
  stepsTitle,
  tieBreakNote,
  tieBreakOption,
  tieBreakTitle,
  verifiedWords,
  voteWords,
  winnerWords,
} from './result-words.ts';
import type { Names } from './result-words.ts';
import {
  changingClaims,
  changingWords,
  wouldChangeTitle,
} from '#services/optimizations/refinement/words.ts';
import { claimText } from './texts.ts';

/**
 * The result of a run as Markdown, in the order of its page. Everything that a model wrote is escaped;
 * claims are numbered as they are first cited, and listed at the end.
 */
export function resultMarkdown(run: Optimization, result: RunResult): string[] {
  const cited = citedClaims(result);
  const marks = (ids: readonly string[]) => {
    const found = ids.map((id) => cited.indexOf(id) + 1).filter((number) => number > 0);
    return found.length === 0 ? '' : ` (${[...new Set(found)].join(', ')})`;
  };
  const { bias } = run.evolution;
  return [
    `## ${headingWords(result)}`,
    ...outcome(run, result),
    bias === null ? '' : agreement(run, bias),
    part(
      `### ${optionsTitle}`,
      result.options.map((option) => optionPart(run, option)),
    ),
    tieBreak(result),
    part(
      `### ${flawsTitle}`,
      result.flaws.map((flaw) =>
        [
          `- About the answer of ${name(run, flaw.about_seat)}`,
          ...flawTexts(run, flaw).map(
            ({ seats, text }) =>
              `  - ${escapeMarkdown(seatNames(run.models, seats))}: ${escapeMarkdown(text)}`,
          ),
          `  - ${escapeMarkdown(replyWords(flaw))}`,
        ].join('\n'),
      ),
    ),
    list(
      `### ${stepsTitle(result)}`,
      result.next_steps.map((step, index) => {
        const facts = stepFacts(step, run.ended_at).map(({ label, text }) => `${label}: ${text}`);
        const line = [step.action, ...facts].map(escapeMarkdown).join(' · ');
        return `${index + 1}. [${step.done ? 'x' : ' '}] ${line}${marks(step.claim_ids)}`;
      }),
    ),
    list(
      `### ${wouldChangeTitle}`,
      changingClaims(run.council).map(({ id, seats }) =>
        bullet(`${claimText(run.council, id)} ${changingWords(seats)}`),
      ),
    ),
    ...result.sections.map((section) =>
      part(
        `### ${escapeMarkdown(section.heading)}`,
        section.blocks.map((block) => escapeMarkdown(block.text) + marks(block.claim_ids)),
      ),
    ),
    ...(bias === null ? [] : doubts(run, result, bias)),
    list(
      '### Claims',
      cited.map((id, index) => `${index + 1}. ${escapeMarkdown(claimText(run.council, id))}`),
    ),
  ];
}

function outcome(run: Optimization, result: RunResult): string[] {
  const { objection, missing_facts: missing, decision, decision_option: option } = result;
  const sentences = [
    voteWords(run.council, result),
    unwrittenWords(run, result),
    verifiedWords(run, result),
  ].filter((sentence) => sentence !== null);
  const isAbout = isAdvice(result) || (result.heading === 'undecidable' && decision !== option);
  return [
    isAdvice(result) ? `**${escapeMarkdown(decision)}**` : '',
    escapeMarkdown(sentences.join(' ')),
    list(`### ${missingTitle}`, missing.map(bullet)),
    isAbout && !isAdvice(result) ? `**${escapeMarkdown(decision)}**` : '',
    objection === null || result.heading === 'no_majority'
      ? ''
      : `> ${escapeMarkdown(`${objectionTitle(run.models, objection)}: ${objectionWords(run.council, objection)}`)}`,
  ];
}

function agreement(run: Optimization, bias: BiasAnalysis): string {
  const score =
    bias.agreement_score === null
      ? ''
      : `${bias.agreement_score} of 100 (${bias.agreement_band ?? ''}).`;
  const sentences = [
    score,
    bias.agreement_note,
    'Agreement is not correctness.',
    winnerWords(run.council),
  ];
  return part('### Agreement', [
    escapeMarkdown(sentences.filter((sentence) => sentence !== null && sentence !== '').join(' ')),
  ]);
}

function optionPart({ council }: Optimization, option: OptionSide): string {
  return [
    `#### ${escapeMarkdown(option.text)}`,
    optionFacts(council, option)
      .map(({ title, text }) => bullet(`${title}: ${text}`))
      .join('\n'),
  ].join('\n\n');
}

function tieBreak(result: RunResult): string {
  const option = tieBreakOption(result);
  if (option === null) return '';
  return part(`### ${tieBreakTitle}`, [
    `**${escapeMarkdown(result.decision)}**`,
    escapeMarkdown(`The option: ${option}`),
    tieBreakNote,
  ]);
}

function doubts(run: Optimization, result: RunResult, bias: BiasAnalysis): string[] {
  const { minority_report: report } = bias;
  return [
    list(
      '### Consensus points',
      bias.consensus_points.map(({ text }) => bullet(text)),
    ),
    part('### Divergences', [
      ...(bias.two_camps ? [campsWords] : []),
      ...divergencesOf(bias).map((area) => divergence(run.models, area)),
    ]),
    report === null
      ? ''
      : part('### Minority report', [
          escapeMarkdown(`${seatName(run.models, report.seat)} disagrees: ${report.position}`),
          ...minorityFlaws(result, report).map(({ seat, text }) =>
            escapeMarkdown(
              `Objection to the top answer, from ${seatName(run.models, seat)}: ${text}`,
            ),
          ),
        ]),
    list("### What's uncertain", openPoints(result, bias).map(bullet)),
  ];
}

function divergence(
  names: Names,
  { about, text, sides, settled_by: settled }: Disagreement,
): string {
  return [
    `- **${escapeMarkdown(text)}**`,
    ...sides.map((side) => {
      const quote = side.quote === null ? '' : ` “${side.quote.text}”`;
      const words = `${stanceWord(side.stance)}: ${seatNames(names, side.seats)}. ${sideWords(names, about, side)}${quote}`;
      return `  - ${escapeMarkdown(words)}`;
    }),
    ...(settled === null ? [] : [`  - ${escapeMarkdown(`${settledTitle}: ${settled}`)}`]),
  ].join('\n');
}

function citedClaims({ sections, next_steps: steps }: RunResult): string[] {
  const blocks = sections.flatMap((section) => section.blocks);
  return [...new Set([...blocks, ...steps].flatMap(({ claim_ids: ids }) => ids))];
}

const name = ({ models }: Optimization, seat: string): string =>
  escapeMarkdown(seatName(models, seat));

const bullet = (text: string): string => `- ${escapeMarkdown(text)}`;

function part(title: string, paragraphs: readonly string[]): string {
  return paragraphs.length === 0 ? '' : [title, ...paragraphs].join('\n\n');
}

function list(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `${title}\n\n${lines.join('\n')}`;
}
