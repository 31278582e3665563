import { type ReactNode, useState } from 'react';
import type { Challenge } from '#services/onboarding/challenge-list.ts';
import type { Bonus, OnboardingAnswers } from '#services/onboarding/contract.ts';
import {
  CreateOptimizationRequest,
  optimizationLimits,
} from '#services/optimizations/contract/requests.ts';
import type { Strategy } from '#services/optimizations/contract/panel.ts';
import * as v from 'valibot';
import { creditsInWords } from '#services/platform/numbers.ts';
import { ApiProblem } from '#web/api/api.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { ErrorState } from '#web/ui/feedback/error-state.tsx';
import { Button, LinkButton } from '#web/ui/form/button.tsx';
import { Counter } from '#web/ui/form/counter.tsx';
import { TextArea } from '#web/ui/form/field.tsx';
import { destinationSentence } from '#web/run/words.ts';

export type Question = NonNullable<OnboardingAnswers['question']>;

/** Starts a run and resolves once it runs; a refusal is a sentence for people. */
export type StartRun = (start: {
  request: CreateOptimizationRequest;
  /** Credits that the person agreed to. */
  price: number;
  /** Called with the new run before it starts. */
  onCreated: (runId: string) => Promise<void>;
}) => Promise<{ refusal: string | null }>;

/** The form of a real run, at the cheapest price. */
export function RealRunForm({
  challenge,
  question,
  strategy,
  credits,
  bonus,
  onEdit,
  onStart,
}: {
  challenge: Challenge;
  question: Question;
  /** The cheapest that is available; null when none is. */
  strategy: Strategy | null;
  /** Available credits; null while unknown. */
  credits: number | null;
  bonus: Bonus;
  onEdit: (question: Question) => void;
  onStart: (
    request: CreateOptimizationRequest,
    price: number,
  ) => Promise<{ refusal: string | null }>;
}): ReactNode {
  const [isStarting, setStarting] = useState(false);
  const [failure, setFailure] = useState<{ sentence: string; reference: string | null } | null>(
    null,
  );
  if (strategy === null)
    return (
      <p className="text-ink-2">
        No strategy is available right now. The demonstration with sample data works without one.
      </p>
    );
  const { template } = challenge;
  const parsed = v.safeParse(CreateOptimizationRequest, {
    ...question,
    objectives: template.objectives,
    constraints: template.constraints,
    strategy: strategy.id,
    challenge_type: template.challengeType,
  });
  const price = strategy.credits;
  const isShort = credits !== null && credits < price;
  const isBonusFirst = isShort && bonus.state === 'available' && credits + bonus.credits >= price;
  const start = async (): Promise<void> => {
    if (!parsed.success) return;
    setStarting(true);
    setFailure(null);
    try {
      const { refusal } = await onStart(parsed.output, price);
      if (refusal !== null) setFailure({ sentence: refusal, reference: null });
    } catch (error) {
      setFailure({
        sentence: problemSentence(error),
        reference: error instanceof ApiProblem ? error.request_id : null,
      });
    } finally {
      setStarting(false);
    }
  };
  return (
    <div className="space-y-4">
      <fieldset disabled={isStarting} className="min-w-0 space-y-4">
        <legend className="sr-only">Question of the real run</legend>
        <TextArea
          name="challenge"
          label="Question"
          rows={3}
          required
          value={question.challenge}
          error={errorAt(parsed, 'challenge')}
          aside={<Counter text={question.challenge} limit={optimizationLimits.challenge} />}
          onChange={(event) => onEdit({ ...question, challenge: event.currentTarget.value })}
        />
        <TextArea
          name="context"
          label="Facts"
          rows={9}
          value={question.context}
          error={errorAt(parsed, 'context')}
          hint="Fill in after each colon, and delete what you don't want to share. The answer is only as good as these facts."
          aside={<Counter text={question.context} limit={optimizationLimits.context} />}
          onChange={(event) => onEdit({ ...question, context: event.currentTarget.value })}
        />
      </fieldset>
      <details className="text-sm text-ink-2">
        <summary className="min-h-11 cursor-pointer py-2.5">Goals and limits sent with it</summary>
        <ul className="list-disc space-y-1 ps-5">
          {[...template.objectives, ...template.constraints].map((row) => (
            <li key={row}>{row}</li>
          ))}
        </ul>
      </details>
      <p className="text-ink-2">
        {creditsInWords(price)} with {strategy.name}, the cheapest strategy.{' '}
        {credits === null ? '' : `You have ${creditsInWords(credits)}. `}
        {isBonusFirst ? `Your bonus of ${creditsInWords(bonus.credits)} is added first. ` : ''}
        {destinationSentence(strategy)} Don't paste passwords or keys.
      </p>
      {failure ? (
        <ErrorState
          title="Failed to start optimization"
          detail={failure.sentence}
          safe="Your question is saved."
          reference={failure.reference}
        />
      ) : null}
      {isShort && !isBonusFirst ? (
        <div className="flex flex-wrap items-center gap-3">
          <p>You need {creditsInWords(price - credits)} more for a real run.</p>
          <LinkButton to="/credits/purchase">Buy More Credits</LinkButton>
        </div>
      ) : (
        <Button disabled={!parsed.success} busy={isStarting} onClick={() => void start()}>
          {isStarting ? 'Starting…' : `Start run · ${creditsInWords(price)}`}
        </Button>
      )}
    </div>
  );
}

function errorAt(
  parsed: v.SafeParseResult<typeof CreateOptimizationRequest>,
  field: string,
): string | undefined {
  return parsed.issues?.find((issue) => v.getDotPath(issue) === field)?.message;
}
