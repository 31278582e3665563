import type { AskedDay } from '#services/optimizations/run/events.ts';
import { simulatedSentences, withoutAddresses } from '#services/optimizations/finished-email.ts';
import { statusOf } from '#services/optimizations/reading/describe.ts';
import { simulatedPartOf } from '#services/optimizations/reading/simulated.ts';
import type { SimulatedPart } from '#services/optimizations/reading/simulated.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import {
  outcomeQuestion,
  unchangedNote,
} from '#services/optimizations/reading/words/turned-out.ts';
import type { EmailContent } from '#services/platform/mail/layout.ts';

/** The facts in the email that asks what came of a result. */
export type AskedResult = {
  resultId: string;
  title: string;
  simulated: SimulatedPart;
};

/** Null for a run without a result, and once it was deleted or erased. */
export function askedResult(view: RunView): AskedResult | null {
  if (statusOf(view) !== 'completed' || view.title === null || view.hidden) return null;
  return {
    resultId: view.id,
    title: withoutAddresses(view.title),
    simulated: simulatedPartOf(view),
  };
}

/** It says nothing of the result: that stays on the page. */
export function outcomeEmail(
  result: AskedResult,
  asked: AskedDay,
  publicUrl: string,
): EmailContent {
  return {
    subject: `${outcomeQuestion} ${result.title}`,
    paragraphs: [
      `“${result.title}” was completed at least ${asked} days ago. What did you do, and what happened? Open the result and answer two questions.`,
      unchangedNote,
      ...simulatedSentences(result),
    ],
    action: {
      label: 'Say what happened',
      url: `${publicUrl}/optimizations/${result.resultId}#outcome`,
    },
    closing: [
      'You asked for an email 30 and 90 days after a result. You can turn this off in your Account Settings.',
    ],
  };
}
