import { describe, expect, it } from 'vitest';
import { moment } from '#web/ui/text/day.ts';
import { relativeTime } from '#web/ui/text/relative-time.tsx';

const now = new Date('2026-11-20T12:00:00.000Z');
const ago = (seconds: number): string =>
  relativeTime(new Date(now.getTime() - seconds * 1000), now, 'en-US');

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

describe('relative time', () => {
  it('a relative time counts minutes below 60, hours below 24 and days below 7', () => {
    expect(ago(minute)).toBe('1 minute ago');
    expect(ago(hour - 1)).toBe('59 minutes ago');
    expect(ago(hour)).toBe('1 hour ago');
    expect(ago(day - 1)).toBe('23 hours ago');
    expect(ago(day)).toBe('yesterday');
    expect(ago(7 * day - 1)).toBe('6 days ago');
  });

  it.each([
    ['en-US', 'Nov 20, 2026', 'November 20, 2026 at 3:04 PM'],
    ['en-GB', '20 Nov 2026', '20 November 2026 at 15:04'],
    ['de-DE', '20 Nov 2026', '20 November 2026 at 15:04'],
    ['es-MX', '20 Nov 2026', '20 November 2026 at 03:04 pm'],
    ['ja-JP', '20 Nov 2026', '20 November 2026 at 15:04'],
  ])('in %s a date has English words in the order of the locale', (locale, short, long) => {
    const at = '2026-11-20T15:04:00';
    expect(moment(at, { dateStyle: 'medium' }, locale)).toBe(short);
    const inFull = moment(at, { dateStyle: 'long', timeStyle: 'short' }, locale);
    expect(inFull.replaceAll(/\s/gu, ' ')).toBe(long);
    expect(relativeTime(new Date(now.getTime() - 20_000), now, locale)).toBe('now');
    expect(relativeTime(new Date(now.getTime() - 7_200_000), now, locale)).toBe('2 hours ago');
  });

  it('a relative time is a date from the seventh day on', () => {
    expect(ago(7 * day)).toBe('Nov 13, 2026');
  });

  it('a relative time says now below a minute, and for a slightly fast clock', () => {
    expect(ago(20)).toBe('now');
    expect(ago(-20)).toBe('now');
  });
});
