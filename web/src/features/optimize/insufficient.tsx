import type { ReactNode, Ref } from 'react';
import { insufficientCreditsSentence, spendingFrozenSentence } from '#services/credits/contract.ts';
import { LinkButton } from '#web/ui/form/button.tsx';
import { creditsInWords } from '#services/platform/numbers.ts';
import { Notice } from '#web/ui/feedback/notice.tsx';

export type Shortage = {
  readonly required: number;
  readonly balance: number;
  readonly shortfall: number;
  readonly debt: number;
  /** No purchase helps: spending is frozen until the operator lifts it. */
  readonly frozen: boolean;
};

/** The title on the button and the panel: with a debt and enough credits, nothing is short. */
export function shortageTitle({
  shortfall,
  frozen,
}: Pick<Shortage, 'shortfall' | 'frozen'>): string {
  if (frozen) return 'Credits Frozen';
  return shortfall > 0 ? 'Insufficient Credits' : 'Credits owed';
}

/** Announced when a start is refused. */
export function refusalSentence({
  shortfall,
  frozen,
}: Pick<Shortage, 'shortfall' | 'frozen'>): string {
  if (frozen) return spendingFrozenSentence;
  return shortfall > 0
    ? 'Insufficient credits to start optimization. Please purchase more credits.'
    : "You owe credits, so you can't start an optimization yet.";
}

/** Why a run cannot be paid, and two ways to fix it. The draft stays on the device meanwhile. */
export function Insufficient({
  shortage,
  announced,
  focusRef,
}: {
  shortage: Shortage;
  /** Announced when a start was refused, not while prices are compared. */
  announced?: string | undefined;
  focusRef?: Ref<HTMLDivElement>;
}): ReactNode {
  if (shortage.frozen)
    return (
      <Notice
        tone="bad"
        title={shortageTitle(shortage)}
        actions={<LinkButton to="/credits">View Credit Balance</LinkButton>}
      >
        {spendingFrozenSentence}
      </Notice>
    );
  return (
    <Notice
      tone="warn"
      title={announced ?? shortageTitle(shortage)}
      announced={announced}
      {...(focusRef ? { focusRef } : {})}
      actions={
        <>
          <LinkButton to="/credits/purchase" tone="primary">
            Buy More Credits
          </LinkButton>
          <LinkButton to="/credits">View Credit Balance</LinkButton>
        </>
      }
    >
      {shortage.shortfall > 0 ? <p>{insufficientCreditsSentence(shortage)}</p> : null}
      {shortage.debt > 0 || shortage.shortfall === 0 ? (
        <p>
          You owe {shortage.debt > 0 ? creditsInWords(shortage.debt) : 'credits'}: you used them
          before their payment was reversed. Your next purchase settles them first. Then you can
          start optimizations again.
        </p>
      ) : null}
    </Notice>
  );
}
