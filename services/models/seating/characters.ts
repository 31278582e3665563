/** Sizes of texts, as token counts need them. */

/** Of Latin, Greek and Cyrillic writing, about. */
export const charactersPerToken = 4;

/** The characters of texts, in writing of which four make about a token. */
export function promptCharacters(...texts: readonly string[]): number {
  const text = texts.join('');
  const dense = text.match(denseWriting)?.length ?? 0;
  return text.length + (charactersPerToken - 1) * dense;
}

/** Writing of which a character is about a token. */
const denseWriting = /[^\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Common}]/gu;
