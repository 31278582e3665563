import type { Optimization } from '#services/optimizations/contract.ts';
import { escapeMarkdown } from '#services/optimizations/prompts/plain-text.ts';
import {
  changedTitle,
  givenFacts,
  refinementTitle,
} from '#services/optimizations/refinement/words.ts';
import { degradedWords } from './degraded.ts';
import { resultMarkdown } from './result-markdown.ts';
import { questionOfCase, simulatedNotice, simulatedPartOf } from './simulated.ts';
import { opinionOf } from './texts.ts';

/**
 * A run's result as Markdown, for the clipboard, a file and the command line. Everything that a person
 * or a model wrote is flattened and escaped, so that nothing in it becomes a link, an image or HTML
 * where the Markdown is pasted.
 */
export function runMarkdown(run: Optimization): string {
  const parts = [
    `# ${escapeMarkdown(run.title)}`,
    isWholeQuestion(run) ? '' : escapeMarkdown(run.challenge),
    run.files.length === 0
      ? ''
      : `Files: ${run.files.map(({ name }) => escapeMarkdown(name)).join(', ')}`,
    simulatedLines(run),
    degradedLines(run),
    refinementLines(run),
    ...(run.result ? resultMarkdown(run, run.result) : [ending(run)]),
    ...answers(run),
    models(run),
  ];
  return `${parts
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .join('\n\n')}\n`;
}

function isWholeQuestion({ title, challenge }: Optimization): boolean {
  return title.trim() === challenge.trim();
}

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

function degradedLines({ degraded, credits }: Optimization): string {
  if (degraded === null) return '';
  const { title, sentences } = degradedWords(degraded, credits);
  return `**${title}.** ${escapeMarkdown(sentences.join(' '))}`;
}

/** What a refinement was given, and what that changed. */
function refinementLines({ council, refines, refinements, result }: Optimization): string {
  if (refines === null) return '';
  const changed = result?.changed ?? null;
  return [
    `*${refinementTitle(refines.number, refinements.length)}*`,
    ...(changed === null ? [] : [`**${changedTitle}:** ${escapeMarkdown(changed)}`]),
    givenFacts(council, refines)
      .map(({ label, text }) => `- ${label}: ${escapeMarkdown(text)}`)
      .join('\n'),
  ].join('\n\n');
}

const statusWords: Readonly<Record<Optimization['status'], string>> = {
  pending: 'Not started',
  processing: 'Still running',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

function ending(run: Optimization): string {
  return `**${statusWords[run.status]}.** ${run.ended_because ?? ''}`.trim();
}

function answers(run: Optimization): string[] {
  const given = run.council.seats.flatMap((seat) => {
    const opinion = opinionOf(run.council, seat.seat);
    if (!opinion) return [];
    return [
      [
        `### ${seat.seat} ${escapeMarkdown(seat.name)}`,
        `**${escapeMarkdown(opinion.recommendation.one_line)}**`,
        ...opinion.reasoning.map(escapeMarkdown),
        ...(opinion.risks.length === 0
          ? []
          : [`Risks:\n\n${opinion.risks.map((risk) => `- ${escapeMarkdown(risk)}`).join('\n')}`]),
      ].join('\n\n'),
    ];
  });
  return given.length === 0 ? [] : ['## Each answer', ...given];
}

/** The panel, what it cost, and what the run cost. */
function models(run: Optimization): string {
  const cell = (value: string | number | null): string =>
    value === null ? '--' : escapeMarkdown(String(value));
  return [
    '## Models',
    [
      '| Seat | Model | Status | Cost (US cents) | Last call (ms) |',
      '| --- | --- | --- | ---: | ---: |',
      ...run.models.map(
        (model) =>
          `| ${cell(model.seat)} | ${cell(model.name)} | ${cell(model.status)} | ${cell(model.costCents)} | ${cell(model.latencyMs)} |`,
      ),
    ].join('\n'),
    ...standIns(run),
    money(run),
  ].join('\n\n');
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

function money(run: Optimization): string {
  const { cost, cost_is_minimum: isMinimum, credits } = run;
  const dollars = cost === null ? 'unknown' : `${isMinimum ? 'at least ' : ''}$${cost.toFixed(3)}`;
  const back = credits.refunded ?? 0;
  const charged =
    credits.charged === null
      ? ''
      : ` ${credits.charged}${back > 0 ? ` of ${credits.price}` : ''} credits were charged${back > 0 ? `, ${back} came back` : ''}.`;
  const isSimulated = run.simulated_seats === run.models.length;
  return `The models ${isSimulated ? 'would have cost' : 'cost'} ${dollars}.${charged}`;
}
