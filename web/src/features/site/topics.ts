/** A file of `content/help`, compiled by the build (`web/documents.ts`). */
export type Topic = { title: string; questions: readonly Question[] };

export type Question = {
  /** The anchor of its heading. */
  id: string;
  title: string;
  html: string;
};

const files = import.meta.glob<Topic>('/content/help/*.md', { eager: true, import: 'default' });

/** In the order in which people ask; a topic that is not named here comes last. */
const order = [
  'runs',
  'results',
  'refinement',
  'files',
  'credits',
  'buying',
  'privacy',
  'keyboard',
  'api',
];

const placeOf = (path: string): number => {
  const place = order.findIndex((name) => path.endsWith(`/${name}.md`));
  return place < 0 ? order.length : place;
};

const topics = Object.entries(files)
  .toSorted(([one], [other]) => placeOf(one) - placeOf(other))
  .map(([, topic]) => topic);

/** The anchor of a topic, which no question has. */
const idOf = (title: string): string =>
  `topic-${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`;

/** All answers as HTML, with a list of their topics. The search (`help-search.ts`) reads its attributes. */
export const answers = `<nav aria-label="Topics" class="lg:col-span-4 print:hidden"><ol>${topics
  .map(
    ({ title }) =>
      `<li data-topic="${idOf(title)}"><a href="#${idOf(title)}" class="inline-flex min-h-11 items-center text-ink-2 hover:text-ink hover:underline">${title}</a></li>`,
  )
  .join('')}</ol></nav><div class="space-y-12 lg:col-span-8">${topics
  .map(
    ({ title, questions }) =>
      `<section aria-label="${title}" data-topic="${idOf(title)}" class="space-y-8"><h2 id="${idOf(title)}" class="text-2xl">${title}</h2>${questions.map(markupOf).join('')}</section>`,
  )
  .join('')}</div>`;

function markupOf({ id, title, html }: Question): string {
  return `<div class="prose" data-question><h3 id="${id}">${title}</h3>${html}</div>`;
}
