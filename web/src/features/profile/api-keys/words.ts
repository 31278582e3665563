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
    about: 'Runs, results, recipes, and the live stream.',
  },
  'credits:read': {
    label: 'Read credits',
    about: 'Your balance, its history, what it was used for, and the balance in the live stream.',
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

/**
 * Sets what the examples of the programs guide read, then makes a call that a key of these scopes may
 * make. The call itself does not contain the key, so it can be kept and passed on.
 */
export function firstCall(
  origin: string,
  { key, scopes }: { key: string; scopes: readonly KeyScope[] },
): string {
  const path = scopes.includes('read')
    ? '/optimizations'
    : scopes.includes('credits:read')
      ? '/credits/balance'
      : '/optimizations/estimate';
  const call = [`curl "$SEVENFOLD_URL/api${path}"`, '-H "Authorization: Bearer $SEVENFOLD_KEY"'];
  if (path === '/optimizations/estimate')
    call.push('-H "Content-Type: application/json"', `-d '{"strategy": "balanced"}'`);
  return [
    `export SEVENFOLD_URL=${origin}`,
    `export SEVENFOLD_KEY=${key}`,
    call.join(' \\\n  '),
  ].join('\n');
}
