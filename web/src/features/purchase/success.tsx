import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef } from 'react';
import type { Balance } from '#services/credits/contract.ts';
import type { CheckoutState } from '#services/payments/contract.ts';
import { ApiProblem } from '#web/api/api.ts';
import { keep, readKept } from '#web/consent/device.ts';
import { Button, LinkButton } from '#web/ui/form/button.tsx';
import { Card } from '#web/ui/card.tsx';
import { credits } from '#services/platform/numbers.ts';
import { price } from '#web/ui/text/figures.ts';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { Loading, Skeleton } from '#web/ui/feedback/skeleton.tsx';
import { Tile, TileRow } from '#web/ui/tile.tsx';
import { useCopy } from '#web/ui/feedback/use-copy.ts';
import { showToast } from '#web/ui/feedback/toasts.tsx';
import { checkoutQuery } from './queries.ts';
import {
  debtSentence,
  noSession,
  purchasedSentence,
  verificationFailure,
  wordsOf,
} from './verification.ts';

/** Milliseconds. */
const toastMs = 5_000;

/** The outcome of the checkout that the user returns from. */
export function PurchaseSuccess({
  sessionId,
  balance,
  noteOf,
  onPaid,
}: {
  sessionId: string | undefined;
  /** Kept current by the stream; the reply's own figures are used until it is known. */
  balance: Balance | undefined;
  /** A note beside the total of credits ever received; null without one. */
  noteOf: NoteOf;
  /** Called once for each payment that is made. */
  onPaid: (state: CheckoutState) => void;
}): ReactNode {
  return sessionId ? (
    <Checkout
      key={sessionId}
      sessionId={sessionId}
      balance={balance}
      noteOf={noteOf}
      onPaid={onPaid}
    />
  ) : (
    <Failure title={noSession.title} sentence={noSession.sentence} sessionId={null} />
  );
}

type NoteOf = (balance: Balance) => string | null;

function Checkout({
  sessionId,
  balance,
  noteOf,
  onPaid,
}: {
  sessionId: string;
  balance: Balance | undefined;
  noteOf: NoteOf;
  onPaid: (state: CheckoutState) => void;
}): ReactNode {
  const checkout = useQuery(checkoutQuery(sessionId));
  const client = useQueryClient();
  const { data, error } = checkout;
  useOnce(data?.status === 'paid' ? data : undefined, (state) => {
    onPaid(state);
    if (!isFirstAnnouncement(sessionId)) return;
    showToast('success', purchasedSentence(state.credits), { duration: toastMs });
  });
  if (data === undefined && error !== null) {
    return (
      <Failure
        title="Failed to verify purchase completion"
        sentence={verificationFailure(error)}
        sessionId={sessionId}
        request={error instanceof ApiProblem ? error.request_id : null}
        onRetry={() => void client.refetchQueries({ queryKey: checkoutQuery(sessionId).queryKey })}
        busy={checkout.isFetching}
      />
    );
  }
  return (
    <>
      <h1 className="text-4xl">{data ? wordsOf(data).heading : 'Verifying your purchase'}</h1>
      <Loading
        loading={data === undefined}
        label="Verifying your purchase"
        skeleton={<Skeleton className="h-80" />}
      >
        {() =>
          data === undefined ? null : (
            <Outcome
              state={data}
              balance={balance ?? data.balance}
              noteOf={noteOf}
              isUnread={error !== null}
            />
          )
        }
      </Loading>
    </>
  );
}

/** Calls back once, when there is a value. */
function useOnce<T>(found: T | undefined, act: (found: T) => void): void {
  const isDone = useRef(false);
  useEffect(() => {
    if (found === undefined || isDone.current) return;
    isDone.current = true;
    act(found);
  });
}

const tones = { done: 'ok', pending: 'info', over: 'bad' } as const;

