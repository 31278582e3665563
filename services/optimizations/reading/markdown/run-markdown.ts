import { moneyWords } from '#services/optimizations/reading/words/money.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { escapeMarkdown } from '#services/optimizations/prompts/plain-text.ts';
import {
  changedClaims,
  changedClaimsWords,
  changedTitle,
  changedVotes,
  firstRoundNote,
  givenFacts,
  newerTitle,
  refinementTitle,
} from '#services/optimizations/reading/words/refinement.ts';
import { takenUp, takenUpWords } from '#services/optimizations/reading/words/taken-up.ts';
import { modelCost } from '#services/platform/numbers.ts';
import { costColumns, costRows } from '#services/optimizations/reading/costs.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { degradedWords } from '#services/optimizations/reading/degraded.ts';
import { resultMarkdown } from './result-markdown.ts';
import {
  questionOfCase,
  simulatedNotice,
  simulatedPartOf,
} from '#services/optimizations/reading/simulated.ts';
import { runStatusWords } from '#services/optimizations/reading/words/status.ts';
import { opinionOf } from '#services/optimizations/reading/texts.ts';

/**
 * A run's result as Markdown, for the clipboard, a file and the command line. Everything that a person
 * or a model wrote is flattened and escaped, so that nothing in it becomes a link, an image or HTML
 * where the Markdown is pasted.
 */
export function runMarkdown(run: Optimization): string {
  const parts = [
    `# ${escapeMarkdown(run.title)}`,
    ...asked(run),
    simulatedLines(run),
    degradedLines(run),
    newerLines(run),
    refinementLines(run),
    ...(run.result ? resultMarkdown(run, run.result) : [ending(run)]),
    ...answers(run),
    costs(run),
  ];
  return joined(parts);
}

/** The recommendation alone: what is simulated or missing, and the result, or why there is none. */
export function recommendationMarkdown(run: Optimization): string {
  return joined([
    simulatedLines(run),
    degradedLines(run),
    ...(run.result ? resultMarkdown(run, run.result) : [ending(run)]),
  ]);
}

function joined(parts: readonly string[]): string {
  return `${parts
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .join('\n\n')}\n`;
}

function isWholeQuestion({ title, challenge }: Optimization): boolean {
  return title.trim() === challenge.trim();
}

/** What was asked; of files the names. */
function asked(run: Optimization): string[] {
  const { challenge, context, objectives, constraints, files } = run;
  const rows = (title: string, all: readonly string[]): string =>
    all.length === 0 ? '' : `**${title}**\n\n${all.map(bullet).join('\n')}`;
  return [
    isWholeQuestion(run) ? '' : escapeMarkdown(challenge),
    context === '' ? '' : `**Context:** ${escapeMarkdown(context)}`,
    rows('Objectives', objectives),
    rows('Constraints', constraints),
    files.length === 0
      ? ''
      : `**Files:** ${files.map(({ name }) => escapeMarkdown(name)).join(', ')}`,
  ];
}

const bullet = (text: string): string => `- ${escapeMarkdown(text)}`;

/** Sentences from the case are ours, but escaped all the same: `*` in them is no emphasis. */
function simulatedLines(run: Optimization): string {
  const part = simulatedPartOf(run.council);
  const notice = simulatedNotice(part);
  const question = questionOfCase(part);
  return [
    notice === null ? '' : `> ${escapeMarkdown(notice)}`,
    question === null ? '' : `> The question of the case: ${escapeMarkdown(question)}`,
  ]
    .filter((line) => line !== '')
    .join('\n>\n');
}

function degradedLines(run: Optimization): string {
  const words = degradedWords(run);
  return words === null ? '' : `**${words.title}.** ${escapeMarkdown(words.sentences.join(' '))}`;
}

/** What has replaced this result. */
function newerLines({ newer }: Optimization): string {
  if (newer === null) return '';
  const lines = [
    `**${escapeMarkdown(newerTitle(newer))}.**`,
    escapeMarkdown(`${newer.outcome}: ${newer.decision}`),
    newer.changed === null ? '' : escapeMarkdown(`${changedTitle}: ${newer.changed}`),
  ];
  return lines
    .filter((line) => line !== '')
    .map((line) => `> ${line}`)
    .join('\n>\n');
}

