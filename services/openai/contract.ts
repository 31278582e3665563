import * as v from 'valibot';
import { AllowSimulated, optimizationLimits } from '#services/optimizations/contract/requests.ts';
import { ChallengeType, StrategyId } from '#services/optimizations/contract/summary.ts';
import type { EndpointList } from '#services/platform/contract.ts';

/**
 * The calls of OpenAI's API that ask the council, for programs that were written for that API
 * (`docs/programs.md`). Field names are OpenAI's.
 */

const Text = v.string('Send text.');

/** Text, or parts of text; the council reads no pictures or sound. */
const Content = v.union(
  [
    Text,
    v.array(v.strictObject({ type: v.literal('text', 'Only text can be sent.'), text: Text })),
  ],
  'Send text, or a list of parts of the type "text".',
);

const Message = v.strictObject({
  role: v.picklist(
    ['system', 'developer', 'user', 'assistant'],
    'The role must be system, developer, user, or assistant.',
  ),
  content: Content,
  name: v.optional(v.pipe(Text, v.maxLength(100))),
});

/** Fields of OpenAI's that tune how a model samples, or how OpenAI bills and stores; none has an effect. */
const unused = Object.fromEntries(
  [
    'temperature',
    'top_p',
    'max_tokens',
    'max_completion_tokens',
    'presence_penalty',
    'frequency_penalty',
    'seed',
    'user',
    'safety_identifier',
    'metadata',
    'store',
    'service_tier',
    'reasoning_effort',
    'verbosity',
    'prompt_cache_key',
  ].map((name) => [name, v.optional(v.unknown())]),
);

/** Fields of OpenAI's that ask for another kind of answer, refused by name. */
const refused = Object.fromEntries(
  [
    'tools',
    'tool_choice',
    'functions',
    'function_call',
    'parallel_tool_calls',
    'response_format',
    'modalities',
    'audio',
    'prediction',
    'web_search_options',
    'logprobs',
    'top_logprobs',
    'logit_bias',
    'stop',
  ].map((name) => [
    name,
    v.optional(v.custom<never>(() => false, `${name} isn't supported: the answer is Markdown.`)),
  ]),
);

/** `POST /v1/chat/completions`. */
export const ChatRequest = v.strictObject({
  ...unused,
  ...refused,
  model: v.pipe(
    v.string('Choose a strategy as the model.'),
    v.description('The id of a strategy, as `GET /v1/models` lists them'),
  ),
  messages: v.pipe(
    v.array(Message, 'Send at least one message.'),
    v.minLength(1, 'Send at least one message.'),
    v.maxLength(100, 'Send up to 100 messages.'),
    v.description(
      `The last one, from the user, is the question, up to ${optimizationLimits.challenge.toLocaleString('en-US')} characters. The ones before it are its context, up to ${optimizationLimits.context.toLocaleString('en-US')} characters together`,
    ),
  ),
  stream: v.optional(v.nullable(v.boolean('Send true or false.'))),
  stream_options: v.optional(
    v.nullable(v.strictObject({ include_usage: v.optional(v.boolean('Send true or false.')) })),
  ),
  n: v.optional(v.nullable(v.literal(1, 'There is one recommendation for each request.'))),
  challenge_type: v.optional(ChallengeType),
  objectives: v.optional(v.array(Text)),
  constraints: v.optional(v.array(Text)),
  allow_simulated: v.optional(AllowSimulated),
});
export type ChatRequest = v.InferOutput<typeof ChatRequest>;

export const ModelCard = v.object({
  id: StrategyId,
  object: v.literal('model'),
  created: v.pipe(
    v.number(),
    v.description('Seconds since 1970: when the prices of its models were last read'),
  ),
  owned_by: v.string(),
  name: v.string(),
  description: v.string(),
  credits: v.pipe(v.number(), v.description('The price of a run in credits')),
  available: v.pipe(v.boolean(), v.description('Whether a run can start now')),
});

