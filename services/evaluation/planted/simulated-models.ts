import type { Catalogue } from '#services/models/catalogue.ts';
import type { ModelPart, ModelRequest, Provider } from '#services/models/model.ts';
import { modelRegistry } from '#services/models/registry.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import type { Respond } from '#services/sandbox/models/personas.ts';
import { readMaterial } from '#services/sandbox/models/simulator/material.ts';
import type { Material } from '#services/sandbox/models/simulator/material.ts';
import { createSimulator } from '#services/sandbox/models/simulator/respond.ts';
import type { Condition, Mark } from '#services/evaluation/records/records.ts';
import { seededInteger } from '#services/platform/seeded.ts';
import { markOf, meritIn, meritOf, seenBy } from './planted.ts';
import type { Planted } from './planted.ts';

/**
 * The models of an evaluation on the sandbox: the simulator's, in this process. Their answers carry the
 * planted merit of the condition that asks; judges read it from both answers, each with its own error.
 */
export type SimulatedModels = {
  forAnswers(condition: Condition): ModelRegistry;
  forJudges: ModelRegistry;
};

export function simulatedModels(
  catalogue: Catalogue,
  planted: Planted,
  clock: () => number,
): SimulatedModels {
  const listed = modelRegistry(onlySimulated, catalogue, { clock });
  const simulate = createSimulator(catalogue.strategies);
  const serving = (respond: Respond): ModelRegistry => ({
    ...listed,
    provider: (name, simulated) =>
      simulated ? inProcess(name, respond, String(planted.seed)) : null,
  });
  return {
    forAnswers: (condition) =>
      serving((request) => {
        const reply = simulate(request);
        const { asked } = readMaterial(request.prompt);
        const mark = markOf(meritOf(planted, asked.challenge, condition));
        return { ...reply, text: withMark(reply.text, request.schemaName, mark) };
      }),
    forJudges: serving((request) => judgment(planted, request.model, request.prompt)),
  };
}

/** Every provider is simulated, and nothing listens at the address: `inProcess` answers instead. */
const onlySimulated = {
  mode: 'local',
  providerKeys: {},
  compatibleEndpoints: [],
  providerUrls: {},
  openrouterDataCollection: 'deny',
  ollamaUrl: null,
  ollamaMaxContext: 0,
  sandboxUrl: 'http://127.0.0.1:9',
} as const;

function inProcess(name: string, respond: Respond, seed: string): Provider {
  return {
    name,
    isFree: false,
    async *call(request: ModelRequest): AsyncIterable<ModelPart> {
      const { model, system, prompt, schema } = request;
      const { text, thinkingTokens } = respond({
        provider: name,
        model,
        system,
        prompt,
        schemaName: schema?.name ?? null,
        seed,
      });
      yield { type: 'text', text };
      yield {
        type: 'reply',
        reply: {
          text,
          usage: {
            inputUncached: tokensIn(system) + tokensIn(prompt),
            inputCached: 0,
            cacheWrite: 0,
            outputVisible: tokensIn(text),
            outputThinking: thinkingTokens,
            source: 'estimated',
          },
          billedCost: null,
          finish: 'stop',
          answeredBy: model,
        },
      };
    },
  };
}

function tokensIn(text: string): number {
  return Math.ceil(text.length / 4);
}

/** In the sentence that becomes the answer's first one. */
function withMark(reply: string, schemaName: string | null, mark: string): string {
  const value = JSON.parse(reply) as {
    decision?: string;
    recommendation?: { one_line: string };
  };
  if (schemaName === 'draft') value.decision = `${value.decision} ${mark}`;
  if (schemaName === 'opinion' && value.recommendation !== undefined)
    value.recommendation.one_line = `${value.recommendation.one_line} ${mark}`;
  return JSON.stringify(value);
}

function judgment(planted: Planted, judge: string, prompt: string): ReturnType<Respond> {
  const material = readMaterial(prompt);
  const question = material.asked.challenge;
  const [first, second] = [
    meritIn(material.block('first answer')),
    meritIn(material.block('second answer')),
  ];
  const seen = seenBy(planted, { judge, question, first, second });
  const draw = (purpose: string) =>
    seededInteger(
      `marks ${planted.seed} ${judge} ${question}`,
      `${purpose} ${first} ${second}`,
      1000,
    ) / 1000;
  const reply = {
    criteria: idsOf(material, 'criteria').map((id) => ({
      criterion_id: id,
      first: markFor(seen.first, draw(`first ${id}`)),
      second: markFor(seen.second, draw(`second ${id}`)),
    })),
    traps: idsOf(material, 'traps').map((id) => ({
      trap_id: id,
      first: draw(`first ${id}`) > seen.first,
      second: draw(`second ${id}`) > seen.second,
    })),
    better: seen.better,
    reason: 'Simulated.',
  };
  return { text: JSON.stringify(reply), thinkingTokens: 0 };
}

function idsOf(material: Material, kind: string): string[] {
  return material.rows(kind).map(([id = '']) => id);
}

/** The better an answer, the more criteria it meets. */
function markFor(merit: number, drawn: number): Mark {
  if (drawn < merit) return 'yes';
  return drawn < merit + 0.2 ? 'partly' : 'no';
}
