import { LLMock } from '@copilotkit/aimock';
import type { ChatCompletionRequest } from '@copilotkit/aimock';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadCatalogue } from '#services/models/catalogue.ts';
import type { EnvSource } from '#services/platform/process/env.ts';
import { createSimulator } from '#services/sandbox/models/simulator/respond.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import { give } from '#tests/support/processes/service.ts';

/**
 * Whole runs in a third party's imitation of each format: our adapters and our sandbox could share a
 * misunderstanding. The mock has the simulator's words, and no tokens of its own for most vendors.
 */
const mock = new LLMock({ port: 0, logLevel: 'silent' });
const respond = createSimulator(loadCatalogue(null).strategies);

const contentOf = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : Array.isArray(content)
      ? content.map((part: { text?: string }) => part.text ?? '').join('')
      : '';

function answerTo(request: ChatCompletionRequest) {
  const said = (isSystem: boolean) =>
    request.messages
      .filter(({ role }) => (role === 'system') === isSystem)
      .map(({ content }) => contentOf(content))
      .join('\n\n');
  const system = said(true);
  const [, schemaName] = stages.find(([words]) => system.includes(words)) ?? ['', 'opinion'];
  const { text } = respond({
    provider: 'mock',
    model: request.model,
    system,
    prompt: said(false),
    schemaName,
    seed: 'mock',
  });
  return { content: text };
}

/** The mock does not pass on the schema of every format; the instruction names the stage. */
const stages: readonly (readonly [string, string])[] = [
  ['You keep the record of a council', 'claim_ledger'],
  ['You review answers that other experts gave', 'review'],
  ['You write the recommendation of a council', 'draft'],
  ['You compare a recommendation', 'verification'],
];

beforeAll(async () => {
  mock.onMessage(/[\s\S]*/, (request) => answerTo(request));
  await mock.start();
});
afterAll(async () => {
  await mock.stop();
});

test.each<[string, (url: string) => EnvSource]>([
  ['OpenRouter', (url) => ({ OPENROUTER_API_KEY: 'key', OPENROUTER_URL: `${url}/api/v1` })],
  ['OpenAI', (url) => ({ OPENAI_API_KEY: 'key', OPENAI_URL: `${url}/v1` })],
  ['Anthropic', (url) => ({ ANTHROPIC_API_KEY: 'key', ANTHROPIC_URL: url })],
  ['Google', (url) => ({ GOOGLE_API_KEY: 'key', GOOGLE_URL: url })],
  ['Mistral', (url) => ({ MISTRAL_API_KEY: 'key', MISTRAL_URL: url })],
  ['an endpoint', (url) => ({ OPENAI_COMPATIBLE_ENDPOINTS: `mock|${url}/v1||qwen3-8b,other` })],
])('a run by a third party’s imitation of %s completes', async (_name, env) => {
  const council = await createTestCouncil({ env: () => env(mock.url) });
  try {
    const person = await council.signUp();
    await give(council, person.userId, 10);
    const run = await council.ask(person, {
      challenge: 'Should I raise my prices before the summer, or first add a service?',
      strategy: 'fast',
    });
    expect(run).toMatchObject({ status: 'completed', simulated: false });
    expect(run.models.map(({ status }) => status)).toEqual(run.models.map(() => 'completed'));
    expect(run.result?.heading).toBe('recommendation');
  } finally {
    await council.close();
  }
});
