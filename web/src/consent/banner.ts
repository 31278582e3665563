import { showToast } from '#web/ui/feedback/toasts.tsx';
import { analyticsUrl } from '#web/app/product.ts';
import { allowed, hasChosen, noteChoice, onChoice } from './consent.ts';
import { moveKept } from './device.ts';

/**
 * The banner is markup of the page and no part of the application, so that it is there with the first
 * paint and the server can leave it out. Called once, by the browser's entry file.
 */
export function connectBanner(): void {
  const banner = document.getElementById('consent');
  banner?.addEventListener('click', ({ target }) => {
    if (target instanceof HTMLElement) answer(target.dataset['choice']);
  });
  const follow = (): void => {
    if (hasChosen()) {
      const hadFocus = banner?.contains(document.activeElement) === true;
      banner?.remove();
      if (hadFocus) document.getElementById('main')?.focus({ preventScroll: true });
    }
    // A script that runs cannot be taken back, in this tab or another.
    if (isLoaded && !allowed().analytics) location.reload();
    loadAnalytics();
  };
  onChoice(follow);
  follow();
  // A press from before this script; `start.ts` kept it.
  if (banner?.isConnected) answer(banner.dataset['chosen']);
  addEventListener('storage', ({ key, newValue }) => {
    const choice = key === 'sevenfold.consent' && /"choice":"([^"]+)"/.exec(newValue ?? '')?.[1];
    if (!choice) return;
    noteChoice(choice);
    moveKept();
  });
}

function answer(choice: string | undefined): void {
  if (choice === 'settings') openSettings();
  else if (choice !== undefined)
    void orToast(async () => {
      const { acceptAll, refuseAll } = await import('./choose.ts');
      if (choice === 'all') acceptAll();
      else refuseAll();
    });
}

/** The dialog, loaded when it is opened. */
export function openSettings(): void {
  void orToast(async () => (await import('./settings.tsx')).showSettings());
}

async function orToast(step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    console.warn('The consent could not be loaded', error);
    showToast('error', "We couldn't open your choice", {
      message: 'Check your internet and try again.',
    });
  }
}

let isLoaded = false;

/** Also called after each navigation: the first page may be one where it must not run. */
export function loadAnalytics(): void {
  if (analyticsUrl === undefined || isLoaded || !allowed().analytics) return;
  // Such an address may hold a secret.
  if (/^\/(auth\/|shared\/|reset-password)/.test(location.pathname)) return;
  isLoaded = true;
  const script = document.createElement('script');
  script.src = analyticsUrl;
  script.async = true;
  // Behind the page's own script, by which a newer version of the page is known.
  document.body.append(script);
}
