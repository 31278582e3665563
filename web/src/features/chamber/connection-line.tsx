import { Wifi, WifiOff } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { sinceUpdate, useConnection } from '#web/live/live.ts';
import { connectionWords } from '#web/live/connection.ts';

/** Whether the page is up to date, in words; never a modal, and never announced by the second. */
export function ConnectionLine(): ReactNode {
  const connection = useConnection();
  const [, countOn] = useState(0);
  const isCounting = connection.status === 'reconnecting';
  useEffect(() => {
    if (!isCounting) return undefined;
    const timer = setInterval(() => countOn((seconds) => seconds + 1), 1_000);
    return () => clearInterval(timer);
  }, [isCounting]);
  const Icon = connection.status === 'connected' ? Wifi : WifiOff;
  return (
    <span className="inline-flex items-center gap-2">
      <Icon size={16} aria-hidden="true" className="shrink-0" />
      {connectionWords(connection, sinceUpdate())}
    </span>
  );
}
