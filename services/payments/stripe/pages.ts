import type { Stripe } from 'stripe';
import { ask } from './errors.ts';
import { checkedList } from './views.ts';

/** How many of a kind one call brings; the provider allows no more. */
const pageSize = 100;
const daySeconds = 24 * 60 * 60;

export type PageQuery = {
  limit: number;
  starting_after?: string;
  created?: Stripe.RangeQueryParam;
};
type GetPage<Item> = (query: PageQuery) => Promise<{ data: Item[]; has_more: boolean }>;

/** All of a list, page by page, newest first, as the provider lists it. */
export async function* everyPage<Item extends { id: string }>(
  what: string,
  getPage: GetPage<Item>,
  created?: Stripe.RangeQueryParam,
): AsyncGenerator<Item> {
  let after: string | null = null;
  for (;;) {
    const query: PageQuery = {
      limit: pageSize,
      ...(after === null ? {} : { starting_after: after }),
      ...(created === undefined ? {} : { created }),
    };
    const page = checkedList(what, await ask(what, async () => getPage(query)));
    yield* page.data;
    const last = page.data.at(-1);
    if (!page.has_more || last === undefined) return;
    after = last.id;
  }
}

/**
 * Everything that was made since a time, oldest first. The provider lists the newest first, so it is
 * asked for a window of time after another, and only one window is held: a day, longer where days are
 * empty. The last window has no end: the provider's clock may be ahead of ours.
 */
export async function* sinceOldestFirst<Item extends { id: string }>(
  what: string,
  getPage: GetPage<Item>,
  since: number,
  now: number,
): AsyncGenerator<Item> {
  let from = Math.max(0, Math.floor(since / 1000));
  let seconds = daySeconds;
  for (;;) {
    const until = from + seconds;
    const isLast = until * 1000 > now;
    const created = isLast ? { gte: from } : { gte: from, lt: until };
    const held: Item[] = [];
    for await (const item of everyPage(what, getPage, created)) held.push(item);
    yield* held.toReversed();
    if (isLast) return;
    seconds = held.length === 0 ? seconds * 2 : daySeconds;
    from = until;
  }
}
