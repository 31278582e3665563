import type { ReactNode, Ref } from 'react';
import { insufficientCreditsSentence } from '#services/credits/contract.ts';
import { LinkButton } from '#web/ui/button.tsx';
import { creditsInWords } from '#web/ui/figures.ts';
import { Notice } from '#web/ui/notice.tsx';

export type Shortage = {
  readonly required: number;
  readonly balance: number;
  readonly shortfall: number;
  readonly debt: number;
};

/** Why a run cannot be paid, and the two ways on. The draft waits on the device meanwhile. */
export function Insufficient({
  shortage,
  announced,
  focusRef,
}: {
  shortage: Shortage;
  /** Said aloud when a start was refused; not while somebody only looks at prices. */
  announced?: string | undefined;
  focusRef?: Ref<HTMLDivElement>;
}): ReactNode {
  return (
    <Notice
      tone="warn"
      title={announced ?? 'Insufficient Credits'}
      announced={announced}
      {...(focusRef ? { focusRef } : {})}
      actions={
        <>
          <LinkButton to="/credits" hash="more" tone="primary">
            Buy More Credits
          </LinkButton>
          <LinkButton to="/credits">View Credit Balance</LinkButton>
        </>
      }
    >
      {shortage.debt > 0 || shortage.shortfall === 0 ? (
        <p>
          Your account owes {shortage.debt > 0 ? creditsInWords(shortage.debt) : 'credits'}, which
          the next credits you receive settle first. No run can start before.
        </p>
      ) : (
        <p>{insufficientCreditsSentence(shortage)}</p>
      )}
    </Notice>
  );
}
