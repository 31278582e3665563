import { type ReactNode, useCallback, useState } from 'react';
import { useComingBack } from '#web/app/provider-page.ts';
import { Button, type ButtonTone } from '#web/ui/form/button.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { openPortal } from './queries.ts';
import { planProblem } from './words.ts';

/** Leaves for the provider's page of cards and invoices. */
export function PortalButton({ tone }: { tone?: ButtonTone }): ReactNode {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  useComingBack(useCallback(() => setBusy(false), []));
  const open = async (): Promise<void> => {
    setFailure(null);
    setBusy(true);
    try {
      location.assign(await openPortal());
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  };
  return (
    <>
      <Button tone={tone} busy={busy} onClick={() => void open()}>
        {busy ? 'Opening…' : 'Manage cards and invoices'}
      </Button>
      {failure === null ? null : (
        <Notice
          tone="bad"
          title="We couldn't open cards and invoices"
          announced={`We couldn't open cards and invoices. ${planProblem(failure)}`}
        >
          {planProblem(failure)} Nothing changed.
        </Notice>
      )}
    </>
  );
}
