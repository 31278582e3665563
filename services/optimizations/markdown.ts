import type { Optimization } from './contract.ts';
import { draftMarkdown, escapeMarkdown } from './draft.ts';

/** A run's result as Markdown, for copying and for the command line; model text is escaped. */
export function runMarkdown(run: Optimization): string {
  const { result } = run;
  const parts = [
    `# ${escapeMarkdown(run.title)}`,
    ...(run.simulated
      ? ['> Simulated: these answers are examples written by the sandbox. No provider was called.']
      : []),
    ...(result
      ? [
          headingOf(run),
          draftMarkdown(
            { ...result, option_id: '' },
            Object.entries(run.council.ledger?.claims ?? {}).map(([id, claim]) => ({
              id,
              text: claim.text ?? '',
            })),
          ).trim(),
        ]
      : [`**${statusWords[run.status]}.** ${run.ended_because ?? ''}`.trim()]),
    agreementOf(run),
    costOf(run),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

const statusWords: Readonly<Record<Optimization['status'], string>> = {
  pending: 'Not started',
  processing: 'Still running',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

function headingOf({ result, models }: Optimization): string {
  if (result?.heading !== 'best_single_answer') return 'Recommendation of the council:';
  const author = models.find((model) => model.seat === result.seat);
  return `Best single answer${author ? `, by ${author.seat} (${author.name})` : ''}: no synthesis passed its checks.`;
}

function agreementOf({ evolution: { bias } }: Optimization): string {
  if (!bias) return '';
  const score =
    bias.agreement_score === null
      ? (bias.agreement_note ?? 'not scored')
      : `${bias.agreement_score} of 100 (${bias.agreement_band ?? ''})`;
  const minority = bias.minority_report;
  return [
    '## Agreement',
    `Agreement: ${score}. Agreement is not correctness.${bias.two_camps ? ' There is no winner: two camps.' : ''}`,
    ...(minority
      ? [`Dissent, by ${minority.seat}: ${escapeMarkdown(minority.position)}`]
      : ['No seat voted against the decision.']),
    ...bias.disagreement_areas.map(
      (area) =>
        `- ${escapeMarkdown(area.text)} (${area.sides
          .map((side) => `${escapeMarkdown(side.stance)}: ${side.seats.join(', ')}`)
          .join('; ')})`,
    ),
  ].join('\n\n');
}

function costOf(run: Optimization): string {
  const cost =
    run.cost === null
      ? 'unknown'
      : `${run.cost_is_minimum ? 'at least ' : ''}$${run.cost.toFixed(3)}`;
  const { charged, refunded } = run.credits;
  const credits =
    charged === null
      ? ''
      : ` ${charged} credits were charged${refunded ? `, ${refunded} came back` : ''}.`;
  const seats = run.models.map((model) => `${model.seat} ${model.name} (${model.status})`);
  return ['## Who took part', `${seats.join(', ')}.`, `The models cost ${cost}.${credits}`].join(
    '\n\n',
  );
}
