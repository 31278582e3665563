/**
 * The keyboard shortcuts of signed-in pages, and what a pressed key means. Single keys work only
 * outside of fields and dialogs, and where the user has not switched them off.
 */
export const shortcuts = [
  { command: 'palette', keys: 'Ctrl K', words: 'Search and commands' },
  // The question form follows this one.
  { command: null, keys: 'Ctrl Enter', words: 'Start a run, in the question form' },
  { command: 'new', keys: 'n', words: 'New Optimization', to: '/optimization' },
  { command: 'dashboard', keys: 'g d', words: 'Dashboard', to: '/dashboard' },
  { command: 'credits', keys: 'g c', words: 'Credits', to: '/credits' },
  { command: 'recipes', keys: 'g r', words: 'Recipes', to: '/recipes' },
  { command: 'sheet', keys: '?', words: 'Keyboard shortcuts' },
] as const;
export type Command = NonNullable<(typeof shortcuts)[number]['command']>;

export const isSingleKeys = (keys: string): boolean => !keys.startsWith('Ctrl');

/** "Ctrl and K (⌘ and K on a Mac)", "g, then d". */
export function keysInWords(keys: string): string {
  const [first, second] = keys.split(' ');
  if (second === undefined) return keys;
  if (isSingleKeys(keys)) return `${first}, then ${second}`;
  return `Ctrl and ${second} (⌘ and ${second} on a Mac)`;
}

export type Press = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'repeat'> & {
  /** Where it was pressed: a field, a dialog, or with an input method that is composing. */
  readonly isEditable: boolean;
};

/** A `g` that waits for its second key, and since when (ms). */
export type Waiting = number | null;

/** Milliseconds in which the second key must follow. */
const secondKeyMs = 1_500;

export function pressed(
  waiting: Waiting,
  press: Press,
  { now, singleKeys }: { now: number; singleKeys: boolean },
): { command: Command | null; waiting: Waiting } {
  const key = press.key.toLowerCase();
  const none = { command: null, waiting: null };
  if (press.repeat || press.altKey) return none;
  if (press.ctrlKey || press.metaKey)
    return { command: commandOf(`Ctrl ${key.toUpperCase()}`), waiting: null };
  if (press.isEditable || !singleKeys) return none;
  if (waiting !== null && now - waiting <= secondKeyMs)
    return { command: commandOf(`g ${key}`), waiting: null };
  if (key === 'g') return { command: null, waiting: now };
  return { command: commandOf(key), waiting: null };
}

function commandOf(keys: string): Command | null {
  return shortcuts.find((one) => one.keys === keys)?.command ?? null;
}

/** Whether a key pressed here belongs to what has the focus. */
export function isEditable(event: KeyboardEvent): boolean {
  const { target } = event;
  return (
    event.isComposing ||
    event.defaultPrevented ||
    document.querySelector('dialog:modal') !== null ||
    (target instanceof Element &&
      target.closest('input, textarea, select, [contenteditable], [role="listbox"]') !== null)
  );
}

/** The keys as this machine names them. */
export function keysHere(keys: string): string {
  return /mac|iphone|ipad/i.test(navigator.userAgent) ? keys.replace('Ctrl', '⌘') : keys;
}
