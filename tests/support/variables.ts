import { join } from 'node:path';
import { knownVariables } from '#services/platform/process/env.ts';

export type Settings = Readonly<Record<string, string>>;

const compiled = join(import.meta.dirname, '../../node_modules/.cache/compiled');

/** This shell's variables without the product's own, plus `settings`. */
export function variablesOf(settings: Settings): NodeJS.ProcessEnv {
  const known = new Set(knownVariables());
  const kept = Object.entries(process.env).filter(
    ([name]) => !known.has(name) && !name.endsWith('_API_KEY'),
  );
  return {
    // Shares compiled code, because compiling is most of a process's start.
    NODE_COMPILE_CACHE: compiled,
    ...Object.fromEntries(kept),
    RATE_LIMITS: 'off',
    REQUIRE_EMAIL_CONFIRMATION: 'false',
    ...settings,
  };
}