export const ModelList = v.object({ object: v.literal('list'), data: v.array(ModelCard) });

/** Of all calls to models in the run. */
export const ChatUsage = v.object({
  prompt_tokens: v.pipe(v.number(), v.description('Tokens that models read')),
  completion_tokens: v.pipe(v.number(), v.description('Tokens that models wrote')),
  total_tokens: v.pipe(v.number(), v.description('Tokens in all')),
  calls_without_usage: v.pipe(
    v.number(),
    v.description('Calls whose tokens no provider reported; they are missing in the sums'),
  ),
  credits: v.pipe(v.nullable(v.number()), v.description('Credits charged for the run')),
});
export type ChatUsage = v.InferOutput<typeof ChatUsage>;

export const ChatReply = v.object({
  id: v.pipe(v.string(), v.description("`chatcmpl-` and the run's id")),
  object: v.literal('chat.completion'),
  created: v.pipe(v.number(), v.description('Seconds since 1970: when the run was created')),
  model: v.string(),
  choices: v.array(
    v.object({
      index: v.pipe(v.number(), v.description('The number of the answer: 0, because there is one')),
      message: v.object({
        role: v.literal('assistant'),
        content: v.pipe(
          v.nullable(v.string()),
          v.description('The recommendation as Markdown; null if the run has none'),
        ),
        refusal: v.pipe(
          v.nullable(v.string()),
          v.description('Why the run has no recommendation; null if it has one'),
        ),
      }),
      logprobs: v.null(),
      finish_reason: v.literal('stop'),
    }),
  ),
  usage: ChatUsage,
  run: v.object({
    id: v.pipe(v.string(), v.description("The run's id: `opt_` and 26 characters")),
    url: v.pipe(v.string(), v.description('Its page')),
    joined: v.pipe(
      v.boolean(),
      v.description('Whether an earlier request started it; its usage is the same'),
    ),
    simulated: v.pipe(
      v.boolean(),
      v.description('Whether a model was simulated; such a recommendation is no advice'),
    ),
  }),
});
export type ChatReply = v.InferOutput<typeof ChatReply>;

/** An error as OpenAI's clients read it. */
export const ChatErrorReply = v.object({
  error: v.object({
    message: v.string(),
    type: v.string(),
    param: v.pipe(
      v.nullable(v.string()),
      v.description('The field at fault; null if there is none'),
    ),
    code: v.pipe(v.string(), v.description('Stable; compare with this')),
  }),
});
export type ChatErrorReply = v.InferOutput<typeof ChatErrorReply>;

/** Paths as they follow `/v1`. */
export const openaiEndpoints = {
  'GET /models': {
    summary: 'List the strategies as models',
    description: 'In the shape of OpenAI’s `GET /v1/models`, with the price of each.',
    access: 'key',
    scope: 'read',
    status: 200,
    whole: ModelList,
  },
  'GET /models/{id}': {
    summary: 'Get one strategy as a model',
    description: 'In the shape of OpenAI’s `GET /v1/models/{model}`.',
    access: 'key',
    scope: 'read',
    status: 200,
    whole: ModelCard,
  },
  'POST /chat/completions': {
    summary: 'Ask the council in the shape of a chat completion',
    description: `Starts a run, charged like any other, and returns its recommendation as Markdown. The response begins at once; white space (or, with \`stream\`, comments with the progress) keeps the connection open until the run ends. A client that disconnects leaves the run running. Without an \`Idempotency-Key\`, an identical request with the same API key within 15 minutes joins the run of the first one, running or ended. With one, every repeat joins that run. \`x-run-id\` names the run.`,
    access: 'key',
    scope: 'run',
    body: ChatRequest,
    bodyBytes: optimizationLimits.bodyBytes,
    status: 200,
    whole: ChatReply,
    files: ['text/event-stream'],
    refuses: [402, 403, 404, 409, 503],
  },
} as const satisfies EndpointList;
