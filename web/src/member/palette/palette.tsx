import { useQuery } from '@tanstack/react-query';
import { type StaticDataRouteOption, useRouter } from '@tanstack/react-router';
import { type KeyboardEvent, type ReactNode, useEffect, useId, useState } from 'react';
import type { AppRouter } from '#web/app/router.tsx';
import { logout } from '#web/features/identity/sessions/session.ts';
import { recipesQuery } from '#web/features/recipes/queries.ts';
import { runsQuery } from '#web/features/runs/queries.ts';
import { runStatusWords } from '#services/optimizations/reading/words/status.ts';
import { Dialog } from '#web/ui/dialog.tsx';
import { shortcuts } from '#web/member/keys.ts';
import { displayWords, setDisplay, themeWords } from '#web/ui/display.ts';
import {
  type Entry,
  found,
  groupNames,
  listedPages,
  type ListedRoute,
  searchedFrom,
} from './entries.ts';

/** Milliseconds without a key before the server is searched. */
const pauseMs = 250;

// A combobox over a list with groups, which no native element offers.
/* oxlint-disable jsx-a11y/prefer-tag-over-role */

/** Go anywhere and do anything by typing. */
export function Palette({
  onClose,
  onShowKeys,
}: {
  onClose: () => void;
  onShowKeys: () => void;
}): ReactNode {
  const [search, setSearch] = useState('');
  const [active, setActive] = useState(0);
  const listId = useId();
  const asked = useSettled(search.trim());
  const isSearching = search.trim().length >= searchedFrom;
  const known = useKnownEntries(onShowKeys);
  const runs = useRuns(asked);
  const recipes = useRecipes(asked);
  const router = useRouter();
  const help: Entry = {
    id: 'help',
    group: 'Help',
    label: `Search Help for “${search.trim()}”`,
    run: () => router.history.push(`/help?search=${encodeURIComponent(search.trim())}`),
  };
  const entries = [
    ...found([...known, ...(isSearching ? [] : runs.entries)], search),
    ...(isSearching ? [...runs.entries, ...recipes.entries, help] : []),
  ];
  const isWaiting =
    isSearching && (asked !== search.trim() || runs.isFetching || recipes.isFetching);
  const hasFailed = isSearching && (runs.hasFailed || recipes.hasFailed);
  const position = Math.min(active, entries.length - 1);
  const current = entries[position];
  const optionId = (entry: Entry): string => `${listId}-${entry.id}`;
  const currentId = current && optionId(current);
  useEffect(() => {
    if (currentId !== undefined)
      document.getElementById(currentId)?.scrollIntoView({ block: 'nearest' });
  }, [currentId]);
  const choose = (entry: Entry): void => {
    onClose();
    entry.run();
  };
  const press = (event: KeyboardEvent): void => {
    // Enter accepts an input method's suggestion first.
    if (event.nativeEvent.isComposing) return;
    if (event.key === 'Enter' && current) choose(current);
    else if (event.key === 'ArrowDown') setActive((position + 1) % entries.length);
    else if (event.key === 'ArrowUp') setActive((position - 1 + entries.length) % entries.length);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog open onClose={onClose} title="Search and commands">
      <input
        role="combobox"
        aria-label="Search pages, optimizations, recipes, and commands"
        aria-expanded={entries.length > 0}
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={currentId}
        ref={(input) => input?.setAttribute('autofocus', '')}
        autoComplete="off"
        spellCheck={false}
        placeholder="Type a page, a question, or a command"
        value={search}
        maxLength={100}
        onChange={({ target }) => {
          setSearch(target.value);
          setActive(0);
        }}
        onKeyDown={press}
        className="block min-h-11 w-full rounded-control border border-line-strong bg-surface px-3 py-2 text-base text-ink placeholder:text-ink-3"
      />
      <output className="block text-sm text-ink-3">
        {isWaiting ? 'Searching…' : resultWords(entries.length)}
      </output>
      {hasFailed ? (
        <p role="alert" className="text-sm text-bad">
          We couldn't search your optimizations and recipes.
        </p>
      ) : null}
      <div
        id={listId}
        role="listbox"
        aria-label="Results"
        className="max-h-[min(26rem,50dvh)] overflow-y-auto"
      >
        {groupNames.map((group) => (
          <Group
            key={group}
            name={group}
            entries={entries.filter((entry) => entry.group === group)}
            current={current}
            optionId={optionId}
            onChoose={choose}
            onPoint={(entry) => setActive(entries.indexOf(entry))}
          />
        ))}
      </div>
    </Dialog>
  );
}

function resultWords(count: number): string {
  if (count === 0) return 'Nothing found. Try another word.';
  return count === 1 ? '1 result' : `${count} results`;
}

