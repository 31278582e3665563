import postcss from 'postcss';

/**
 * The part of a style sheet that a page's markup can use: rules whose classes it lacks are left out. The
 * rest stays as written, so that states, themes, print and the typefaces hold without a script.
 */
export function styleOfPage(style: string, html: string): string {
  const present = new Set(
    [...html.matchAll(/\sclass="([^"]*)"/g)].flatMap(([, names = '']) =>
      names.replaceAll('&amp;', '&').replaceAll('&gt;', '>').split(/\s+/),
    ),
  );
  const sheet = postcss.parse(style);
  sheet.walkRules((rule) => {
    const usable = rule.selectors.filter((selector) =>
      classesOf(selector).every((name) => present.has(name)),
    );
    if (usable.length === 0) rule.remove();
    else if (usable.length < rule.selectors.length) rule.selectors = usable;
  });
  sheet.walkAtRules((rule) => {
    if (rule.nodes?.length === 0) rule.remove();
  });
  return sheet.toString();
}

/** The style sheet without its typefaces: loaded again beside a page's own, they would flicker. */
export function withoutTypefaces(style: string): string {
  const sheet = postcss.parse(style);
  sheet.walkAtRules('font-face', (rule) => {
    rule.remove();
  });
  return sheet.toString();
}

/** The classes that an element or one around it must have; what stands in `:is()` or `:not()` may differ. */
function classesOf(selector: string): string[] {
  let plain = selector.replaceAll(/(?<!\\)\[(?:\\.|[^\]\\])*\]/g, '');
  for (let before = ''; before !== plain;) {
    before = plain;
    plain = plain.replaceAll(/(?<!\\)\((?:\\.|[^()\\])*\)/g, '');
  }
  return [...plain.matchAll(/\.((?:\\.|[\w-])+)/g)].map(([, name = '']) =>
    name.replaceAll(/\\(.)/g, '$1'),
  );
}
