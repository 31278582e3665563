import { type ReactNode, useState } from 'react';
import { challengeOf } from '#services/onboarding/challenges.ts';
import type { Onboarding, OnboardingAnswers } from '#services/onboarding/contract.ts';
import { sameFields, useRun, useRunPart } from '#web/live/live.ts';
import type { RunState } from '#web/live/run-state.ts';
import { ApiProblem } from '#web/api/api.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { Card } from '#web/ui/card.tsx';
import { ErrorState } from '#web/ui/feedback/error-state.tsx';
import { Comparison, type Measured } from './comparison.tsx';
import { measuredMinutes } from './demonstration/run-progress.tsx';
import { type Moves, NextButton, Stage } from './stage.tsx';
import { bonusWords } from './words.ts';

/** Stage 4: what was compared, and the call that completes the onboarding. */
export function ActivationStage({
  answers,
  bonus,
  isSaved,
  takesFocus,
  moves,
  onActivate,
}: {
  answers: OnboardingAnswers;
  bonus: Onboarding['bonus'];
  isSaved: boolean;
  takesFocus: boolean;
  moves: Moves;
  /** Resolves once it is complete and the page is being left, or when the answers are not saved. */
  onActivate: () => Promise<void>;
}): ReactNode {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const { selectedChallenge, demonstration } = answers;
  const challenge = selectedChallenge === null ? undefined : challengeOf(selectedChallenge);
  const words = bonusWords(bonus);
  const activate = async (): Promise<void> => {
    setBusy(true);
    setFailure(null);
    try {
      await onActivate();
    } catch (error) {
      setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Stage
      number={4}
      title="Activation"
      about="Compare the two ways of working, then open your question."
      takesFocus={takesFocus}
      moves={moves}
      next={
        <NextButton
          label={isBusy ? 'Activating…' : 'Activate'}
          waitsFor={null}
          busy={isBusy}
          onPress={() => void activate()}
        />
      }
    >
      {challenge === undefined ? (
        <p className="text-ink-2">
          You chose no challenge, so there is nothing to compare. You can go back and choose one.
        </p>
      ) : demonstration?.kind === 'run' ? (
        <OfRun runId={demonstration.run_id}>
          {(measured) => <Comparison challenge={challenge} measured={measured} />}
        </OfRun>
      ) : (
        <Comparison
          challenge={challenge}
          measured={demonstration?.finished === true ? { kind: 'sample' } : { kind: 'none' }}
        />
      )}
      <Card aria-labelledby="activate" className="space-y-2">
        <h3 id="activate" className="text-2xl">
          What activation does
        </h3>
        <ul className="list-disc space-y-1 ps-5">
          <li>It marks this onboarding as complete.</li>
          {words === null || bonus.state === 'granted' ? null : <li>{words}</li>}
          <li>
            {challenge === undefined
              ? 'The question form opens. Nothing starts until you press start.'
              : 'The question form opens, filled in with your challenge. Nothing starts until you press start.'}
          </li>
        </ul>
      </Card>
      {failure === null ? null : (
        <ErrorState
          title="We couldn't activate your account"
          detail={problemSentence(failure)}
          safe={isSaved ? 'Your answers are saved.' : undefined}
          reference={failure instanceof ApiProblem ? failure.request_id : null}
        />
      )}
    </Stage>
  );
}

function OfRun({
  runId,
  children,
}: {
  runId: string;
  children: (measured: Measured) => ReactNode;
}): ReactNode {
  const { status } = useRun(runId);
  return status === 'ready' ? (
    <OfReadyRun runId={runId}>{children}</OfReadyRun>
  ) : (
    children({ kind: 'none' })
  );
}

function OfReadyRun({ runId, children }: Parameters<typeof OfRun>[0]): ReactNode {
  const { minutes, isSimulated } = useRunPart(runId, measuredOf, sameFields);
  return children(minutes === null ? { kind: 'none' } : { kind: 'run', minutes, isSimulated });
}

const measuredOf = ({ view }: RunState) => ({
  minutes: measuredMinutes(view),
  isSimulated: view.seats.some((seat) => seat.simulated),
});
