import type { ReactNode } from 'react';
import { day } from './day.ts';

/** A day in its element, with the time of day in its title. */
export function Day({ at }: { at: string }): ReactNode {
  const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'short' });
  return (
    <time dateTime={at} title={full.format(new Date(at))}>
      {day(at)}
    </time>
  );
}
