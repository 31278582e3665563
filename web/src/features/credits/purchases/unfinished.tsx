import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect } from 'react';
import type { Purchase, PurchaseStatus } from '#services/payments/contract.ts';
import { providerAddress } from '#web/app/provider-page.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { Button, OutsideButton } from '#web/ui/form/button.tsx';
import { forgetPurchase } from './purchase-queries.ts';

const outcomes: Readonly<Record<PurchaseStatus, string>> = {
  open: 'It cannot be ended just now, and closes automatically within an hour.',
  processing: 'It was just paid. Your bank is still confirming.',
  paid: 'It was already paid. The credits are yours.',
  failed: "The payment failed. You weren't charged.",
  expired: "Removed. You weren't charged.",
};

/** The two ways to end an unfinished purchase: pay it or give it up. */
export function Unfinished({ purchase }: { purchase: Purchase }): ReactNode {
  const client = useQueryClient();
  const forget = useMutation({
    mutationFn: () => forgetPurchase(purchase.id),
    onSuccess: async ({ status }) => {
      announce(`${purchase.package_name}: ${outcomes[status]}`);
      // The row disappears, so the focus goes to its list.
      if (status !== 'open') document.getElementById('purchases')?.focus();
      await client.invalidateQueries({ queryKey: ['credits'] });
    },
  });
  const note = forget.isError
    ? `We couldn't remove it. ${problemSentence(forget.error)}`
    : forget.data?.status === 'open'
      ? outcomes.open
      : null;
  useEffect(() => {
    if (forget.isError && note !== null) announce(note, 'assertive');
  }, [forget.isError, note]);
  const checkout = providerAddress(purchase.checkout_url);
  const about = <span className="sr-only"> {purchase.package_name}</span>;
  return (
    <div className="space-y-2">
      <div className="flex flex-wrap gap-3">
        {checkout === null ? null : (
          // The same checkout: a second one could be paid twice.
          <OutsideButton href={checkout}>Continue{about}</OutsideButton>
        )}
        <Button tone="quiet" busy={forget.isPending} onClick={() => forget.mutate()}>
          {forget.isPending ? 'Removing…' : 'Remove'}
          {about}
        </Button>
      </div>
      {note === null ? null : (
        <p className={forget.isError ? 'text-sm text-bad' : 'text-sm text-ink-2'}>{note}</p>
      )}
    </div>
  );
}
