import { useRouter } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import type { User } from '#services/identity/contract/session.ts';
import { productName } from '#web/app/product.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { savePreferences } from '#web/member/preferences.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { showToast } from '#web/ui/feedback/toasts.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { askPermission, notify, permission } from './browser.ts';
import { onRunEnd, onRunStart } from './store.ts';

/**
 * Says that a run has ended: always to a screen reader, and where the page is not in view in its
 * title and, where wanted, by the browser.
 */
export function useRunEnd({ preferences: { notify_browser: isWanted } }: User): void {
  const router = useRouter();
  useEffect(
    () =>
      onRunEnd(({ id, title, message }) => {
        // The page of the run says it in its own words.
        if (!isOnPageOf(id)) announce(`${title}. ${message}`);
        if (!document.hidden) return;
        showInTitle(title);
        if (isWanted)
          notify(id, title, message, () => {
            void router.navigate({ to: '/optimizations/$id', params: { id } });
          });
      }),
    [isWanted, router],
  );
}

const isOnPageOf = (id: string): boolean => location.href.includes(id);

/** Until the page is in view again. */
function showInTitle(title: string): void {
  const before = document.title;
  document.title = title;
  document.addEventListener(
    'visibilitychange',
    () => {
      if (document.title === title) document.title = before;
    },
    { once: true },
  );
}

/** Offered after a start and never at a load, until it was answered once. */
export function NotificationOffer({ user }: { user: User }): ReactNode {
  const { notify_browser: answer } = user.preferences;
  const [isDue, setDue] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const isOpen = answer === null || (answer && permission() === 'default');
  useEffect(() => (isOpen ? onRunStart(() => setDue(true)) : undefined), [isOpen]);
  if (!isDue || !isOpen || permission() === 'denied' || permission() === 'unsupported') return null;
  const choose = async (wants: boolean): Promise<void> => {
    setBusy(true);
    try {
      const granted = wants && (await askPermission()) === 'granted';
      await savePreferences({ notify_browser: granted });
      setDue(false);
      if (granted) announce("We'll notify you when a run ends.");
    } catch (error) {
      showToast('error', "We couldn't save your choice", { message: problemSentence(error) });
    } finally {
      setBusy(false);
    }
  };
  return (
    <Notice
      title="Want to know when it's done?"
      announced="Want to know when it's done? You can turn on notifications in this browser."
      actions={
        <>
          <Button tone="primary" busy={isBusy} onClick={() => void choose(true)}>
            Notify me
          </Button>
          <Button disabled={isBusy} onClick={() => void choose(false)}>
            No thanks
          </Button>
        </>
      }
    >
      This browser can notify you when a run ends, while {productName} is open in a tab.
    </Notice>
  );
}
