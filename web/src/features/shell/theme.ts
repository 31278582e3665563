import { useSyncExternalStore } from 'react';

/**
 * Light, dark, or the system's theme. The choice is a cookie, so that the server writes it into the
 * page (`<html data-theme>`) and no wrong colour flashes.
 */
export type Theme = 'system' | 'light' | 'dark';

const cookieName = 'sf_theme';
const maxAgeSeconds = 365 * 24 * 60 * 60;
const listeners = new Set<() => void>();

export function parseTheme(cookies: string): Theme {
  const value = /(?:^|;\s*)sf_theme=(light|dark)(?:;|$)/.exec(cookies)?.[1];
  return value === 'light' || value === 'dark' ? value : 'system';
}

function currentTheme(): Theme {
  return parseTheme(document.cookie);
}

export function setTheme(theme: Theme): void {
  const secure = location.protocol === 'https:' ? '; Secure' : '';
  const age = theme === 'system' ? 0 : maxAgeSeconds;
  document.cookie = `${cookieName}=${theme}; Path=/; Max-Age=${age}; SameSite=Lax${secure}`;
  showTheme();
  for (const listener of listeners) listener();
}

/** Applies the chosen theme; the server's markup already matches it. */
export function showTheme(): void {
  const theme = currentTheme();
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, currentTheme, () => 'system');
}
