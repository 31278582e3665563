import { capitalize } from './grammar.ts';

/**
 * Fills a wording of the bank. `{Doing}` is `{doing}` with a capital; a verb in brackets after
 * `{thing}` agrees with it: "{thing} [needs]" becomes "Google ads need".
 */
export function fill(wording: string, values: Readonly<Record<string, string>>): string {
  const agreed = wording.replace(/\{thing\} \[(\w+)\]/g, (_match, verb: string) => {
    const thing = values['thing'] ?? '';
    return `${thing} ${isPlural(thing) ? pluralOf(verb) : verb}`;
  });
  const filled = agreed.replace(/\{(\w+)\}/g, (slot, name: string) => {
    const plain = values[name] ?? values[name.charAt(0).toLowerCase() + name.slice(1)];
    if (plain === undefined) return slot;
    return /^[A-Z]/.test(name) ? capitalize(plain) : plain;
  });
  return capitalize(filled);
}

/**
 * A text in the terms of the person: those who buy are called as the question calls them, and every
 * other mention of "the business" names it.
 */
export function inTheirWords(text: string, audience: string, business: string): string {
  return text
    .replace(/\b([Cc])ustomer(s?)\b/g, (_match, first: string, plural: string) =>
      first === 'C' ? capitalize(audience) + plural : audience + plural,
    )
    .replace(/\b(the|The) business\b(?! of)/g, (match, article: string) =>
      text.length % 2 === 0 ? (article === 'The' ? capitalize(business) : business) : match,
    );
}

function isPlural(phrase: string): boolean {
  const head = (/^(.*?)(?: (?:of|for|in|on|at|with|to|from|beside) |$)/.exec(phrase)?.[1] ?? phrase)
    .split(' ')
    .at(-1);
  return /s$/i.test(head ?? '') && !/(?:ss|us|is|news)$/i.test(head ?? '');
}

export function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function pluralOf(verb: string): string {
  const irregular: Readonly<Record<string, string>> = {
    is: 'are',
    was: 'were',
    has: 'have',
    does: 'do',
  };
  return irregular[verb] ?? verb.replace(/(?:(?<=ch|sh|ss|x)es|s)$/, '');
}
