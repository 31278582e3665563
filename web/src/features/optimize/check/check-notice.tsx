import { type ReactNode, type Ref, useEffect, useRef, useState } from 'react';
import { figure } from '#services/platform/numbers.ts';
import { withAnswers } from '#services/optimizations/check/questions.ts';
import { optimizationLimits } from '#services/optimizations/contract/requests.ts';
import { Button } from '#web/ui/form/button.tsx';
import { TextArea } from '#web/ui/form/field.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import type { Check } from './use-check.ts';

/** What a check found, in the place of the start button. It takes the focus when it appears. */
export function CheckNotice({
  check,
  context,
  onAnswer,
  onEdit,
  onStart,
}: {
  check: Extract<Check, { kind: 'ask' | 'undecidable' }>;
  context: string;
  /** With the context that the answers have joined. */
  onAnswer: (context: string) => void;
  onEdit: () => void;
  onStart: () => void;
}): ReactNode {
  const notice = useRef<HTMLDivElement>(null);
  useEffect(() => {
    notice.current?.focus();
  }, []);
  const startAnyway = <Button onClick={onStart}>Start anyway</Button>;
  if (check.kind === 'undecidable')
    return (
      <Notice
        tone="warn"
        title="This question may not have an answer"
        announced={`This question may not have an answer. ${check.why}`}
        focusRef={notice}
        actions={
          <>
            <Button tone="primary" onClick={onEdit}>
              Edit question
            </Button>
            {startAnyway}
          </>
        }
      >
        <p className="break-words">{check.why}</p>
        <p>Nothing was charged.</p>
      </Notice>
    );
  return (
    <Questions
      questions={check.questions}
      context={context}
      onAnswer={onAnswer}
      startAnyway={startAnyway}
      focusRef={notice}
    />
  );
}

function Questions({
  questions,
  context,
  onAnswer,
  startAnyway,
  focusRef,
}: {
  questions: readonly string[];
  context: string;
  onAnswer: (context: string) => void;
  startAnyway: ReactNode;
  focusRef: Ref<HTMLDivElement>;
}): ReactNode {
  const [answers, setAnswers] = useState<readonly string[]>(() => questions.map(() => ''));
  const joined = withAnswers(
    context,
    questions.map((question, at) => ({ question, answer: answers[at] ?? '' })),
  );
  const excess = joined.length - optimizationLimits.context;
  const last = answers.findLastIndex((answer) => answer.trim() !== '');
  const title =
    questions.length === 1
      ? 'One fact would help the models'
      : `${questions.length} facts would help the models`;
  return (
    <Notice
      title={title}
      announced={`${title}. Answer what you can, or start anyway.`}
      focusRef={focusRef}
      actions={
        <>
          <Button
            tone="primary"
            disabled={last === -1 || excess > 0}
            onClick={() => onAnswer(joined)}
          >
            Add answers
          </Button>
          {startAnyway}
        </>
      }
    >
      <p>Answer what you can. Your answers join the context. Nothing was charged.</p>
      <div className="space-y-4 pt-3 text-ink">
        {questions.map((question, at) => (
          <TextArea
            key={question}
            label={question}
            name={`answer-${at + 1}`}
            rows={2}
            value={answers[at] ?? ''}
            onChange={({ currentTarget: { value } }) => setAnswers(answers.with(at, value))}
            error={excess > 0 && at === last ? tooLong(excess) : undefined}
          />
        ))}
      </div>
    </Notice>
  );
}

function tooLong(excess: number): string {
  const characters = excess === 1 ? '1 character' : `${figure(excess)} characters`;
  return `With your answers the context is ${characters} too long.`;
}
