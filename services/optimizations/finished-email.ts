import { moneyWords } from './reading/words/money.ts';
import { describeResult } from './reading/describe-result.ts';
import { creditsOf, statusOf } from './reading/describe.ts';
import { headingWords } from './reading/words/result.ts';
import { questionOfCase, simulatedNotice, simulatedPartOf } from './reading/simulated.ts';
import type { SimulatedPart } from './reading/simulated.ts';
import type { RunView } from './reading/view.ts';
import { isOpenStatus } from '#services/optimizations/contract/summary.ts';
import type { OptimizationSummary } from '#services/optimizations/contract/summary.ts';
import type { EmailContent } from '#services/platform/mail/layout.ts';

/** The facts in the email about an ended run. */
export type FinishedRun = {
  runId: string;
  title: string;
  status: 'completed' | 'failed' | 'cancelled';
  credits: OptimizationSummary['credits'];
  /** The heading of its result, in words; null without a result. */
  heading: string | null;
  simulated: SimulatedPart;
};

/** Null while the run continues, once it was deleted or erased, and where its start was refused. */
export function finishedRun(view: RunView): FinishedRun | null {
  const status = statusOf(view);
  if (isOpenStatus(status) || !view.settled) return null;
  if (view.title === null || view.hidden) return null;
  if (view.conclusion?.reason === 'refused') return null;
  // Its heading is counted from the votes: no text of the result is opened for an email.
  const result = describeResult(view);
  return {
    runId: view.id,
    title: withoutAddresses(view.title),
    status,
    credits: creditsOf(view),
    heading: result === null ? null : headingWords(result),
    simulated: simulatedPartOf(view),
  };
}

/** Mail programs make links of bare addresses, and a model may have written the title. */
export function withoutAddresses(title: string): string {
  return title.replace(/:(?=\/\/)|@|(?<=[\p{L}\p{N}])\.(?=\p{L})/gu, '$&\u2060');
}

export function finishedEmail(run: FinishedRun, publicUrl: string): EmailContent {
  const { subject, sentence, label } = words[run.status];
  return {
    subject: `${subject}: ${run.title}`,
    paragraphs: [
      `“${run.title}” ${sentence}${run.heading === null ? '' : ` ${run.heading}.`}`,
      moneyWords(run.credits, 'en-US'),
      ...simulatedSentences(run),
    ],
    action: { label, url: `${publicUrl}/optimizations/${run.runId}` },
    closing: [
      'You asked for an email when an optimization ends. You can turn this off in your Account Settings.',
    ],
  };
}

const words = {
  completed: {
    subject: 'Your optimization is complete',
    sentence: 'is complete.',
    label: 'Read the result',
  },
  failed: {
    subject: 'Your optimization failed',
    sentence: 'failed.',
    label: 'See what happened',
  },
  cancelled: {
    subject: 'Your optimization was canceled',
    sentence: 'was canceled.',
    label: 'See the optimization',
  },
} as const satisfies Record<FinishedRun['status'], unknown>;

export function simulatedSentences({ simulated }: Pick<FinishedRun, 'simulated'>): string[] {
  const question = questionOfCase(simulated);
  return [
    simulatedNotice(simulated) ?? '',
    question === null ? '' : `The question of the recorded case: “${question}”`,
  ].filter((sentence) => sentence !== '');
}
