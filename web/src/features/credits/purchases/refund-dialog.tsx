import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef } from 'react';
import type { Purchase } from '#services/payments/contract.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { day } from '#web/ui/text/day.ts';
import { Dialog } from '#web/ui/dialog.tsx';
import { creditsInWords } from '#services/platform/numbers.ts';
import { money } from '#web/ui/text/figures.ts';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { showToast } from '#web/ui/feedback/toasts.tsx';
import { requestRefund } from './purchase-queries.ts';
import { refundFailure, refundWords } from './purchase-words.ts';

/** A purchase as it was when the dialog opened, and the key of that intent. */
export type Asked = { readonly purchase: Purchase; readonly key: string };

const failed = "We couldn't request your refund";

/**
 * Refunds the unused credits of a purchase. The request names credits, price and whether a plan
 * ends, all as of opening. The server refuses when any has changed, so nothing unseen is refunded
 * and no plan ends unseen. While the outcome of an attempt is unknown, the next one carries the
 * same key.
 */
export function RefundDialog({
  asked,
  onClose,
}: {
  /** Null when closed. */
  asked: Asked | null;
  /** Called when it has closed; `requested` after a refund was requested. */
  onClose: (requested: boolean) => void;
}): ReactNode {
  const client = useQueryClient();
  const isOpen = useRef(false);
  // The second half of a double click comes before the button is drawn as busy.
  const isSending = useRef(false);
  const request = useMutation({
    mutationFn: ({ purchase, key }: Asked) =>
      requestRefund(
        purchase.id,
        {
          credits: purchase.refundable?.credits,
          ends_plan: purchase.refundable?.ends_plan,
        },
        key,
      ),
    onSuccess: (refund) => {
      const { word, note } = refundWords(refund);
      announce(`${word}: ${note}`);
    },
    onError: (error) => {
      // A user who has closed the dialog would not see the message in it.
      if (!isOpen.current) showToast('error', failed, { message: refundFailure(error).sentence });
    },
    // Even a failed request may have taken effect. Balance, history, plan and tier follow from it.
    onSettled: () => {
      isSending.current = false;
      void client.invalidateQueries();
    },
  });
  const open = asked !== null && !request.isSuccess;
  useEffect(() => {
    isOpen.current = open;
  });
  const failure = request.error === null ? null : refundFailure(request.error);
  return (
    <Dialog
      open={open}
      onClose={() => {
        const requested = request.isSuccess;
        request.reset();
        onClose(requested);
      }}
      title="Refund unused credits?"
      actions={
        <>
          <Button onClick={() => onClose(false)}>
            {failure?.isFinal === true ? 'Close' : 'Keep credits'}
          </Button>
          {asked === null || failure?.isFinal === true ? null : (
            <Button
              tone="danger"
              busy={request.isPending}
              onClick={() => {
                if (isSending.current) return;
                isSending.current = true;
                request.mutate(asked);
              }}
            >
              {request.isPending ? 'Requesting…' : `Refund ${amountOf(asked.purchase)}`}
            </Button>
          )}
        </>
      }
    >
      {asked === null ? null : <Effects purchase={asked.purchase} />}
      {failure === null ? null : (
        <Notice tone="bad" title={failed} announced={`${failed}. ${failure.sentence}`}>
          <p>{failure.sentence}</p>
          <p>{failure.certainty}</p>
        </Notice>
      )}
    </Dialog>
  );
}

function Effects({ purchase }: { purchase: Purchase }): ReactNode {
  const given = purchase.refundable?.credits ?? 0;
  return (
    <>
      <p>
        <span className="font-medium">
          {creditsInWords(given)} for {amountOf(purchase)}
        </span>
        , out of {creditsInWords(purchase.credits)} of {purchase.package_name}, bought on{' '}
        {day(purchase.paid_at ?? purchase.created_at)}.
      </p>
      <ul className="list-disc space-y-1 ps-5 text-ink-2">
        <li>The credits leave your balance right away.</li>
        <li>
          The money goes back to your original payment method. It may take your bank a few days to
          show it.
        </li>
        <li>If the refund fails, your credits are returned automatically.</li>
      </ul>
      {purchase.refundable?.ends_plan === true ? (
        <Notice tone="warn" title="Your plan will end now">
          These credits belong to your plan's current month. If you confirm, {purchase.package_name}{' '}
          and its benefits end now and won't renew.
        </Notice>
      ) : null}
    </>
  );
}

function amountOf({ refundable, currency }: Purchase): string {
  return money(refundable?.amount_cents ?? 0, currency);
}
