import type { ReactNode } from 'react';
import { challengeOf } from '#services/onboarding/challenges.ts';
import { isCalculable, wasteOf } from '#services/onboarding/audit.ts';
import type { Onboarding } from '#services/onboarding/contract.ts';
import { Card } from '#web/ui/card.tsx';
import { Button, LinkButton } from '#web/ui/form/button.tsx';
import { SaveNotice, useSavedOnLeave, useSaver } from '#web/features/onboarding/save-notice.tsx';
import type { Saver } from '#web/features/onboarding/saver.ts';
import { bonusWords, missingSentence, missingToCalculate } from '#web/features/onboarding/words.ts';
import { AuditForm } from './audit-form.tsx';
import { Waste } from './waste.tsx';

/** The answers after the onboarding, which can still be changed. */
export function Audit({
  saver,
  formKey,
  onReplaced,
  onActivate,
  isActivating,
}: {
  saver: Saver;
  /** Another one after the answers were replaced. */
  formKey: number;
  onReplaced: () => void;
  onActivate: () => void;
  isActivating: boolean;
}): ReactNode {
  const { answers, stored } = useSaver(saver);
  useSavedOnLeave(saver);
  const { auditData, selectedChallenge } = answers;
  const { revenueLevel } = auditData;
  const challenge = selectedChallenge === null ? undefined : challengeOf(selectedChallenge);
  return (
    <div className="space-y-6">
      <SaveNotice saver={saver} onReplaced={onReplaced} />
      <h2 className="sr-only">Estimates</h2>
      {isCalculable(auditData) && revenueLevel !== null ? (
        <Waste waste={wasteOf(auditData)} level={revenueLevel} audit={auditData} />
      ) : (
        <p className="text-ink-2">{missingSentence('calculate', missingToCalculate(auditData))}</p>
      )}
      <BonusCard bonus={stored.bonus} isBusy={isActivating} onActivate={onActivate} />
      {challenge === undefined ? null : (
        <Card aria-labelledby="challenge" className="space-y-3">
          <h2 id="challenge" className="text-2xl">
            {challenge.title}
          </h2>
          <p className="text-ink-2">{challenge.description}</p>
          <LinkButton to="/optimization" search={{ challenge: challenge.id }}>
            Ask this question
          </LinkButton>
        </Card>
      )}
      <div className="space-y-3">
        <h2 className="text-2xl">Your answers</h2>
        <AuditForm
          key={formKey}
          audit={auditData}
          onChange={(part) => saver.change({ auditData: { ...auditData, ...part } })}
        />
      </div>
    </div>
  );
}

/** A bonus that waited for a confirmed address can be taken here. */
function BonusCard({
  bonus,
  isBusy,
  onActivate,
}: {
  bonus: Onboarding['bonus'];
  isBusy: boolean;
  onActivate: () => void;
}): ReactNode {
  const words = bonusWords(bonus);
  if (words === null) return null;
  return (
    <Card aria-labelledby="bonus" className="space-y-3">
      <h2 id="bonus" className="text-2xl">
        Onboarding bonus
      </h2>
      <p>{words}</p>
      {bonus.state === 'available' ? (
        <Button tone="primary" busy={isBusy} onClick={onActivate}>
          Activate bonus
        </Button>
      ) : bonus.state === 'needs-confirmed-email' ? (
        <LinkButton to="/profile">Confirm your email</LinkButton>
      ) : null}
    </Card>
  );
}