function Group({
  name,
  entries,
  current,
  optionId,
  onChoose,
  onPoint,
}: {
  name: string;
  entries: readonly Entry[];
  current: Entry | undefined;
  optionId: (entry: Entry) => string;
  onChoose: (entry: Entry) => void;
  onPoint: (entry: Entry) => void;
}): ReactNode {
  const headId = useId();
  if (entries.length === 0) return null;
  return (
    <div role="group" aria-labelledby={headId} className="pb-2">
      <p id={headId} role="presentation" className="px-3 py-1 text-sm text-ink-3">
        {name}
      </p>
      {entries.map((entry) => (
        // The keys of the list are those of its combobox.
        // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
        <div
          key={entry.id}
          id={optionId(entry)}
          role="option"
          aria-selected={entry === current}
          onClick={() => onChoose(entry)}
          onPointerMove={() => onPoint(entry)}
          className="flex min-h-11 cursor-pointer items-center justify-between gap-4 rounded-control px-3 aria-selected:bg-accent-soft"
        >
          <span className="min-w-0 truncate">{entry.label}</span>
          {entry.keys === undefined ? null : <Keys keys={entry.keys} />}
        </div>
      ))}
    </div>
  );
}

/** "g d" as two keys. */
export function Keys({ keys }: { keys: string }): ReactNode {
  return (
    <span className="flex shrink-0 gap-1">
      {keys.split(' ').map((key) => (
        <kbd
          key={key}
          className="rounded-control border border-line bg-surface px-1.5 font-sans text-sm text-ink-2"
        >
          {key}
        </kbd>
      ))}
    </span>
  );
}

/** The pages and actions that need no question to the server. */
function useKnownEntries(onShowKeys: () => void): Entry[] {
  const router = useRouter();
  const go = (path: string) => (): void => router.history.push(path);
  return [
    {
      id: 'new',
      group: 'Actions',
      label: 'New Optimization',
      alias: 'opportunity discovery start ask question',
      ...keysOf('new'),
      run: go('/optimization'),
    },
    ...displayWords.theme.map((theme): Entry => ({
      id: `theme-${theme}`,
      group: 'Actions',
      label: `Theme: ${themeWords[theme]}`,
      alias: 'appearance mode color',
      run: () => setDisplay('theme', theme),
    })),
    {
      id: 'keys',
      group: 'Actions',
      label: 'Keyboard shortcuts',
      ...keysOf('sheet'),
      run: onShowKeys,
    },
    { id: 'logout', group: 'Actions', label: 'Logout', alias: 'sign out leave', run: logout },
    ...listedPages(routesOf(router)).map(({ path, title }): Entry => ({
      id: `page${path.replaceAll('/', '-')}`,
      group: 'Pages',
      label: title,
      alias: path,
      ...keysOf(path),
      run: go(path),
    })),
    {
      id: 'page-api-docs',
      group: 'Pages',
      label: 'API',
      alias: 'developers documentation',
      run: () => location.assign('/api-docs'),
    },
  ];
}

function routesOf({ routesByPath }: AppRouter): ListedRoute[] {
  return (Object.keys(routesByPath) as (keyof typeof routesByPath)[]).map((path) => {
    const data: StaticDataRouteOption = routesByPath[path].options.staticData ?? {};
    return { path, title: data.title };
  });
}

/** @param what a command, or the path that it opens */
function keysOf(what: string): { keys?: string } {
  const shortcut = shortcuts.find(
    (one) => one.command === what || ('to' in one && one.to === what),
  );
  return shortcut === undefined ? {} : { keys: shortcut.keys };
}

type Answered = { entries: Entry[]; isFetching: boolean; hasFailed: boolean };

/** The newest runs, or those that a search finds. */
function useRuns(search: string): Answered {
  const router = useRouter();
  const q = search.length >= searchedFrom ? search : undefined;
  const { data, isFetching, isError } = useQuery(runsQuery({ q }));
  return {
    entries: (data?.data ?? []).map((run) => ({
      id: run.id,
      group: 'Your optimizations',
      label: `${run.title} · ${runStatusWords[run.status]}`,
      run: () => void router.navigate({ to: '/optimizations/$id', params: { id: run.id } }),
    })),
    isFetching,
    hasFailed: isError,
  };
}

function useRecipes(search: string): Answered {
  const router = useRouter();
  const enabled = search.length >= searchedFrom;
  const choice = { page: 1, category: undefined, search };
  const all = useQuery({ ...recipesQuery({ ...choice, tab: 'all' }), enabled });
  const mine = useQuery({ ...recipesQuery({ ...choice, tab: 'mine' }), enabled });
  const both = [...(mine.data?.data ?? []), ...(all.data?.data ?? [])];
  return {
    entries: enabled
      ? both.map((recipe) => ({
          id: recipe.id,
          group: 'Recipes',
          label: recipe.title,
          run: () => void router.navigate({ to: '/recipes/$id', params: { id: recipe.id } }),
        }))
      : [],
    isFetching: all.isFetching || mine.isFetching,
    hasFailed: all.isError || mine.isError,
  };
}

/** The text once it has stayed the same for a moment. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
