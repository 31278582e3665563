import { describe, expect, it } from 'vitest';
import { runMarkdown } from '#services/optimizations/reading/markdown/run-markdown.ts';
import { chosenLocale, writeIn } from '#services/platform/locale.ts';
import { cancel, closed, closedWithout, started } from '#tests/optimizations/run/run-script.ts';
import { plainWords, storyOf } from '#tests/web/support/run-story.ts';

const settled = (captured: number, refunded: number) =>
  ({ type: 'Close', captured, refunded, creditsVersion: 3 }) as const;

describe('a run as Markdown', () => {
  it('a run as Markdown begins with the question and the recommendation, its claims with their ids', () => {
    const text = runMarkdown(storyOf(closed()).copy());
    expect(text).toMatch(/^# Should the agency sell a fixed offer\?\n/);
    expect(text.indexOf('## Recommended by 7 of 7')).toBeLessThan(text.indexOf('## Agreement'));
    expect(text).toContain('**Begin with one fixed offer for one kind of client.**');
    expect(text).toContain(
      '1. [ ] Write the offer down. · By: November 27, 2026 · Measure: A client asks for it.',
    );
    expect(text).toContain('Clients stay. (c1, c2)');
    expect(text).toContain('- c2: The claim c2 holds.');
  });

  it('a run as Markdown holds what was asked, and names its files', () => {
    const text = runMarkdown({
      ...storyOf(closed()).copy(),
      context: '34 customers pay.',
      objectives: ['Earn more.'],
      constraints: ['Five hours a week.'],
      files: [{ name: 'sales.csv', text: 'secret figures' }],
    });
    const asked =
      '**Context:** 34 customers pay.\n\n**Objectives**\n\n- Earn more.\n\n**Constraints**\n\n- Five hours a week.\n\n**Files:** sales.csv\n';
    expect(text).toContain(asked);
    expect(text).not.toContain('secret figures');
  });

  it('a run as Markdown says that models were simulated, how far they agree, what it cost, and that this is no proof', () => {
    const run = storyOf(closed()).copy();
    const text = runMarkdown(run);
    expect(text).toContain(
      "> Simulated. A prepared case, 'Should I raise my prices?', stands in for your question.\n>\n> The question of the case: I charge $240. Should I charge $290? 34 customers pay.",
    );
    const unnamed = runMarkdown({ ...run, council: { ...run.council, standIn: null } });
    expect(unnamed).toContain('> Simulated. Example answers, no provider was called for them.\n\n');
    expect(text).toMatch(/\d+ of 100 \(\w+\)\. Agreement is not correctness\./);
    expect(text).toContain('14 credits were charged.');
  });

  it('a run as Markdown holds every answer, and a row of costs for every seat and every other call', () => {
    const run = storyOf(closed()).copy();
    const text = runMarkdown(run);
    for (const model of run.models) {
      expect(text).toContain(`### ${model.seat} ${model.name}`);
      expect(text).toContain(`| ${model.seat} ${model.name} | 2 | 8.4s | 2,400 | 1,800 | $0.003 |`);
    }
    for (const name of ['Collecting the claims', 'Writing the recommendation', 'Checking the'])
      expect(text).toContain(`| ${name}`);
    expect(text).toContain('| The whole run | 18 |  | 21,600 | 16,200 | $0.027 |');
  });

  it.each([
    [
      closedWithout(['I2'], 'malformed', 2),
      "**6 of 7 models answered.** Missing: openai-i2 (I2): the answer wasn't in the required format. The panel's strongest model answered. 2 of 14 credits were returned.",
    ],
    [
      closedWithout(['S1', 'R2'], 'refusal', 0),
      "**5 of 7 models answered.** Missing: openai-s1 (S1): the model declined to answer this question; anthropic-r2 (R2): the model declined to answer this question. The panel's strongest model is missing. All 14 credits were charged. A model that declines to answer is paid for.",
    ],
  ])(
    'a run without %# as Markdown says above its result who is missing, and why',
    (script, words) => {
      const text = runMarkdown(storyOf(script).copy()).replaceAll('\\', '');
      expect(text).toContain(words);
      expect(text.indexOf(words)).toBeLessThan(text.indexOf('## Recommended'));
    },
  );

  it('a cancelled run as Markdown says that it was cancelled, and what came back', () => {
    const script = started().answered(['opinion.S1']).given(cancel, settled(14, 7));
    const text = runMarkdown(storyOf(script).copy());
    expect(text).toContain('**Canceled.** You canceled this run.');
    expect(text).toContain('7 of 14 credits were charged, 7 returned.');
  });

  it('a run as Markdown turns no text of a person or a model into a link, an image, HTML or a heading', () => {
    const hostile =
      '# Title <script>alert(1)</script> ![p](https://evil.example/p.png) [x](javascript:alert(1)) https://evil.example | cell';
    const text = runMarkdown(
      storyOf(closed(), {
        challenge: hostile,
        title: hostile,
        opinion: (seat) => {
          const plain = plainWords.opinion(seat);
          return {
            ...plain,
            recommendation: { option_label: hostile, one_line: hostile },
            reasoning: [hostile],
            risks: [hostile],
          };
        },
        ledger: (claims, options) => ({
          claims: Object.fromEntries(
            claims.map((id) => [id, { text: hostile, quotes: [{ seat: 'S1', quote: hostile }] }]),
          ),
          options: Object.fromEntries(options.map((id) => [id, hostile])),
          notes: { n1: hostile },
        }),
        draft: {
          ...plainWords.draft,
          decision: hostile,
          sections: [{ heading: hostile, blocks: [{ text: hostile, claim_ids: ['c1'] }] }],
          uncertainties: [hostile],
        },
      }).copy(),
    );
    expect(text).not.toMatch(/<script|!\[|\]\(|javascript:alert\(1\)\)|https:\/\/evil/);
    expect(text).not.toMatch(/^\s*# Title <|^#+ # /m);
  });

  it('a run as Markdown is in US English, whatever the reader chose', () => {
    const run = storyOf(closedWithout(['I2'], 'malformed', 2)).copy();
    const texts = [null, 'ar-EG', 'de-DE'].map((locale) => {
      writeIn(locale);
      return runMarkdown(run);
    });
    const chosen = chosenLocale();
    writeIn(null);
    expect([new Set(texts).size, chosen]).toEqual([1, 'de-DE']);
    expect(texts[0]).toContain('Recommended by 6 of 6 models');
  });

  it('a run as Markdown holds nothing that a terminal would obey or that turns the direction of reading', () => {
    const hostile = 'Clear\u001Bc it\u009B2J\u0007 \u202Eevil\u2066\r\nand\ton';
    const text = runMarkdown(storyOf(closed(), { challenge: hostile, title: hostile }).copy());
    expect(text).toContain('Clearc it2J evil and');
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202A-\u202E\u2066-\u2069]/u);
  });
});
