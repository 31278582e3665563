import { Link } from '@tanstack/react-router';
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react';
import { TextField } from '#web/ui/form/field.tsx';
import { showFound } from './help-search.ts';

/**
 * The prerendered page holds the answers, and its script leaves them as they are: only a visit from
 * another page of this tab loads them. So nobody gets them twice.
 */
const prerendered = import.meta.env.SSR ? (await import('./topics.ts')).answers : '';

/** Answers by topic, with a search that needs no call. */
export function HelpPage(): ReactNode {
  const [html, setHtml] = useState(prerendered);
  const [search, setSearch] = useState('');
  /** Null before the first search. */
  const [count, setCount] = useState<number | null>(null);
  const all = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (all.current?.childElementCount === 0)
      void (async () => setHtml((await import('./topics.ts')).answers))();
  }, []);
  const find = useCallback((value: string): void => {
    setSearch(value);
    const found = all.current && showFound(all.current, value);
    setCount(value.trim() === '' ? null : found);
  }, []);
  useEffect(() => {
    const asked = new URLSearchParams(location.search).get('search');
    if (html !== '' && asked !== null) requestAnimationFrame(() => find(asked));
    const [, part] = location.hash.split('#');
    if (html !== '' && part) document.getElementById(part)?.scrollIntoView();
  }, [html, find]);
  return (
    <div className="mx-auto max-w-page space-y-10 px-4 pt-8 sm:px-6 lg:pt-12">
      <div className="max-w-prose space-y-6">
        <h1 className="text-4xl">Help</h1>
        <search>
          <TextField
            label="Search the answers"
            name="search"
            type="search"
            autoComplete="off"
            value={search}
            onChange={({ target: { value } }) => find(value)}
            hint={<output>{wordsOf(count)}</output>}
          />
        </search>
      </div>
      <div
        ref={all}
        className="grid grid-cols-1 gap-x-6 gap-y-10 lg:grid-cols-12"
        suppressHydrationWarning
        dangerouslySetInnerHTML={{ __html: html }}
      />
    </div>
  );
}

function wordsOf(count: number | null): ReactNode {
  if (count === null) return 'All answers are shown.';
  if (count > 0) return count === 1 ? '1 answer found' : `${count} answers found`;
  return (
    <>
      No answer has all of these words. Try fewer of them, or{' '}
      <Link to="/contact" className="link">
        ask us
      </Link>
      .
    </>
  );
}
