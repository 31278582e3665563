import { describe, expect, it } from 'vitest';
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

  it('a relative time is a date from the seventh day on', () => {
    expect(ago(7 * day)).toBe('Nov 13, 2026');
  });

  it('a relative time says now below a minute, and for a slightly fast clock', () => {
    expect(ago(20)).toBe('now');
    expect(ago(-20)).toBe('now');
  });
});
