import type { BiasAnalysis, Optimization, RunResult } from '#services/optimizations/contract.ts';
import { draftMarkdown, escapeMarkdown } from '#services/optimizations/prompts/draft.ts';
import { degradedWords } from './degraded.ts';
import { claimText, opinionOf } from './texts.ts';
import { questionOfCase, simulatedNotice, simulatedPartOf } from './simulated.ts';

/**
 * A run's result as Markdown, for the clipboard, a file and the command line. Everything that a person
 * or a model wrote is flattened and escaped, so that nothing in it becomes a link, an image or HTML
 * where the Markdown is pasted.
 */
export function runMarkdown(run: Optimization): string {
  const { bias } = run.evolution;
  const parts = [
    `# ${escapeMarkdown(run.title)}`,
    isWholeQuestion(run) ? '' : escapeMarkdown(run.challenge),
    simulatedLines(run),
    degradedLines(run),
    run.result ? recommendation(run, run.result) : ending(run),
    ...(bias ? [agreement(bias), ...findings(bias)] : []),
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

function agreement(bias: BiasAnalysis): string {
  const score =
    bias.agreement_score === null
      ? 'no score.'
      : `${bias.agreement_score} of 100 (${bias.agreement_band ?? ''}).`;
  const sentences = [
    `${score} Agreement is not correctness.`,
    bias.agreement_note ?? '',
    bias.two_camps ? 'There is no winner: two camps.' : '',
  ];
  return section('Agreement', [sentences.filter((one) => one !== '').join(' ')]);
}

function recommendation(run: Optimization, result: RunResult): string {
  const heading =
    result.heading === 'recommendation'
      ? 'Recommendation'
      : `Best single answer${result.seat === null ? '' : ` (${result.seat})`}`;
  const checked = {
    nothing_to_verify: 'The models agree on no point that it could be compared with.',
    two: 'Checked by two other models.',
    one: 'Checked by one other model.',
    self: 'Checked by the model that wrote it.',
    none: 'Not independently verified.',
  };
  const claims = Object.keys(run.council.ledger?.claims ?? {}).map((id) => ({
    id,
    text: claimText(run.council, id),
  }));
  const because = result.heading === 'recommendation' ? null : run.ended_because;
  return [
    `## ${heading}`,
    because === null ? '' : escapeMarkdown(because),
    `*${checked[result.verified]}*`,
    ...whatIsNew(run, result),
    draftMarkdown(result, claims).replaceAll(/^## /gm, '### '),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** Of a refinement: what it was given, and what that changed. */
function whatIsNew({ refines }: Optimization, { changed }: RunResult): string[] {
  if (refines === null) return [];
  const { text, number } = refines;
  return [
    `Refinement ${number}${text === null ? '' : `: ${escapeMarkdown(text)}`}`,
    changed === null ? '' : `**What changed:** ${escapeMarkdown(changed)}`,
  ];
}

function findings(bias: BiasAnalysis): string[] {
  return [
    section(
      'Consensus points',
      bias.consensus_points.map((point) => `- ${escapeMarkdown(point.text)}`),
    ),
    section('Where the models stand apart', bias.disagreement_areas.map(divergence)),
    minority(bias),
    section(
      'Uncertainty factors',
      bias.uncertainty_factors.map((factor) => `- ${escapeMarkdown(factor.text)}`),
    ),
  ];
}

function divergence(area: BiasAnalysis['disagreement_areas'][number]): string {
  return [
    `- **${escapeMarkdown(area.text)}**`,
    ...area.sides.map((side) => {
      const quote = side.quote ? `: “${escapeMarkdown(side.quote.text)}” (${side.quote.seat})` : '';
      return `  - ${escapeMarkdown(side.stance)}, ${side.seats.join(', ')}${quote}`;
    }),
    ...(area.settled_by === null
      ? []
      : [`  - Both sides, and what would settle it: ${escapeMarkdown(area.settled_by)}`]),
  ].join('\n');
}

function minority({ minority_report: report }: BiasAnalysis): string {
  if (!report) return '';
  return section('Minority report', [
    `${report.seat}: ${escapeMarkdown(report.position)}`,
    ...report.flaws.map(
      (flaw) => `\nAgainst the first answer, ${flaw.seat}: ${escapeMarkdown(flaw.text)}`,
    ),
  ]);
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

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `## ${title}\n\n${lines.join('\n')}`;
}
