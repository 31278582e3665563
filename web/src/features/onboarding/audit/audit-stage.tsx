import { type ReactNode, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { wasteOf } from '#services/onboarding/audit.ts';
import type { AuditData } from '#services/onboarding/contract.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { AuditForm } from './audit-form.tsx';
import { type Moves, NextButton, Stage } from '#web/features/onboarding/stage.tsx';
import { Waste } from './waste.tsx';
import {
  missingSentence,
  missingToCalculate,
  missingToExperience,
} from '#web/features/onboarding/words.ts';

/** Stage 1: what carrying work between AI tools costs. */
export function AuditStage({
  audit,
  takesFocus,
  moves,
  onChange,
  onNext,
}: {
  audit: AuditData;
  takesFocus: boolean;
  moves: Moves;
  onChange: (audit: AuditData) => void;
  onNext: () => void;
}): ReactNode {
  const missing = missingToCalculate(audit);
  const missingAfter = missingToExperience(audit);
  // Answers from an earlier visit have been calculated before.
  const [isAsked, setAsked] = useState(missing.length === 0);
  const results = useRef<HTMLDivElement>(null);
  const { revenueLevel } = audit;
  const waste = isAsked && missing.length === 0 ? wasteOf(audit) : null;
  const calculate = (): void => {
    flushSync(() => setAsked(true));
    results.current?.scrollIntoView({ block: 'nearest' });
    announce('The estimates are below the form.');
  };
  return (
    <Stage
      number={1}
      title="Audit"
      about="Work you carry between AI tools by hand costs time. Estimate how much."
      takesFocus={takesFocus}
      moves={moves}
      next={
        <NextButton
          label="Experience Superintelligence"
          waitsFor={missingAfter.length > 0 ? missingSentence('continue', missingAfter) : null}
          onPress={onNext}
        />
      }
    >
      <AuditForm audit={audit} onChange={(part) => onChange({ ...audit, ...part })} />
      <div className="flex flex-wrap items-center gap-3">
        <Button
          disabled={missing.length > 0}
          aria-describedby={missing.length > 0 ? 'calculate-note' : undefined}
          onClick={calculate}
        >
          Calculate
        </Button>
        {missing.length > 0 ? (
          <p id="calculate-note" className="text-sm text-ink-2">
            {missingSentence('calculate', missing)}
          </p>
        ) : null}
      </div>
      <div ref={results}>
        {waste && revenueLevel !== null ? (
          <Waste waste={waste} level={revenueLevel} audit={audit} />
        ) : null}
      </div>
    </Stage>
  );
}
