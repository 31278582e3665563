import { useSyncExternalStore } from 'react';
import { createSignal } from './signal.ts';

/**
 * How the page looks and moves. Each choice is a cookie, so that the server writes it into the page
 * (`<html data-theme>`) and nothing flashes. The first word of each means no choice, and no cookie.
 */
export const displayWords = {
  theme: ['system', 'light', 'dark'],
  motion: ['system', 'reduced', 'full'],
  density: ['comfortable', 'compact'],
} as const;
export type Display = typeof displayWords;
export type DisplayName = keyof Display;

const maxAgeSeconds = 365 * 24 * 60 * 60;
export const themeWords: Readonly<Record<Display['theme'][number], string>> = {
  system: 'System',
  light: 'Light',
  dark: 'Dark',
};

const changes = createSignal<[changed: DisplayName]>();
export const subscribeDisplay = changes.subscribe;

/** What a browser's cookies say; the first word for a missing or unknown one. */
export function parseDisplay<Name extends DisplayName>(
  name: Name,
  cookies: string,
): Display[Name][number] {
  const value = new RegExp(`(?:^|;\\s*)sf_${name}=(\\w+)`).exec(cookies)?.[1];
  const words: readonly Display[Name][number][] = displayWords[name];
  return words.find((word) => word === value) ?? displayWords[name][0];
}

export function currentDisplay<Name extends DisplayName>(name: Name): Display[Name][number] {
  return parseDisplay(name, document.cookie);
}

export function setDisplay<Name extends DisplayName>(
  name: Name,
  word: Display[Name][number],
): void {
  const secure = location.protocol === 'https:' ? '; Secure' : '';
  const age = word === displayWords[name][0] ? 0 : maxAgeSeconds;
  document.cookie = `sf_${name}=${word}; Path=/; Max-Age=${age}; SameSite=Lax${secure}`;
  showDisplay(name);
  changes.emit(name);
}

/** Applies a choice; the server's markup already matches it. */
export function showDisplay(name: DisplayName): void {
  const word = currentDisplay(name);
  if (word === displayWords[name][0]) delete document.documentElement.dataset[name];
  else document.documentElement.dataset[name] = word;
}

export function useDisplay<Name extends DisplayName>(name: Name): Display[Name][number] {
  return useSyncExternalStore(
    subscribeDisplay,
    () => currentDisplay(name),
    () => displayWords[name][0],
  );
}

/** Whether changes are shown at once: the user's choice for our pages, else the system's. */
export function isMotionReduced(): boolean {
  const { motion } = document.documentElement.dataset;
  if (motion !== undefined) return motion === 'reduced';
  return matchMedia('(prefers-reduced-motion: reduce)').matches;
}
