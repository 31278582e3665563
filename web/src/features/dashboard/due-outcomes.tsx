import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useRef, useState } from 'react';
import type { DueOutcome } from '#services/optimizations/contract/outcomes.ts';
import { outcomeQuestion } from '#services/optimizations/reading/words/turned-out.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { QueryBlock } from '#web/api/query-block.tsx';
import { dismissOutcome, dueOutcomesQuery } from '#web/run/outcomes/calls.ts';
import { DisclosedForm } from '#web/run/outcomes/disclosed-form.tsx';
import { Card } from '#web/ui/card.tsx';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { FieldError } from '#web/ui/form/field.tsx';

/** Results whose outcome is asked for; without any it has no place on the page. */
export function DueOutcomes(): ReactNode {
  const answer = useQuery(dueOutcomesQuery);
  const client = useQueryClient();
  const heading = useRef<HTMLHeadingElement>(null);
  /** Something was answered or put off here, so the card stays where it is. */
  const [isUsed, setUsed] = useState(false);
  if (answer.data?.total === 0 && !isUsed) return null;
  if (answer.data === undefined && answer.error === null) return null;
  const leave = async (): Promise<void> => {
    setUsed(true);
    // What had the focus is about to go.
    heading.current?.focus();
    await client.invalidateQueries({ queryKey: dueOutcomesQuery.queryKey });
  };
  return (
    <Card aria-labelledby="due-outcomes" className="space-y-4">
      <h2 id="due-outcomes" ref={heading} tabIndex={-1} className="text-2xl outline-none">
        {outcomeQuestion}
      </h2>
      <QueryBlock
        answer={answer}
        label="Loading open questions"
        failure="We couldn't load the results to ask about"
      >
        {({ due, total }) =>
          total === 0 ? (
            <p className="text-ink-2">Thank you. There is nothing else to answer.</p>
          ) : (
            <>
              <ul className="divide-y divide-line border-y border-line">
                {due.map((one) => (
                  <Due key={`${one.id} ${one.asked}`} one={one} onLeft={leave} />
                ))}
              </ul>
              {total > due.length ? (
                <p className="text-sm text-ink-2">
                  {total - due.length} more will appear here once these are answered.
                </p>
              ) : null}
            </>
          )
        }
      </QueryBlock>
    </Card>
  );
}

function Due({ one, onLeft }: { one: DueOutcome; onLeft: () => Promise<void> }): ReactNode {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const putOff = async (): Promise<void> => {
    setBusy(true);
    setFailure(null);
    try {
      await dismissOutcome(one.id, one.asked);
      announce('Put off');
      await onLeft();
    } catch (error) {
      const sentence = `We couldn't put it off. ${problemSentence(error)}`;
      setFailure(sentence);
      announce(sentence, 'assertive');
    } finally {
      setBusy(false);
    }
  };
  return (
    <li className="space-y-3 py-4">
      <div className="space-y-1">
        <h3 className="font-medium break-words">
          <Link to="/optimizations/$id" params={{ id: one.result_id }} className="link">
            {one.title}
          </Link>
        </h3>
        <p className="max-w-prose break-words">{one.decision}</p>
        <p className="text-sm text-ink-2">{factsOf(one)}</p>
      </div>
      <DisclosedForm
        label="Say what happened"
        about={one.title}
        runId={one.id}
        asked={one.asked}
        onSaved={() => void onLeft()}
        beside={
          <Button
            tone="quiet"
            busy={isBusy}
            onClick={() => void putOff()}
            aria-label={`Not now: ${one.title}`}
          >
            Not now
          </Button>
        }
      />
      {failure === null ? null : <FieldError id={`put-off-${one.id}`}>{failure}</FieldError>}
    </li>
  );
}

function factsOf({
  asked,
  agreement_score: score,
  agreement_band: band,
  simulated,
}: DueOutcome): string {
  return [
    `Asked ${asked} days after the result`,
    score === null ? 'agreement not scored' : `agreement ${score} of 100${band ? `, ${band}` : ''}`,
    ...(simulated ? ['simulated'] : []),
  ].join(' · ');
}
