import type {
  BiasAnalysis,
  Disagreement,
  Rejected,
  OptionSide,
  RunResult,
} from '#services/optimizations/contract/result.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { escapeMarkdown } from '#services/optimizations/prompts/plain-text.ts';
import {
  agreementCaution,
  orderingWords,
  headingWords,
  indicatorWords,
  isAdvice,
  missingTitle,
  openPoints,
  optionFacts,
  optionsTitle,
  outcomeSentences,
  saysMore,
  stepFacts,
  stepsTitle,
  tieBreakNote,
  tieBreakOption,
  tieBreakTitle,
  winnerWords,
} from '#services/optimizations/reading/words/result.ts';
import { comparisonsNote, orderRows } from '#services/optimizations/reading/words/order.ts';
import { seatName, seatNames } from '#services/optimizations/reading/words/names.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import type { Names } from '#services/optimizations/reading/words/names.ts';
import { claimText } from '#services/optimizations/reading/texts.ts';
import {
  changeWords,
  claimsNote,
  datedHeading,
  differentMark,
  differentWords,
  isDifferent,
  olderVotesWords,
} from '#services/optimizations/reading/words/refinement.ts';
import {
  campsWords,
  changingClaims,
  divergencesOf,
  firmWords,
  flawsTitle,
  headObjection,
  minorityCount,
  minorityFlaws,
  minorityTitle,
  minorityVotes,
  noDivergences,
  objectionTitle,
  objectionWords,
  rejectedTitle,
  rejectedWords,
  replyWords,
  settledTitle,
  sideWords,
  stanceWord,
  wouldChangeTitle,
} from '#services/optimizations/reading/words/doubts.ts';

/**
 * The result of a run as Markdown, in the order of its page and with its claim ids. Everything that a
 * model wrote is escaped.
 */
