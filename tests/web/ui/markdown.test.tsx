import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, it, test } from 'vitest';
import { closed } from '#tests/optimizations/run/run-script.ts';
import { Answer } from '#web/run/answer.tsx';
import { MarkdownBody } from '#web/ui/text/markdown-body.tsx';
import { plainWords, storyOf } from '#tests/web/support/run-story.ts';

const draw = (text: string): string => renderToStaticMarkup(<MarkdownBody text={text} />);

describe('the text of a model', () => {
  it("a model's text is drawn as Markdown with tables", () => {
    expect(draw('**Keep** two clients')).toBe('<p><strong>Keep</strong> two clients</p>');
    expect(draw('| a |\n|---|\n| b |')).toContain('<td>b</td>');
  });

  it.each([
    ['[the scope](https://example.com/scope)', 'the scope'],
    ['https://example.com/scope', 'https://example.com/scope'],
    ['<a@example.com>', 'a@example.com'],
  ])('links become plain words: %s', (text, words) => {
    const html = draw(text);
    expect(html).not.toMatch(/<a\b|href=/);
    expect(html.replaceAll(/<[^>]+>/g, '')).toContain(words);
  });

  it('headings start below those of the page', () => {
    expect(draw('# One\n\n## Two\n\n### Three')).toBe('<h3>One</h3>\n<h3>Two</h3>\n<h4>Three</h4>');
  });

  it.each([
    '<script>alert(1)</script>',
    '<img src="https://evil.example/p.png">',
    '![pixel](https://evil.example/p.png)',
    '![pixel][1]\n\n[1]: https://evil.example/p.png',
    '![pixel](data:image/svg+xml;base64,PHN2Zz4=)',
    '[click](javascript:alert(1))',
    '[click](JaVaScRiPt:alert(1))',
    '[click](&#106;avascript:alert(1))',
    '[click](data:text/html,<script>alert(1)</script>)',
    '[click](vbscript:msgbox(1))',
    '[click](http://evil.example/)',
    '[click](//evil.example/)',
    '[click](/logout)',
    '<https:javascript:alert(1)>',
    '<iframe src="https://evil.example"></iframe>',
    '<svg onload="alert(1)"><a href="javascript:alert(1)">x</a></svg>',
    '<a href="javascript:alert(1)" onclick="alert(1)">x</a>',
    '<style>body{background:url(https://evil.example)}</style>',
    '<form action="https://evil.example"><input name="a"></form>',
    '<p style="background:url(https://evil.example)">x</p>',
    '[x]: javascript:alert(1)\n\n[x]',
  ])('hostile Markdown cannot run, load or link anywhere: %s', (text) => {
    const html = draw(text);
    expect(html).not.toMatch(/<(?!\/?(p|span|strong|em|ul|ol|li|code|pre|br)\b)/i);
    expect(html).not.toMatch(/\s(href|src|style|action|on\w+)=/i);
  });
});

test('each reason of an answer is parsed separately, and an open fence swallows no other', () => {
  const opinion = (seat: string) => ({
    ...plainWords.opinion(seat),
    reasoning: ['```\nLeft open.', 'The second reason.'],
  });
  const { council } = storyOf(closed(), { opinion }).copy();
  const drawn = renderToStaticMarkup(<Answer view={council} seat="S1" heading="h3" />);
  expect(drawn.match(/class="prose"/g)).toHaveLength(2);
});
