import type { ReactNode } from 'react';
import type { Strategy } from '#services/optimizations/contract/panel.ts';
import { challengeOf } from '#services/onboarding/challenges.ts';
import type { Onboarding, OnboardingAnswers } from '#services/onboarding/contract.ts';
import { Card } from '#web/ui/card.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { questionOf } from '#web/features/onboarding/words.ts';
import { RealRunForm, type StartRun } from './real-run.tsx';
import { RunProgress } from './run-progress.tsx';
import { SampleRun } from './sample-run.tsx';
import { type Moves, NextButton, Stage } from '#web/features/onboarding/stage.tsx';

/** Stage 3: a sample, or a real run, as the person chooses. */
export function DemonstrationStage({
  answers,
  bonus,
  strategy,
  credits,
  takesFocus,
  moves,
  onChange,
  isStarting,
  onStart,
  onResume,
  onNext,
}: {
  answers: OnboardingAnswers;
  bonus: Onboarding['bonus'];
  strategy: Strategy | null;
  credits: number | null;
  takesFocus: boolean;
  moves: Moves;
  onChange: (part: Partial<OnboardingAnswers>) => void;
  /** Whether the run is created and not yet started. */
  isStarting: boolean;
  onStart: (start: Pick<Parameters<StartRun>[0], 'request' | 'price'>) => ReturnType<StartRun>;
  /** Starts a run that was created and not started. */
  onResume: (runId: string) => void;
  onNext: () => void;
}): ReactNode {
  const { selectedChallenge, demonstration, question, auditData } = answers;
  const challenge = selectedChallenge === null ? undefined : challengeOf(selectedChallenge);
  return (
    <Stage
      number={3}
      title="Demonstration"
      about="See how a run works: with sample data, free and in 5 seconds, or for real, with your own question."
      takesFocus={takesFocus}
      moves={moves}
      next={<NextButton label="Continue" waitsFor={null} onPress={onNext} />}
    >
      {challenge === undefined ? (
        <Notice
          title="Choose a challenge first"
          actions={moves.onBack ? <Button onClick={moves.onBack}>Choose a challenge</Button> : null}
        >
          A demonstration shows one of the challenges. You can also skip this step.
        </Notice>
      ) : (
        <div className="grid grid-cols-1 items-start gap-6 lg:grid-cols-2">
          <Card aria-labelledby="sample" className="space-y-4">
            <h3 id="sample" className="text-2xl">
              Demonstration with sample data
            </h3>
            <SampleRun
              key={challenge.id}
              challengeId={challenge.id}
              isFinished={demonstration?.kind === 'sample' && demonstration.finished}
              onFinished={() => {
                // A real run stays: the sample only shows what its steps look like.
                if (demonstration?.kind !== 'run')
                  onChange({ demonstration: { kind: 'sample', finished: true } });
              }}
            />
          </Card>
          <Card aria-labelledby="real" className="space-y-4">
            <h3 id="real" className="text-2xl">
              Real run
            </h3>
            {demonstration?.kind === 'run' ? (
              <RunProgress
                runId={demonstration.run_id}
                isStarting={isStarting}
                onStart={() => onResume(demonstration.run_id)}
                onForget={() => onChange({ demonstration: null })}
              />
            ) : (
              <RealRunForm
                challenge={challenge}
                question={question ?? questionOf(challenge, auditData)}
                strategy={strategy}
                credits={credits}
                bonus={bonus}
                onEdit={(edited) => onChange({ question: edited })}
                onStart={async (request, price) => onStart({ request, price })}
              />
            )}
          </Card>
        </div>
      )}
    </Stage>
  );
}
