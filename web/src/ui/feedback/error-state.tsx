import type { ReactNode } from 'react';
import { Button } from '#web/ui/form/button.tsx';
import { Notice } from './notice.tsx';

/** A failed part of the page: what failed, what is safe, and a retry of only that part. */
export function ErrorState({
  title,
  detail,
  safe,
  reference,
  onRetry,
  busy,
  actions,
}: {
  /** What failed: 'Failed to load credit information'. */
  title: string;
  /** Why, in a sentence for users. */
  detail?: string | undefined;
  /** What is not in danger: "Nothing was charged." */
  safe?: string | undefined;
  /** The request's id in the server's log. */
  reference?: string | null | undefined;
  onRetry?: (() => void) | undefined;
  busy?: boolean;
  actions?: ReactNode;
}): ReactNode {
  return (
    <Notice
      tone="bad"
      title={title}
      announced={title}
      actions={
        onRetry || actions ? (
          <>
            {onRetry ? (
              <Button onClick={onRetry} busy={busy}>
                Try Again
              </Button>
            ) : null}
            {actions}
          </>
        ) : undefined
      }
    >
      {detail ? <p>{detail}</p> : null}
      {safe ? <p>{safe}</p> : null}
      {reference ? (
        <p className="text-sm text-ink-3">
          Reference for support: <span className="font-mono select-all">{reference}</span>
        </p>
      ) : null}
    </Notice>
  );
}
