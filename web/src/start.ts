/**
 * Starts a prerendered page. It can be read without the application, whose scripts and style are
 * therefore requested only once it is painted in its own typefaces: until then the text has the whole
 * connection. The first of `data-scripts` is the application, the others are what it will import.
 */
const longestWaitMs = 1_000;

async function start(): Promise<void> {
  keepEarlyChoice();
  const { scripts = '', style = '' } = document.getElementById('app')?.dataset ?? {};
  const [application = '', ...parts] = scripts.split(' ');
  if (!application || !style) throw new Error('The page names no scripts or no style');
  await Promise.race([firstPaint().then(() => document.fonts.ready), after(longestWaitMs)]);
  for (const href of [application, ...parts]) document.head.append(link('modulepreload', href));
  await loadStyle(style);
  await import(/* @vite-ignore */ application);
}

/** A press on the consent banner waits there for the application, which answers it. */
function keepEarlyChoice(): void {
  const banner = document.getElementById('consent');
  banner?.addEventListener('click', ({ target }) => {
    const choice = target instanceof HTMLElement ? target.dataset['choice'] : undefined;
    if (choice !== undefined) banner.dataset['chosen'] = choice;
  });
}

/** Text is on the screen. Scripts run before that, also those in a frame's callbacks. */
async function firstPaint(): Promise<void> {
  return new Promise((resolve) => {
    new PerformanceObserver((list) => {
      if (list.getEntriesByName('first-contentful-paint').length > 0) resolve();
    }).observe({ type: 'paint', buffered: true });
  });
}

/** The application may draw what this page has no rules for. Without them, it still works. */
async function loadStyle(href: string): Promise<void> {
  const sheet = link('stylesheet', href);
  await new Promise((resolve) => {
    for (const end of ['load', 'error']) sheet.addEventListener(end, resolve);
    document.head.append(sheet);
  });
}

function link(rel: string, href: string): HTMLLinkElement {
  return Object.assign(document.createElement('link'), { rel, href });
}

function after(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

void start();
