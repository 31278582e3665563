import { expect, test } from 'vitest';
import { styleOfPage, withoutTypefaces } from '#web/page-style.ts';

const page =
  '<body class="prose sm:p-2"><a class="link [&amp;>p]:m-1 w-[1.5rem]">A link</a></body>';

test.each([
  ['an element', 'a{color:red}', 'a{color:red}'],
  ['a class of the page', '.link{color:red}', '.link{color:red}'],
  ['a class with escaped signs', '.sm\\:p-2{margin:0}', '.sm\\:p-2{margin:0}'],
  ['a class with brackets', '.w-\\[1\\.5rem\\]{width:0}', '.w-\\[1\\.5rem\\]{width:0}'],
  [
    'a class with an ampersand',
    '.\\[\\&\\>p\\]\\:m-1>p{margin:0}',
    '.\\[\\&\\>p\\]\\:m-1>p{margin:0}',
  ],
  ['a class that is missing', '.card{color:red}', ''],
  ['a class that is missing inside another', '.prose .card{color:red}', ''],
  ['a class that only begins like one of the page', '.link-2{color:red}', ''],
  ['one of two selectors', '.card,.link{color:red}', '.link{color:red}'],
  ['a state', '.link:hover{color:red}', '.link:hover{color:red}'],
  [
    'an alternative',
    '.link:is(.card,:where(.a .b)){top:0}',
    '.link:is(.card,:where(.a .b)){top:0}',
  ],
  ['an exception', '.link:not(.card){top:0}', '.link:not(.card){top:0}'],
  ['an attribute', 'a[href$=".pdf"]{top:0}', 'a[href$=".pdf"]{top:0}'],
  ['a theme', ':root[data-theme=dark]{top:0}', ':root[data-theme=dark]{top:0}'],
  ['a step of an animation', '@keyframes a{50%{top:0}}', '@keyframes a{50%{top:0}}'],
  ['a window with nothing left', '@media print{.card{top:0}}', ''],
  ['an order of layers', '@layer base,utilities;', '@layer base,utilities;'],
])('a page carries the rules it can use: %s', (_what, style, kept) => {
  expect(styleOfPage(style, page)).toBe(kept);
});

test('what a page loads later has no typefaces, which would flicker', () => {
  expect(withoutTypefaces('@font-face{font-family:A}a{top:0}')).toBe('a{top:0}');
});
