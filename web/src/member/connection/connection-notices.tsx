import { type ReactNode, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { productName } from '#web/app/product.ts';
import { useConnection } from '#web/live/live.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { useIsOldVersion, useVersionWatch } from './version.ts';

const offlineWords = {
  title: "You're offline",
  detail: 'Runs continue. What you type stays on this page, which catches up once you reconnect.',
  over: "You're back online.",
} as const;

/** Says that the network is down, and that a newer version of the pages is there. */
export function ConnectionNotices(): ReactNode {
  const { status } = useConnection();
  useVersionWatch(status === 'connected');
  return (
    <>
      <Offline />
      <NewVersion />
    </>
  );
}

function Offline(): ReactNode {
  const isOnline = useIsOnline();
  const wasOffline = useRef(false);
  useEffect(() => {
    if (isOnline && wasOffline.current) announce(offlineWords.over);
    wasOffline.current = !isOnline;
  }, [isOnline]);
  if (isOnline) return null;
  return (
    <Notice
      tone="warn"
      title={offlineWords.title}
      announced={`${offlineWords.title}. ${offlineWords.detail}`}
    >
      {offlineWords.detail}
    </Notice>
  );
}

function NewVersion(): ReactNode {
  const isOld = useIsOldVersion();
  const [isDismissed, setDismissed] = useState(false);
  if (!isOld || isDismissed) return null;
  const title = `${productName} was updated`;
  return (
    <Notice
      title={title}
      announced={`${title}. Reload when it suits you. Your drafts are kept.`}
      onDismiss={() => setDismissed(true)}
      actions={<Button onClick={() => location.reload()}>Reload for the new version</Button>}
    >
      Reload when it suits you. Your drafts are kept.
    </Notice>
  );
}

function subscribe(listener: () => void): () => void {
  addEventListener('online', listener);
  addEventListener('offline', listener);
  return () => {
    removeEventListener('online', listener);
    removeEventListener('offline', listener);
  };
}

function useIsOnline(): boolean {
  return useSyncExternalStore(subscribe, () => navigator.onLine);
}
