import type pg from 'pg';
import type { Log } from '#services/platform/process/log.ts';
import { upcomingChange } from '#services/policies/changes.ts';
import { dayInWords } from '#services/platform/locale.ts';
import { escapeHtml, paragraphsOf } from '#services/platform/http/html.ts';

/** How long a page may show what was announced before. */
const keptMs = 60_000;

/**
 * The markup of the announced change for every page; empty without one. It needs no script, so it is in
 * the first paint of public and signed-in pages alike.
 */
export function createAnnouncement({
  pool,
  clock,
  log,
}: {
  pool: pg.Pool;
  clock: () => number;
  log: Log;
}): () => Promise<string> {
  let markup = '';
  let until = 0;
  return async () => {
    if (clock() < until) return markup;
    until = clock() + keptMs;
    try {
      const change = await upcomingChange(pool, clock());
      markup = change === null ? '' : markupOf(change);
    } catch (error) {
      // Pages are also sent while the database is unavailable; the last markup stays.
      log.warn({ err: error }, 'Announcements could not be read');
    }
    return markup;
  };
}

function markupOf({ effectiveOn, summary }: { effectiveOn: string; summary: string }): string {
  return [
    '<aside id="announcement" aria-label="Announcement"><details>',
    `<summary>Our terms or privacy policy change on ${dayInWords(effectiveOn)}. Read what changes.</summary>`,
    ...paragraphsOf(summary).map((line) => `<p>${escapeHtml(line)}</p>`),
    '</details></aside>',
  ].join('');
}
