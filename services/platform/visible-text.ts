/**
 * Removes invisible characters from a text from outside: controls, direction marks, and characters that
 * hide words or smuggle others in. So what is stored and compared is what a reader sees.
 */
export function visibleText(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n?|[\u0085\u2028\u2029]/g, '\n')
    .replace(unseen, '')
    .replace(idleVariations, '')
    .replace(idleJoiners, '')
    .replace(endlessMarks, '$1');
}

/** Whether a reader sees all of a text, on one line. */
export function isVisibleLine(text: string): boolean {
  return text.trim() !== '' && !/[\n\t]/.test(text) && visibleText(text) === text;
}

const unseen =
  /[^\P{Cc}\n\t]|[\ufff9-\ufffb]|(?!\p{Join_Control}|\ufe0e|\ufe0f)\p{Default_Ignorable_Code_Point}/gu;

/** Variation selectors that do not follow an emoji. */
const idleVariations = /(?<!\p{Emoji})(?:\ufe0e|\ufe0f)/gu;

/** Emoji and many scripts are written with joiners; between Latin letters they only hide words. */
const idleJoiners =
  /(?<!\p{Extended_Pictographic}|\ufe0f|\p{Emoji_Modifier}|(?=[\p{L}\p{M}])[^\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Inherited}])\p{Join_Control}/gu;

/** Comparing texts takes the square of a run of marks; 30 is what Unicode calls safe to stream. */
const endlessMarks = /(\p{M}{30})\p{M}+/gu;
