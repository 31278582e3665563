import { type ReactNode, useEffect, useState } from 'react';
import { fullMoment, moment } from './day.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/**
 * Minutes below 60, hours below 24, days below 7, else a date as the user's locale orders it, in the
 * browser's time zone.
 */
export function relativeTime(at: Date, now: Date, locale?: string): string {
  const elapsedMs = now.getTime() - at.getTime();
  if (elapsedMs >= 7 * dayMs) {
    return moment(at, { dateStyle: 'medium' }, locale);
  }
  const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'long' });
  if (elapsedMs < minuteMs) return words.format(0, 'second');
  if (elapsedMs < hourMs) return words.format(-Math.floor(elapsedMs / minuteMs), 'minute');
  if (elapsedMs < dayMs) return words.format(-Math.floor(elapsedMs / hourMs), 'hour');
  return words.format(-Math.floor(elapsedMs / dayMs), 'day');
}

/** A relative time with the full date in its title. Updates once a minute. */
export function RelativeTime({ at }: { at: string }): ReactNode {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), minuteMs);
    return () => clearInterval(timer);
  }, []);
  return (
    <time dateTime={at} title={fullMoment(at)}>
      {relativeTime(new Date(at), now)}
    </time>
  );
}