function Outcome({
  state,
  balance,
  noteOf,
  isUnread,
}: {
  state: CheckoutState;
  balance: Balance;
  noteOf: NoteOf;
  /** The last poll failed. */
  isUnread: boolean;
}): ReactNode {
  const { stage, title, sentence } = wordsOf(state);
  return (
    <div className="space-y-6">
      <Notice
        tone={tones[stage]}
        title={title}
        // On success the toast announces it the first time; this covers every other state.
        announced={stage === 'done' ? undefined : `${title}. ${sentence}`}
      >
        <p className="max-w-prose">{sentence}</p>
        {stage === 'done' ? <p className="empty:hidden">{debtSentence(state, balance)}</p> : null}
        {isUnread && stage === 'pending' ? (
          <p>We couldn't check just now. We'll keep trying.</p>
        ) : null}
      </Notice>
      <Card aria-labelledby="balance" className="space-y-4">
        <h2 id="balance" className="text-2xl">
          Your credits
        </h2>
        <TileRow>
          <Tile label="Available credits" value={credits(balance.available_credits)} />
          <Tile
            label="Total credits"
            value={credits(balance.total_credits)}
            detail={noteOf(balance) ?? undefined}
          />
          <Tile label="Used credits" value={credits(balance.used_credits)} />
        </TileRow>
      </Card>
      <div className="flex flex-wrap gap-3">
        {stage === 'over' ? (
          <LinkButton to="/credits/purchase" search={{ package: state.package_id }} tone="primary">
            Choose another package
          </LinkButton>
        ) : stage === 'done' && balance.debt_credits > 0 ? (
          <LinkButton to="/credits/purchase">Settle what you owe</LinkButton>
        ) : (
          <LinkButton to="/optimization" tone={stage === 'done' ? 'primary' : 'secondary'}>
            Start Optimizing
          </LinkButton>
        )}
        <LinkButton to="/credits" hash="history">
          View Credit History
        </LinkButton>
        {stage === 'done' && state.kind === 'monthly' ? (
          <LinkButton to="/credits/plan">See your plan</LinkButton>
        ) : null}
      </div>
      <Details state={state} />
    </div>
  );
}

function Details({ state }: { state: CheckoutState }): ReactNode {
  return (
    <details className="max-w-prose">
      <summary className="min-h-11 cursor-pointer py-2 font-medium">Details</summary>
      <dl className="space-y-2 pt-2 text-ink-2">
        <Detail term="Package">{state.package_name}</Detail>
        <Detail term="Amount">
          {price(state.amount_cents)}
          {state.kind === 'monthly' ? ' a month' : ''}
        </Detail>
        {state.receipt_url === null ? null : (
          <Detail term="Receipt">
            <a href={state.receipt_url} className="link" rel="noreferrer" target="_blank">
              Open the receipt <span className="text-sm">(opens in a new tab)</span>
            </a>
          </Detail>
        )}
        <Detail term="Session ID">
          <SessionId id={state.session_id} />
        </Detail>
      </dl>
    </details>
  );
}

function Detail({ term, children }: { term: string; children: ReactNode }): ReactNode {
  return (
    <div>
      <dt className="text-sm text-ink-3">{term}</dt>
      <dd className="text-ink">{children}</dd>
    </div>
  );
}

const notCopied = 'Your browser blocked copying. Select the text instead.';

/** The reference of a payment, complete for pasting into a message. */
function SessionId({ id }: { id: string }): ReactNode {
  const { outcome, copy } = useCopy({ copied: 'Session ID copied', refused: notCopied });
  return (
    <span className="flex flex-wrap items-center gap-3">
      <span className="min-w-0 font-mono text-sm wrap-anywhere select-all">{id}</span>
      <Button onClick={() => void copy(id)}>
        {outcome === 'copied' ? 'Copied' : 'Copy'}
        <span className="sr-only"> the session ID</span>
      </Button>
      {outcome === 'refused' ? <span className="text-sm">{notCopied}</span> : null}
    </span>
  );
}

function Failure({
  title,
  sentence,
  sessionId,
  request = null,
  onRetry,
  busy = false,
}: {
  title: string;
  sentence: string;
  sessionId: string | null;
  request?: string | null;
  onRetry?: () => void;
  busy?: boolean;
}): ReactNode {
  return (
    <>
      <h1 className="text-4xl">Purchase Verification Failed</h1>
      <Notice
        tone="bad"
        title={title}
        announced={`${title}. ${sentence}`}
        actions={
          <>
            {onRetry ? (
              <Button tone="primary" onClick={onRetry} busy={busy}>
                Try Again
              </Button>
            ) : null}
            <LinkButton to="/credits">View Credits</LinkButton>
            <LinkButton to="/dashboard">Dashboard</LinkButton>
          </>
        }
      >
        <p className="max-w-prose">{sentence}</p>
        {sessionId === null ? null : (
          <div className="pt-2 text-sm">
            <p>Payment reference:</p>
            <SessionId id={sessionId} />
          </div>
        )}
        {request === null ? null : (
          <p className="pt-2 text-sm text-ink-3">
            Request reference: <span className="font-mono select-all">{request}</span>
          </p>
        )}
      </Notice>
    </>
  );
}

/**
 * The checkouts this tab has already announced, so that a reload does not announce them again. Kept
 * until the tab is closed.
 */
const announcedKey = 'sevenfold.purchases-announced';

/** True only on the first call for a checkout. */
function isFirstAnnouncement(sessionId: string): boolean {
  const announced = (readKept(announcedKey) ?? '').split(' ').filter(Boolean);
  if (announced.includes(sessionId)) return false;
  keep(announcedKey, [...announced, sessionId].join(' '));
  return true;
}