/** What a refinement changed, who changed their vote, and what was given. */
function refinementLines({ council, refines, result }: Optimization): string {
  if (refines === null) return '';
  const changed = result?.changed ?? null;
  return [
    `*${refinementTitle(refines.number)}*`,
    ...(changed === null ? [] : [`**${changedTitle}:** ${escapeMarkdown(changed)}`]),
    [
      ...(council.scores === null ? [] : voteLines(council)),
      ...givenFacts(council, refines).map(labelled),
    ].join('\n'),
  ].join('\n\n');
}

function voteLines(council: RunView): string[] {
  const reasons = takenUpWords(council);
  return [
    ...changedVotes(council).map(labelled),
    bullet(changedClaimsWords(council)),
    ...changedClaims(council).map(({ id, text }) => `  - ${id}: ${escapeMarkdown(text)}`),
    ...(reasons === null ? [] : [bullet(reasons)]),
    ...takenUp(council).map(({ label, text }) => `  - ${escapeMarkdown(`${label}: ${text}`)}`),
  ];
}

const labelled = ({ label, text }: { label: string; text: string }): string =>
  `- ${label}: ${escapeMarkdown(text)}`;

function ending(run: Optimization): string {
  return `**${runStatusWords[run.status]}.** ${run.ended_because ?? ''}`.trim();
}

function answers(run: Optimization): string[] {
  const given = run.models.flatMap(({ seat, name, reason }) => {
    const opinion = opinionOf(run.council, seat);
    const title = [
      `### ${seat} ${escapeMarkdown(name)}`,
      ...(reason === null
        ? []
        : [escapeMarkdown(`${run.refines === null ? '' : 'No second vote: '}${reason}.`)]),
    ];
    if (!opinion) return reason === null ? [] : [title.join('\n\n')];
    return [
      [
        ...title,
        `**${escapeMarkdown(opinion.recommendation.one_line)}**`,
        ...opinion.reasoning.map(escapeMarkdown),
        ...(opinion.risks.length === 0
          ? []
          : [`Risks:\n\n${opinion.risks.map((risk) => `- ${escapeMarkdown(risk)}`).join('\n')}`]),
      ].join('\n\n'),
    ];
  });
  if (given.length === 0) return [];
  return ['## Each answer', run.refines === null ? '' : firstRoundNote, ...given];
}

/** The table of the page, and what the run cost. */
function costs(run: Optimization): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => escapeMarkdown(cell)).join(' | ')} |`;
  const rows = costRows(run.council, 'en-US');
  if (rows.length === 0) return moneyWords(run.credits, 'en-US');
  const columns = costColumns(run.council);
  const table = [
    line(['Model', ...columns]),
    `| --- |${' ---: |'.repeat(columns.length)}`,
    ...rows.map(({ name, cells }) => line([name, ...cells])),
  ];
  return ['## Cost, time and tokens', table.join('\n'), ...standIns(run), money(run)].join('\n\n');
}

/** How the panel differs from the design. */
function standIns({ council: { seating } }: Optimization): string[] {
  if (seating === null) return [];
  const lines = [
    ...seating.substitutions.map(({ seat, reason }) => `${seat}: ${reason}`),
    ...seating.independence,
  ];
  return lines.length === 0 ? [] : [lines.map((line) => `- ${escapeMarkdown(line)}`).join('\n')];
}

function money({ cost, cost_is_minimum: isMinimum, credits, ...run }: Optimization): string {
  const dollars =
    cost === null ? 'unknown' : `${isMinimum ? 'at least ' : ''}${modelCost(cost, 'en-US')}`;
  const isSimulated = run.simulated_seats === run.models.length;
  return `The models ${isSimulated ? 'would have cost' : 'cost'} ${dollars}. ${moneyWords(credits, 'en-US')}`;
}
