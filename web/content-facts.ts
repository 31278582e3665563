import { loadCatalogue } from '#services/models/catalogue.ts';
import { optimizationLimits } from '#services/optimizations/contract/requests.ts';
import { refinementPriceWords } from '#services/optimizations/refinement/price.ts';
import { paymentLimits } from '#services/payments/contract.ts';
import { sessionsAtMost } from '#services/identity/contract.ts';
import { keysInWords, shortcuts } from './src/member/keys.ts';

/** What the texts of `web/content` may name as `{{name}}`: a fact of the code stands once. */
export function contentFacts(variables: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  const runs = loadCatalogue(variables['MODELS_FILE'] || null).strategies.toSorted(
    (one, other) => one.credits - other.credits,
  );
  const contact = variables['CONTACT_EMAIL'] || null;
  return {
    product: variables['PRODUCT_NAME'] || 'Sevenfold',
    strategyCount: String(runs.length),
    strategies: [
      '| Strategy | Credits | What it is for |',
      '|---|---|---|',
      ...runs.map(({ name, credits, description }) => `| ${name} | ${credits} | ${description} |`),
    ].join('\n'),
    cheapestRun: String(runs[0]?.credits),
    dearestRun: String(runs.at(-1)?.credits),
    refundDays: String(paymentLimits.refundDays),
    pastDueDays: String(paymentLimits.pastDueDays),
    refinementPrice: refinementPriceWords(),
    challengeCharacters: inWords(optimizationLimits.challenge),
    contextCharacters: inWords(optimizationLimits.context),
    files: String(optimizationLimits.files),
    fileMegabytes: String(optimizationLimits.fileBytes / 1_000_000),
    filesCharacters: inWords(optimizationLimits.filesText),
    sessions: String(sessionsAtMost),
    shortcuts: [
      '| Keys | What they do |',
      '|---|---|',
      ...shortcuts.map(({ keys, words }) => `| ${keysInWords(keys)} | ${words} |`),
    ].join('\n'),
    operator:
      contact === null
        ? 'The operator of this site has not set a contact address yet. You can still [write to us](/contact).'
        : `Its operator answers at [${contact}](mailto:${contact}) and through the [contact form](/contact).`,
    report:
      contact === null
        ? 'Use the [contact form](/contact) with the topic “Security”.'
        : `Write to [${contact}](mailto:${contact}) or use the [contact form](/contact) with the topic “Security”. The same address is in [security.txt](/.well-known/security.txt).`,
  };
}

const inWords = (count: number): string => count.toLocaleString('en-US');

/** @throws Error for a name that is no fact */
export function withFacts(text: string, facts: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const fact = facts[name];
    if (fact === undefined) throw new Error(`There is no fact {{${name}}}`);
    return fact;
  });
}
