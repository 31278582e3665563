import type { ProviderDefinition, RecognisedNames } from './provider.ts';
import { anthropic } from './providers/anthropic.ts';
import { google } from './providers/google.ts';
import { mistral } from './providers/mistral.ts';
import { ollama } from './providers/ollama.ts';
import { namesOfEndpoints } from './providers/openai-compatible.ts';
import { openai } from './providers/openai.ts';
import { openrouter } from './providers/openrouter.ts';

/** Every provider with a key of its own. The contract tests run over this list. */
export const providerDefinitions: readonly ProviderDefinition[] = [
  openai,
  anthropic,
  google,
  mistral,
  openrouter,
  ollama,
];

/** A provider's display name; an endpoint has the name that the operator configured. */
export function displayNameOf(provider: string): string {
  return providerDefinitions.find(({ name }) => name === provider)?.displayName ?? provider;
}

/** A process that calls models loads all SDKs before its first call, so that no call waits for one. */
export async function loadSdks(): Promise<void> {
  await Promise.all(providerDefinitions.map(async (definition) => definition.loadSdk()));
}

/** The names to remove from answers, of all providers and endpoints. */
export function recognisedNames(): RecognisedNames {
  const all = [...providerDefinitions.map(({ recognised }) => recognised), namesOfEndpoints];
  return {
    makers: all.flatMap(({ makers }) => makers),
    models: all.flatMap(({ models }) => models),
  };
}
