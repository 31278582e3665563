import type { ChatCompletionCreateParamsStreaming } from 'openai/resources/chat/completions';
import { sdkProvider, systemWithSchema } from '#services/models/transport/guarded-call.ts';
import type { ModelRequest, Provider } from '#services/models/model.ts';
import type { ProviderConnection, RecognisedNames } from '#services/models/provider.ts';
import { isOnThisMachine } from '#services/platform/process/env.ts';
import { loadPatientFetch } from '#services/models/transport/patient-fetch.ts';
import { localPatience } from '#services/models/transport/silence.ts';
import { chatClient, chatParams, chatParts, chatSdk } from './chat-completions.ts';

/**
 * Any endpoint that speaks Chat Completions: LM Studio, vLLM, llama.cpp, Groq and most others. One on
 * this machine may be slow.
 *
 * @param name as configured; messages and events name the provider so.
 */
export function openaiCompatible(
  name: string,
  connection: ProviderConnection & { baseUrl: string },
): Provider {
  const sdk = async () => {
    const [chat, patientFetch] = await Promise.all([chatSdk(), loadPatientFetch()]);
    return { chat, patientFetch };
  };
  return sdkProvider(
    name,
    sdk,
    ({ chat }, call) =>
      chatParts(name, chatClient(chat, connection, call), call, endpointParams(call.request)),
    isOnThisMachine(connection.baseUrl)
      ? {
          patience: (request) => localPatience({ ...request, system: systemWithSchema(request) }),
          fetchOf: ({ patientFetch }) => patientFetch,
        }
      : null,
  );
}

/** Models of endpoints belong to no provider of the list. */
export const namesOfEndpoints: RecognisedNames = {
  makers: [
    'meta(?: ai)?',
    'xai',
    'alibaba',
    'cohere',
    'microsoft',
    'deepseek',
    'moonshot(?: ai)?',
    'nvidia',
    'ibm',
  ],
  models: [
    'llama',
    'grok',
    'deepseek',
    'qwen',
    'kimi',
    'command r',
    'copilot',
    'gemma',
    'glm',
    'granite',
    'nemotron',
  ],
};

export function endpointParams(request: ModelRequest): ChatCompletionCreateParamsStreaming {
  return {
    ...chatParams(request, { system: systemWithSchema(request), strict: false }),
    // Usage comes only on request.
    stream_options: { include_usage: true },
    ...(request.effort === null ? {} : { reasoning_effort: request.effort }),
  } satisfies ChatCompletionCreateParamsStreaming;
}
