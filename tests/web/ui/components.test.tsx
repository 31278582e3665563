import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, it } from 'vitest';
import { wordsOf } from '#tests/web/support/rendered.tsx';
import { Together } from '#web/api/together.tsx';
import { ProgressBar } from '#web/ui/feedback/progress-bar.tsx';
import { agreementBand, Ring } from '#web/ui/ring.tsx';
import { Status } from '#web/ui/feedback/status.tsx';

describe('the agreement ring', () => {
  it('agreement is strong from 80, majority from 60, contested from 40, split below', () => {
    expect([100, 80, 79, 60, 59, 40, 39, 0].map(agreementBand)).toEqual([
      'strong',
      'strong',
      'majority',
      'majority',
      'contested',
      'contested',
      'split',
      'split',
    ]);
  });

  it('the ring names its figure and its word, and says that agreement is not correctness', () => {
    const html = renderToStaticMarkup(<Ring score={46} />);
    expect(html).toContain('aria-label="Agreement 46 of 100, contested"');
    expect(html).toContain('Agreement is not correctness.');
  });

  it('a missing score is not shown as 0', () => {
    const html = renderToStaticMarkup(<Ring score={null} />);
    expect(html).toContain('No score: too few models answered');
    expect(html).toContain('>--<');
  });
});

describe('a progress bar', () => {
  it('a progress bar has a name and a whole percent, and 100 only when complete', () => {
    expect(renderToStaticMarkup(<ProgressBar label="S1" value={46.9} />)).toContain(
      'aria-label="S1" value="46"',
    );
    expect(renderToStaticMarkup(<ProgressBar label="S1" value={99.99} />)).toContain('value="99"');
    expect(renderToStaticMarkup(<ProgressBar label="S1" value={250} />)).toContain('value="100"');
  });
});

describe('a status', () => {
  it('a status has a word, and its own shape for each tone', () => {
    const tones = ['ok', 'active', 'warn', 'bad', 'info', 'neutral'] as const;
    const drawn = tones.map((tone) => renderToStaticMarkup(<Status tone={tone}>word</Status>));
    const shapes = drawn.map((html) => html.replace(/class="[^"]*"/g, ''));
    expect(new Set(shapes).size).toBe(tones.length);
    expect(drawn.every((html) => html.includes('<span>word</span>'))).toBe(true);
  });
});

describe('a page of several replies', () => {
  const drawn = (...answers: { data: unknown; error: unknown }[]) =>
    wordsOf(
      <Together answers={answers} label="Loading the page" skeleton={null}>
        {() => 'The page'}
      </Together>,
    );
  const read = { data: 1, error: null };
  const failed = { data: undefined, error: new Error('no') };
  const waiting = { data: undefined, error: null };

  it('the page is drawn once every reply is there or has failed, and not before', () => {
    expect(drawn(read, failed)).toContain('The page');
    expect(drawn(read, failed, waiting)).toMatch(/^ Loading the page $/);
  });
});
