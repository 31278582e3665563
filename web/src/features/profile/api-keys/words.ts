import { keyScopes, type KeyScope } from '#services/platform/contract.ts';

/** What a key may do, as its label and as the sentence below it. */
export const scopeWords: Readonly<Record<KeyScope, { label: string; about: string }>> = {
  run: {
    label: 'Run questions',
    about:
      'Create, start, refine, and cancel runs, check questions, and read files. Runs use your credits.',
  },
  read: {
    label: 'Read runs',
    about: 'Runs, results, recipes, and the live stream, which also holds your balance.',
  },
  'credits:read': {
    label: 'Read credits',
    about: 'Your balance, its history, and what it was used for.',
  },
};

const list = new Intl.ListFormat('en');

/** "Can run questions and read runs." */
export function allowed(scopes: readonly KeyScope[]): string {
  const words = keyScopes
    .filter((scope) => scopes.includes(scope))
    .map((scope) => scopeWords[scope].label.toLowerCase());
  return `Can ${list.format(words)}.`;
}

/** A first call that a key of these scopes may make. */
export function firstCall(origin: string, scopes: readonly KeyScope[]): string {
  const path = scopes.includes('read')
    ? '/optimizations'
    : scopes.includes('credits:read')
      ? '/credits/balance'
      : '/optimizations/estimate';
  const call = [`curl ${origin}/api${path}`, '-H "Authorization: Bearer sk_…"'];
  if (path === '/optimizations/estimate')
    call.push('-H "Content-Type: application/json"', `-d '{"strategy": "balanced"}'`);
  return call.join(' \\\n  ');
}
