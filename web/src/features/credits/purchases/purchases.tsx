import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { Purchase, Refund } from '#services/payments/contract.ts';
import { Button } from '#web/ui/form/button.tsx';
import { Card } from '#web/ui/card.tsx';
import { day, fullMoment } from '#web/ui/text/day.ts';
import { credits, creditsInWords } from '#services/platform/numbers.ts';
import { money } from '#web/ui/text/figures.ts';
import { OutsideLink } from '#web/ui/outside-link.tsx';
import { Status } from '#web/ui/feedback/status.tsx';
import {
  purchaseStatusNotes,
  purchaseStatusTones,
  purchaseStatusWords,
  refundTones,
  refundWords,
  refusalWords,
} from './purchase-words.ts';
import { type Asked, RefundDialog } from './refund-dialog.tsx';
import { lotAnchor, purchaseAnchor } from '#web/features/credits/history/transaction-words.ts';
import { Unfinished } from './unfinished.tsx';

type Props = {
  purchases: readonly Purchase[];
  /** The id of the row that a link named; empty without one. */
  target: string;
  /** Loads older ones; null when there are none. */
  onMore: (() => void) | null;
  loadingMore: boolean;
  /** The error of loading older ones. */
  moreFailed: string | null;
};

/** Finished and unfinished purchases, each with its receipt and its possible refund. */
export function Purchases({
  purchases,
  target,
  onMore,
  loadingMore,
  moreFailed,
}: Props): ReactNode {
  const [asked, setAsked] = useState<Asked | null>(null);
  useTarget(target, moreFailed === null && !loadingMore ? onMore : null);
  const askFor = (purchase: Purchase): void => {
    // One dialog is one refund: all its attempts carry this key.
    setAsked({ purchase, key: crypto.randomUUID() });
  };
  return (
    <Card aria-labelledby="purchases" className="space-y-4">
      <h2 id="purchases" tabIndex={-1} className="text-2xl">
        Purchases
      </h2>
      {purchases.length === 0 ? (
        <p className="text-ink-2">
          Your purchases will appear here, with receipts and refund options.
        </p>
      ) : (
        <ul className="divide-y divide-line border-y border-line">
          {purchases.map((purchase) => (
            <PurchaseRow key={purchase.id} purchase={purchase} onRefund={() => askFor(purchase)} />
          ))}
        </ul>
      )}
      {moreFailed === null ? null : <p className="text-bad">{moreFailed}</p>}
      {onMore ? (
        <Button onClick={onMore} busy={loadingMore}>
          {loadingMore ? 'Loading…' : 'Load more'}
          <span className="sr-only"> purchases</span>
        </Button>
      ) : null}
      <RefundDialog
        asked={asked}
        onClose={(requested) => {
          setAsked(null);
          // The button that opened the dialog disappears with what it offered.
          if (requested && asked)
            document.getElementById(purchaseAnchor(asked.purchase.id))?.focus();
        }}
      />
    </Card>
  );
}

const anchors = [purchaseAnchor(''), lotAnchor('')];

/** Scrolls to the row that a link named and focuses it, loading older rows first if needed. */
function useTarget(target: string, onMore: (() => void) | null): void {
  const reached = useRef('');
  useEffect(() => {
    if (reached.current === target || !anchors.some((anchor) => target.startsWith(anchor))) return;
    const row = document.getElementById(target);
    if (!row) {
      onMore?.();
      return;
    }
    reached.current = target;
    row.scrollIntoView({ block: 'center' });
    row.focus({ preventScroll: true });
  });
}

function PurchaseRow({
  purchase,
  onRefund,
}: {
  purchase: Purchase;
  onRefund: () => void;
}): ReactNode {
  const { status, refunds, receipt_url: receipt } = purchase;
  const note = purchaseStatusNotes[status];
  const bought = purchase.paid_at ?? purchase.created_at;
  return (
    <li
      id={purchaseAnchor(purchase.id)}
      tabIndex={-1}
      className="scroll-my-24 space-y-2 py-4 target:bg-accent-soft"
    >
      {/* The target of ledger lines that only name the lot. */}
      {purchase.lot_id === null ? null : <span id={lotAnchor(purchase.lot_id)} tabIndex={-1} />}
      <div className="flex items-start justify-between gap-4">
        <p className="min-w-0 font-medium">
          {purchase.package_name}
          {purchase.kind === 'monthly' ? (
            <span className="font-normal text-ink-2"> · monthly</span>
          ) : null}
        </p>
        <p className="shrink-0 text-end font-semibold">
          {money(purchase.amount_cents, purchase.currency)}
        </p>
      </div>
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-ink-2">
        <Status tone={purchaseStatusTones[status]}>{purchaseStatusWords[status]}</Status>
        <span>{creditsInWords(purchase.credits)}</span>
        <Day at={bought} />
        {status === 'paid' ? <span>{credits(purchase.unused_credits)} unused</span> : null}
        {receipt === null ? null : (
          <OutsideLink href={receipt}>
            Receipt<span className="sr-only"> of {purchase.package_name}</span>
          </OutsideLink>
        )}
      </p>
      {note === null ? null : <p className="text-sm text-ink-2">{note}</p>}
      {purchase.taken_back ? (
        <p className="text-sm">
          <Status tone="warn">
            {purchase.refundable === null
              ? 'This payment was questioned, disputed, or returned, so we took its credits back.'
              : 'Part of this payment was returned, so we took back that share of its credits.'}
          </Status>
        </p>
      ) : null}
      {refunds.map((refund) => (
        <RefundLine key={refund.id} refund={refund} />
      ))}
      {status === 'open' ? <Unfinished purchase={purchase} /> : null}
      <Refundable purchase={purchase} onRefund={onRefund} />
    </li>
  );
}

function RefundLine({ refund }: { refund: Refund }): ReactNode {
  const { word, note } = refundWords(refund);
  return (
    <p className="text-sm">
      <Status tone={refundTones[refund.status]}>
        <span className="font-medium">{word}</span>
      </Status>{' '}
      <span className="text-ink-2">
        {note} <Day at={refund.ended_at ?? refund.requested_at} />
      </span>
    </p>
  );
}

/** The possible refund, or why there is none. */
function Refundable({
  purchase,
  onRefund,
}: {
  purchase: Purchase;
  onRefund: () => void;
}): ReactNode {
  const { refundable, refusal } = purchase;
  const why = refusal === null ? null : refusalWords[refusal];
  if (refundable !== null) {
    return (
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Button onClick={onRefund}>
          Refund unused credits<span className="sr-only"> of {purchase.package_name}</span>
        </Button>
        <p className="text-sm text-ink-2">
          {money(refundable.amount_cents, purchase.currency)}, until <Day at={refundable.until} />
        </p>
      </div>
    );
  }
  return why === null ? null : <p className="text-sm text-ink-2">{why}</p>;
}

/** A day, with the time of day in its title. */
function Day({ at }: { at: string }): ReactNode {
  return (
    <time dateTime={at} title={fullMoment(at)}>
      {day(at)}
    </time>
  );
}
