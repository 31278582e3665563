import { escapeMarkdown } from '#services/optimizations/prompts/plain-text.ts';
import type { Brief, BriefRun } from '#services/optimizations/contract/dashboard.ts';
import { dayInWords, daysInWords } from '#services/platform/locale.ts';
import { settledTitle } from '#services/optimizations/reading/words/doubts.ts';
import { counted, credits, creditsInWords } from '#services/platform/numbers.ts';

/** What the brief says, on its page and as Markdown. */

export const consensusTitle = 'Consensus';
export const openTitle = 'Open disagreements';
export const stepsTitle = 'Next steps still open';

/** The counts and credits of the period in sentences. */
export function totalSentences(brief: Brief): string[] {
  const { completed, failed, cancelled, left_out: leftOut } = brief;
  const ended = [
    `${credits(completed, 'en-US')} completed`,
    ...(failed > 0 ? [`${credits(failed, 'en-US')} failed`] : []),
    ...(cancelled > 0 ? [`${credits(cancelled, 'en-US')} canceled`] : []),
  ];
  return [
    `${ended.join(', ')}, refinements and deleted runs included.`,
    `${creditsInWords(brief.credits, 'en-US')} used.`,
    ...(leftOut > 0
      ? [
          `${counted(leftOut, 'decision', 'en-US')} ${leftOut === 1 ? "isn't" : "aren't"} listed: too old or unreadable.`,
        ]
      : []),
  ];
}

/** "Agreement 95.65 of 100, strong"; null without a score. */
function agreementWords({
  agreement_score: score,
  agreement_band: band,
}: Pick<BriefRun, 'agreement_score' | 'agreement_band'>): string | null {
  return score === null ? null : `Agreement ${score} of 100${band === null ? '' : `, ${band}`}`;
}

/** Vote, agreement, day and credits of a decision. */
export function factsOf(run: BriefRun): string[] {
  return [
    run.outcome,
    agreementWords(run),
    dayInWords(run.ended_at),
    run.credits === null
      ? null
      : run.credits === 0
        ? 'included'
        : creditsInWords(run.credits, 'en-US'),
    run.simulated ? 'simulated models, example answers' : null,
  ].filter((fact) => fact !== null);
}

/** "and 2 more"; null when all are listed. */
export function moreWords(total: number, listed: number): string | null {
  return total > listed ? `and ${total - listed} more` : null;
}

export function briefFileName({ to }: Pick<Brief, 'to'>): string {
  return `sevenfold-brief-${to.slice(0, 10)}.md`;
}

/** The brief as Markdown; what people and models wrote is escaped. */
export function briefMarkdown(brief: Brief): string {
  return [
    '# Intelligence Brief',
    daysInWords(brief),
    totalSentences(brief).join(' '),
    ...(brief.runs.length === 0 ? ['No decisions in this period.'] : brief.runs.map(decision)),
  ]
    .join('\n\n')
    .concat('\n');
}

function decision(run: BriefRun): string {
  const open = run.open.map(({ text, settled_by: settled }) =>
    settled === null ? text : `${text} ${settledTitle}: ${settled}`,
  );
  const steps = run.next_steps.map(({ action, facts }) =>
    [action, ...facts.map(({ label, text }) => `${label}: ${text}`)].join(' · '),
  );
  return [
    `## ${escapeMarkdown(run.title)}`,
    factsOf(run).map(escapeMarkdown).join(' · '),
    `**${escapeMarkdown(run.decision)}**`,
    list(consensusTitle, run.consensus, moreWords(run.consensus_total, run.consensus.length)),
    list(openTitle, open, moreWords(run.open_total, run.open.length)),
    list(stepsTitle, steps, null, '- [ ]'),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function list(title: string, lines: readonly string[], more: string | null, mark = '-'): string {
  if (lines.length === 0) return '';
  const all = [
    ...lines.map((line) => `${mark} ${escapeMarkdown(line)}`),
    ...(more === null ? [] : [`- ${more}`]),
  ];
  return `### ${title}\n\n${all.join('\n')}`;
}
