import type { ReactNode } from 'react';
import { useHydrated } from '#web/ui/hydrated.ts';
import { Notice } from '#web/ui/feedback/notice.tsx';

/**
 * Where to find the demo account. The server marks the pages of local mode (`<html data-mode>`), so
 * a production page never carries this text.
 */
export function LocalModeHint(): ReactNode {
  const hydrated = useHydrated();
  if (!hydrated || document.documentElement.dataset['mode'] !== 'local') return null;
  return (
    <Notice tone="info" title="Local mode">
      The e-mail and password of the demo account stand in the terminal where the server was
      started.
    </Notice>
  );
}
