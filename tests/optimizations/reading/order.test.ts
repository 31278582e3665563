import { describe, expect, test } from 'vitest';
import { runMarkdown } from '#services/optimizations/reading/markdown/run-markdown.ts';
import { orderRows } from '#services/optimizations/reading/words/order.ts';
import { resultStories } from '#tests/web/support/result-stories.ts';

describe('the order of the answers', () => {
  test.each(Object.entries(resultStories).filter(([, story]) => story.view().scores !== null))(
    'the win rates of the run “%s” follow from the comparisons that stand beside them',
    (_, story) => {
      const { scores } = story.view();
      const rows = orderRows(story.view(), 'en-US');
      expect(rows.map(({ seat }) => seat)).toEqual(scores?.order);
      for (const { seat, over, winRate } of rows) {
        const shares = over
          .map((cell) => cell.split(' of ').map(Number))
          .flatMap(([wins = 0, of = 0]) => (of > 0 ? [wins / of] : []));
        const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
        expect(Math.abs(Number(winRate) - mean)).toBeLessThan(0.0051);
        expect(Math.abs((scores?.q[seat] ?? NaN) - mean)).toBeLessThan(0.0001);
      }
    },
  );

  test('the file of a run has a row for each answer, best first, and the indicators', () => {
    const text = runMarkdown(resultStories.recommended.copy()).replaceAll('\\', '');
    const [first] = orderRows(resultStories.recommended.view(), 'en-US');
    expect(text).toContain(`| 1 | ${first?.name} | ${first?.winRate} | –`);
    expect(text).toMatch(/^- Leniency: spread \d/m);
  });
});
