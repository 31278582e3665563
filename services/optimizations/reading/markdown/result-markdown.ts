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
} from '#services/optimizations/reading/result-words.ts';
import type { Names } from '#services/optimizations/reading/result-words.ts';
import {
  changingClaims,
  changingWords,
  claimsNote,
  differentWords,
  wouldChangeTitle,
} from '#services/optimizations/refinement/words.ts';
import { claimText } from '#services/optimizations/reading/texts.ts';

/**
 * The result of a run as Markdown, in the order of its page and with its claim ids. Everything that a
 * model wrote is escaped.
 */
export function resultMarkdown(run: Optimization, result: RunResult): string[] {
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
      changingClaims(run.council).map(({ id, seats }) => {
        const different = differentWords(run.council, id);
        const words = changingWords(run.council, id, seats);
        const text = [claimText(run.council, id), different, words].filter(Boolean).join(' ');
        return bullet(text) + marks([id]);
      }),
      run.refines === null ? null : claimsNote,
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
      Object.keys(run.council.ledger?.claims ?? {}).map((id) =>
        bullet(
          `${id}: ${[claimText(run.council, id), differentWords(run.council, id)].filter(Boolean).join(' ')}`,
        ),
      ),
      run.refines === null ? null : claimsNote,
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
      bias.consensus_points.map(({ claim_id: id, text }) => bullet(text) + marks([id])),
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
    `- **${escapeMarkdown(text)}**${about === 'decision' ? '' : marks([about])}`,
    ...sides.map((side) => {
      const quote = side.quote === null ? '' : ` “${side.quote.text}”`;
      const words = `${stanceWord(side.stance)}: ${seatNames(names, side.seats)}. ${sideWords(names, about, side)}${quote}`;
      return `  - ${escapeMarkdown(words)}`;
    }),
    ...(settled === null ? [] : [`  - ${escapeMarkdown(`${settledTitle}: ${settled}`)}`]),
  ].join('\n');
}

/** " (c3, c10)", the claims that a statement rests on. */
const marks = (ids: readonly string[]): string =>
  ids.length === 0 ? '' : ` (${ids.map(escapeMarkdown).join(', ')})`;

const name = ({ models }: Optimization, seat: string): string =>
  escapeMarkdown(seatName(models, seat));

const bullet = (text: string): string => `- ${escapeMarkdown(text)}`;

function part(title: string, paragraphs: readonly string[]): string {
  return paragraphs.length === 0 ? '' : [title, ...paragraphs].join('\n\n');
}

function list(title: string, lines: readonly string[], note: string | null = null): string {
  return lines.length === 0
    ? ''
    : [title, ...(note === null ? [] : [note]), lines.join('\n')].join('\n\n');
}
