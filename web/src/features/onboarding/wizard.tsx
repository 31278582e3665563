import { type ReactNode, useRef, useState } from 'react';
import type { Strategy } from '#services/optimizations/contract/panel.ts';
import {
  type Onboarding,
  type OnboardingAnswers,
  stageCount,
} from '#services/onboarding/contract.ts';
import { stagesOf } from '#services/onboarding/stages.ts';
import { ActivationStage } from './activation-stage.tsx';
import { AuditStage } from './audit/audit-stage.tsx';
import { ChallengeStage } from './challenge-stage.tsx';
import { DemonstrationStage } from './demonstration/demonstration-stage.tsx';
import type { StartRun } from './demonstration/real-run.tsx';
import { SaveNotice, useSavedOnLeave, useSaver } from './save-notice.tsx';
import type { Saver } from './saver.ts';
import type { Moves } from './stage.tsx';
import { StepList } from './step-list.tsx';

type StageNumber = Onboarding['currentStage'];

export type WizardProps = {
  saver: Saver;
  /** The cheapest that is available; null while unknown, too. */
  strategy: Strategy | null;
  /** Available credits; null while unknown. */
  credits: number | null;
  startRun: StartRun;
  resumeRun: (runId: string) => Promise<void>;
  activateBonus: () => Promise<Onboarding>;
  /** Completes it and leaves the page. @throws ApiProblem */
  onComplete: () => Promise<void>;
  /** Leaves the page; the answers stay saved. */
  onLeave: () => void;
};

/** The four stages, one at a time. */
export function Wizard(props: WizardProps): ReactNode {
  const { saver, strategy, credits, startRun, resumeRun, activateBonus, onComplete, onLeave } =
    props;
  const { answers, stored, save } = useSaver(saver);
  const { currentStage, auditData, selectedChallenge } = answers;
  // The first stage shown takes no focus: the page's heading has it.
  const [hasMoved, setMoved] = useState(false);
  const [edition, setEdition] = useState(0);
  useSavedOnLeave(saver);
  const [isStarting, setStarting] = useState(false);
  const notice = useRef<HTMLDivElement>(null);

  /** Saves; what cannot be saved is shown, and nothing that costs money is built on it. */
  const saved = async (): Promise<boolean> => {
    const isSaved = await saver.flush();
    if (!isSaved) notice.current?.focus();
    return isSaved;
  };

  const goTo = (stage: number): void => {
    setMoved(true);
    saver.change({ currentStage: stage as StageNumber });
    void saver.flush();
  };
  const next = (): void => goTo(Math.min(stageCount, currentStage + 1));
  const moves: Moves = {
    onBack: currentStage === 1 ? null : () => goTo(currentStage - 1),
    onSkip: currentStage === stageCount ? onLeave : next,
  };
  const shared = { takesFocus: hasMoved, moves };

  const start: Parameters<typeof DemonstrationStage>[0]['onStart'] = async (run) => {
    const { bonus } = saver.state().stored;
    if (credits !== null && credits < run.price && bonus.state === 'available')
      saver.take(await activateBonus());
    if (!(await saved())) return { refusal: null };
    setStarting(true);
    try {
      return await startRun({
        ...run,
        onCreated: async (runId) => {
          saver.change({ demonstration: { kind: 'run', run_id: runId } });
          // Before it starts: a reloaded page finds its run again.
          if (!(await saved())) throw new Error('The answers do not name the run yet');
        },
      });
    } finally {
      setStarting(false);
    }
  };

  const resume = async (runId: string): Promise<void> => {
    if (await saved()) await resumeRun(runId);
  };

  return (
    <div className="space-y-8">
      <StepList stages={stagesOn(stored, answers)} current={currentStage} />
      <div ref={notice} tabIndex={-1}>
        <SaveNotice saver={saver} onReplaced={() => setEdition((last) => last + 1)} />
      </div>
      {currentStage === 1 ? (
        <AuditStage
          key={edition}
          {...shared}
          audit={auditData}
          onChange={(audit) => saver.change({ auditData: audit })}
          onNext={next}
        />
      ) : currentStage === 2 ? (
        <ChallengeStage
          {...shared}
          business={auditData}
          chosen={selectedChallenge}
          onChoose={(id) => {
            // Another challenge has another question, and another demonstration.
            if (id !== selectedChallenge)
              saver.change({ selectedChallenge: id, question: null, demonstration: null });
          }}
          onNext={next}
        />
      ) : currentStage === 3 ? (
        <DemonstrationStage
          {...shared}
          answers={answers}
          bonus={stored.bonus}
          strategy={strategy}
          credits={credits}
          onChange={saver.change}
          isStarting={isStarting}
          onStart={start}
          onResume={(runId) => void resume(runId)}
          onNext={next}
        />
      ) : (
        <ActivationStage
          {...shared}
          answers={answers}
          bonus={stored.bonus}
          isSaved={save.status === 'saved'}
          onActivate={async () => {
            if (await saved()) await onComplete();
          }}
        />
      )}
    </div>
  );
}

/** As on screen; how a run stands only the server knows. */
function stagesOn(stored: Onboarding, answers: OnboardingAnswers): Onboarding['stages'] {
  const own = answers.demonstration;
  const known = stored.demonstration?.kind === 'run' ? stored.demonstration : null;
  return stagesOf(answers, own?.kind === 'run' ? known : own, stored.completedAt !== null);
}
