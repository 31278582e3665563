import { join } from 'node:path';
import { knownVariables } from '#services/platform/process/env.ts';

export type Settings = Readonly<Record<string, string>>;

const compiled = join(import.meta.dirname, '../../node_modules/.cache/compiled');

/** This shell's variables without whatever it may say to the product, and `settings` instead. */
export function variablesOf(settings: Settings): NodeJS.ProcessEnv {
  const known = new Set(knownVariables());
  const kept = Object.entries(process.env).filter(
    ([name]) => !known.has(name) && !name.endsWith('_API_KEY'),
  );
  return {
    // Most of what a process does until it is ready is compiling the same files as the one before.
    NODE_COMPILE_CACHE: compiled,
    ...Object.fromEntries(kept),
    RATE_LIMITS: 'off',
    REQUIRE_EMAIL_CONFIRMATION: 'false',
    ...settings,
  };
}
