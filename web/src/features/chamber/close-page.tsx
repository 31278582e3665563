import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { problemSentence } from '#web/api/problem-words.ts';
import { accountQuery, changeAccount } from '#web/api/account.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { showToast } from '#web/ui/feedback/toasts.tsx';

/** Says that a run needs no open page, and offers the email that reports its end. */
export function ClosePage(): ReactNode {
  const { data: account } = useQuery(accountQuery);
  const [isBusy, setBusy] = useState(false);
  if (account?.notify_run_finished === true)
    return "You can close this page. The run continues, and we'll email you when it ends.";
  const ask = async (): Promise<void> => {
    setBusy(true);
    try {
      await changeAccount({ notify_run_finished: true });
      announce("We'll email you when a run ends.");
    } catch (error) {
      showToast('error', "We couldn't save your choice", { message: problemSentence(error) });
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      You can close this page. The run continues, and its result will be on your dashboard.{' '}
      {account === undefined ? null : (
        <button type="button" className="link min-h-6" disabled={isBusy} onClick={() => void ask()}>
          Email me when a run ends
        </button>
      )}
    </>
  );
}
