/** What the command palette offers, and which of it a search keeps. */
export type Entry = {
  readonly id: string;
  readonly group: (typeof groupNames)[number];
  readonly label: string;
  /** Found by these words, too. */
  readonly alias?: string;
  readonly keys?: string;
  readonly run: () => void;
};

/** Searched from this many characters on. */
export const searchedFrom = 2;

/** Every word of the search occurs. Those that begin with it come first in their group. */
export function found(entries: readonly Entry[], search: string): Entry[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [...entries];
  const text = ({ label, alias }: Entry): string => `${label} ${alias ?? ''}`.toLowerCase();
  const rank = (entry: Entry): number => (text(entry).startsWith(words.join(' ')) ? 0 : 1);
  return groupNames.flatMap((group) =>
    entries
      .filter((entry) => entry.group === group)
      .filter((entry) => words.every((word) => text(entry).includes(word)))
      .toSorted((one, other) => rank(one) - rank(other)),
  );
}

export const groupNames = ['Actions', 'Pages', 'Your optimizations', 'Recipes', 'Help'] as const;

/** A route that the palette may list. */
export type ListedRoute = { readonly path: string; readonly title: string | undefined };

/** Not for going to: signing in, a step of a purchase, and a run's chamber without a run. */
const unlisted =
  /^\/(login|signup|forgot-password|reset-password|account-deleted|auth\/.*|credits\/success|optimization|\$)$/;

/** Pages of a fixed address that have a name. */
export function listedPages(routes: readonly ListedRoute[]): { path: string; title: string }[] {
  return routes.flatMap(({ path, title }) => {
    const plain = path.length > 1 ? path.replace(/\/$/, '') : path;
    return title === undefined || plain.includes('$') || unlisted.test(plain)
      ? []
      : [{ path: plain, title }];
  });
}