export function resultMarkdown(run: Optimization, result: RunResult): string[] {
  const { bias } = run.evolution;
  return [
    `## ${datedHeading(run, headingWords(result))}`,
    ...outcome(run, result),
    bias === null ? '' : agreement(run, bias),
    part(
      `### ${optionsTitle}`,
      result.options.map((option) => optionPart(run, result, option)),
    ),
    tieBreak(run, result),
    part(
      `### ${flawsTitle}`,
      result.flaws.map((flaw) =>
        [
          `- About the answer of ${name(run, flaw.about_seat)}`,
          ...flaw.texts.map(
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
        return `${index + 1}. [${step.done ? 'x' : ' '}] ${line}${cites(run.council, step.claim_ids)}`;
      }),
    ),
    list(
      `### ${wouldChangeTitle}`,
      changingClaims(run.council).map((claim) => {
        const { id } = claim;
        const different = differentWords(run.council, id);
        const words = changeWords(run.council, claim);
        const text = [claimText(run.council, id), different, words].filter(Boolean).join(' ');
        return bullet(text) + marks([id]);
      }),
      run.refines === null ? null : claimsNote,
    ),
    part(
      '### Reasons',
      result.sections.map((section) =>
        part(
          `#### ${escapeMarkdown(section.heading)}`,
          section.blocks.map(
            (block) => escapeMarkdown(block.text) + cites(run.council, block.claim_ids),
          ),
        ),
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
  const { missing_facts: missing, decision } = result;
  const objection = headObjection(result);
  const bold = `**${escapeMarkdown(decision)}**`;
  return [
    isAdvice(result) ? bold : '',
    ...outcomeSentences(run, result).map(escapeMarkdown),
    list(`### ${missingTitle}`, missing.map(bullet)),
    saysMore(result) ? bold : '',
    objection === null
      ? ''
      : `> ${escapeMarkdown(`${objectionTitle(run.models, result.heading, objection)}: ${objectionWords(run.council, objection)}`)}`,
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
    agreementCaution,
    winnerWords(run.council),
    orderingWords(bias),
  ];
  return part('### Agreement', [
    escapeMarkdown(sentences.filter((sentence) => sentence !== null && sentence !== '').join(' ')),
    orderTable(run.council),
    comparisonsNote,
    bias.indicators
      .map((indicator) => bullet(`${indicatorWords(indicator)}. ${indicator.note}`))
      .join('\n'),
  ]);
}

/** The places of the answers, and the comparisons that made them. */
function orderTable(view: RunView): string {
  const rows = orderRows(view);
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => escapeMarkdown(cell)).join(' | ')} |`;
  return [
    line(['Place', 'Model', 'Win rate', ...rows.map(({ seat }) => `over ${seat}`)]),
    `| ---: | --- | ---: |${' ---: |'.repeat(rows.length)}`,
    ...rows.map(({ place, name: model, winRate, over }) =>
      line([String(place), model, winRate, ...over]),
    ),
  ].join('\n');
}

function optionPart({ council }: Optimization, { flaws }: RunResult, option: OptionSide): string {
  return [
    `#### ${escapeMarkdown(option.text)}`,
    optionFacts(council, option, flaws)
      .map(({ title, text }) => bullet(`${title}: ${text}`))
      .join('\n'),
  ].join('\n\n');
}

function tieBreak({ council }: Optimization, result: RunResult): string {
  const option = tieBreakOption(result);
  if (option === null) return '';
  return part(`### ${tieBreakTitle}`, [
    `**${escapeMarkdown(result.decision)}**`,
    option === result.decision ? '' : escapeMarkdown(`The option: ${option}`),
    escapeMarkdown(tieBreakNote(council, result)),
  ]);
}

function doubts(run: Optimization, result: RunResult, bias: BiasAnalysis): string[] {
  const { minority_report: report } = bias;
  return [
    list(
      '### Consensus points',
      bias.consensus_points.map(
        ({ claim_id: id, text }) => bullet(dated(run.council, id, text)) + marks([id]),
      ),
      run.refines === null ? null : claimsNote,
    ),
    list(
      `### ${rejectedTitle}`,
      bias.rejected_claims.map((rejected) => rejectedLines(run, rejected)),
      run.refines === null ? null : claimsNote,
    ),
    part('### Divergences', divergences(run, bias)),
    report === null
      ? ''
      : part(`### ${minorityTitle}`, [
          [
            minorityCount(report),
            '',
            ...minorityVotes(run.models, report, bias.disagreement_areas).map(
              ({ votes, argument }) => bullet(`${votes}. ${argument}`),
            ),
          ].join('\n'),
          ...minorityFlaws(result, report).map((flaw) =>
            escapeMarkdown(`${objectionTitle(run.models, result.heading, flaw)}: ${flaw.text}`),
          ),
        ]),
    list("### What's uncertain", openPoints(result, bias).map(bullet)),
  ];
}

/** A claim with what the person said about it, and, in a refinement, how old its votes are. */
function dated(view: RunView, id: string, text: string): string {
  return [text, differentWords(view, id), olderVotesWords(view, id)].filter(Boolean).join(' ');
}

function rejectedLines({ council, models }: Optimization, rejected: Rejected): string {
  const { claim_id: id, text, against } = rejected;
  const quote = against.quote === null ? '' : ` “${against.quote.text}”`;
  return [
    bullet(`${dated(council, id, text)} ${rejectedWords(rejected)}`) + marks([id]),
    `  - ${escapeMarkdown(`${sideWords(models, id, against)}${quote}`)}`,
  ].join('\n');
}

function divergences({ council, models }: Optimization, bias: BiasAnalysis): string[] {
  const camps = campsWords(council);
  const areas = divergencesOf(bias).map((area) => divergence(models, area));
  return [...(camps === null ? [] : [camps]), ...(areas.length === 0 ? [noDivergences] : areas)];
}

function divergence(names: Names, area: Disagreement): string {
  const { about, text, sides, settled_by: settled } = area;
  const firm = firmWords(names, area);
  return [
    `- **${escapeMarkdown(text)}**${about === 'decision' ? '' : marks([about])}`,
    ...sides.map((side) => {
      const quote = side.quote === null ? '' : ` “${side.quote.text}”`;
      const words = `${stanceWord(side.stance)}: ${seatNames(names, side.seats)}. ${sideWords(names, about, side)}${quote}`;
      return `  - ${escapeMarkdown(words)}`;
    }),
    ...(firm === null ? [] : [`  - ${escapeMarkdown(firm)}`]),
    ...(settled === null ? [] : [`  - ${escapeMarkdown(`${settledTitle}: ${settled}`)}`]),
  ].join('\n');
}

/** " (c3, c10)", the claims that a statement rests on. */
const marks = (ids: readonly string[]): string =>
  ids.length === 0 ? '' : ` (${ids.map(escapeMarkdown).join(', ')})`;

/** As `marks`; a claim that the person said is different is marked so. */
function cites(view: RunView, ids: readonly string[]): string {
  const texts = ids.map((id) => (isDifferent(view, id) ? `${id}: ${differentMark(view)}` : id));
  return marks(texts);
}

const name = ({ models }: Optimization, seat: string): string =>
  escapeMarkdown(seatName(models, seat));

const bullet = (text: string): string => `- ${escapeMarkdown(text)}`;

function part(title: string, paragraphs: readonly string[]): string {
  const filled = paragraphs.filter((text) => text !== '');
  return filled.length === 0 ? '' : [title, ...filled].join('\n\n');
}

function list(title: string, lines: readonly string[], note: string | null = null): string {
  return lines.length === 0
    ? ''
    : [title, ...(note === null ? [] : [note]), lines.join('\n')].join('\n\n');
}
