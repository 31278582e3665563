import { toJsonSchema, toJsonSchemaDefs } from '@valibot/to-json-schema';
import type { ConversionConfig, JsonSchema } from '@valibot/to-json-schema';
import type * as v from 'valibot';
import * as creditContract from '#services/credits/contract.ts';
import * as apiKeyContract from '#services/identity/contract/api-keys.ts';
import * as identityContract from '#services/identity/contract.ts';
import { linkKinds } from '#services/identity/contract.ts';
import { cookieName } from '#services/identity/sessions/cookie.ts';
import * as liveContract from '#services/live/contract.ts';
import { mcpEndpoints } from '#services/mcp/contract.ts';
import * as openaiContract from '#services/openai/contract.ts';
import { openaiEndpoints } from '#services/openai/contract.ts';
import * as panelContract from '#services/optimizations/contract/panel.ts';
import * as refinementContract from '#services/optimizations/contract/refinement.ts';
import * as requestContract from '#services/optimizations/contract/requests.ts';
import * as resultContract from '#services/optimizations/contract/result.ts';
import * as runContract from '#services/optimizations/contract/run.ts';
import * as sharingContract from '#services/optimizations/contract/sharing.ts';
import * as summaryContract from '#services/optimizations/contract/summary.ts';
import * as paymentContract from '#services/payments/contract.ts';
import * as platformContract from '#services/platform/contract.ts';
import type { Access, Endpoint, EndpointList, Wire } from '#services/platform/contract.ts';
import { problems, titles } from '#services/platform/problems.ts';
import { softwareVersion } from '#services/platform/process/software.ts';
import type { Handlers } from '#services/platform/http/serve.ts';
import { apiExamples } from './examples.ts';
import { endpoints } from './endpoints.ts';

/**
 * OpenAPI 3.1, generated from the endpoints: from the schemas that parse requests and that responses must
 * match. Every schema that a contract exports has a name in it.
 */
export function openApiHandlers(options: { productName: string; publicUrl: string }) {
  // Built at the first request, because it takes longer than the rest of a process's start.
  let document: string | null = null;
  return {
    'GET /openapi.json': ({ context }) =>
      context.body((document ??= JSON.stringify(describeApi(options))), 200, {
        'Content-Type': 'application/json',
        'Cache-Control': 'public, max-age=300',
      }),
  } satisfies Partial<Handlers<typeof platformContract.platformEndpoints>>;
}

/** Calls beside `/api`, with their whole paths. */
const programEndpoints: EndpointList = {
  ...Object.fromEntries(
    Object.entries<Endpoint>(openaiEndpoints).map(([name, endpoint]) => [
      name.replace(' ', ' /v1'),
      endpoint,
    ]),
  ),
  ...mcpEndpoints,
};

type Json = Readonly<Record<string, unknown>>;
type Schema = v.GenericSchema;

/** The OpenAPI document. @param options.publicUrl the application's address, without `/api` */
export function describeApi(options: { productName: string; publicUrl: string }): Json {
  const paths: Record<string, Record<string, Json | readonly Json[]>> = {};
  for (const [name, endpoint] of Object.entries<Endpoint>(endpoints)) {
    const [method = '', path = ''] = name.split(' ');
    (paths[path] ??= {})[method.toLowerCase()] = operation(name, path, endpoint);
  }
  for (const [name, endpoint] of Object.entries<Endpoint>(programEndpoints)) {
    const [method = '', path = ''] = name.split(' ');
    const item = (paths[path] ??= { servers: [{ url: options.publicUrl }] });
    item[method.toLowerCase()] = operation(name, path, endpoint);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: `${options.productName} API`,
      version: softwareVersion,
      description: introduction(options),
      contact: { name: options.productName, url: options.publicUrl },
      // As the file LICENSE has it.
      license: { name: 'Not decided, all rights reserved', identifier: 'LicenseRef-None' },
    },
    servers: [{ url: `${options.publicUrl}/api` }],
    tags: tags.map(([name, description]) => ({
      name,
      description,
      ...(name === 'stream' ? { externalDocs: liveDocs(options) } : {}),
    })),
    externalDocs: liveDocs(options),
    paths,
    components: {
      schemas: schemas(paths),
      responses: refusals(),
      headers,
      securitySchemes: securitySchemes(options),
    },
  };
}

const securitySchemes = ({ publicUrl }: { publicUrl: string }): Json => ({
  person: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      '`token` of `POST /auth/login`. It expires after `expires_in` seconds. Get the next one from `POST /auth/refresh`.',
  },
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    description:
      'A key of the user, from `POST /api-keys` or the account settings. It needs the scope that the call names; calls that name none take no key. Cookies of such a call are ignored.',
  },
  service: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'For other services, issued by the operator',
  },
  cookie: {
    type: 'apiKey',
    in: 'cookie',
    name: cookieName('refresh', publicUrl),
    description: `Every sign-in call sets it, and each \`POST /auth/refresh\` replaces it; keep the newest. A state-changing call that uses it without a bearer token needs \`Origin: ${new URL(publicUrl).origin}\`. Browsers send it automatically. Other programs must add it, or the call fails with 403 \`cross-site\`.`,
  },
});

const liveDocs = ({ publicUrl }: { publicUrl: string }): Json => ({
  description: 'How to use the stream and the socket',
  url: `${publicUrl}/api-docs/live`,
});

const introduction = ({ publicUrl }: { publicUrl: string }) =>
  [
    'Unless a call says otherwise, every successful response is JSON with its content in `data`. Paginated lists also have `pagination`',
    'beside it. Every error is `application/problem+json` with a stable `code`.',
    'An unsupported method gets 405 `method-not-allowed` with an `Allow` header. A URL that is',
    'too long gets 414 `address-too-long`.',
    'Credits are whole numbers, times are ISO 8601 in UTC, and `null` means unknown.',
    'Leading and trailing white space is ignored, and text cannot contain NUL. Lengths are counted in UTF-16 units.',
    `Programs written for OpenAI's API call \`/v1\` instead. See [how to use an API key](${publicUrl}/api-docs/programs).`,
    'Live updates arrive over `GET /stream`, or for older clients over a socket.io socket in the namespace',
    `\`/optimization\`. See [how to use both](${publicUrl}/api-docs/live).`,
  ].join('\n');

const tags = [
  ['auth', 'Authentication and sessions'],
  ['users', 'The account'],
  ['api-keys', "Keys for the user's own programs"],
  ['credits', 'Credits, purchases, plans, refunds, and statements'],
  ['optimizations', 'Questions and the runs that answer them'],
  ['recipes', 'Questions to start from'],
  ['onboarding', 'The four-stage onboarding'],
  ['v1', "The council in the shape of OpenAI's API"],
  ['mcp', 'The council as tools of an agent (Model Context Protocol)'],
  ['stream', 'Live updates'],
  ['avatars', 'Pictures'],
  ['webhooks', 'Webhooks'],
  ['health', 'Liveness and readiness'],
  ['description', 'The API description'],
] as const;

// --- one endpoint ---

function operation(name: string, path: string, endpoint: Endpoint): Json {
  const body = bodyOf(name, endpoint);
  const first = path.split('/')[1] ?? '';
  return {
    operationId: operationId(name),
    tags: [tagOf(first)],
    summary: endpoint.summary,
    description: endpoint.description,
    security: securityOf(endpoint),
    parameters: [
      ...pathFields(path, endpoint),
      ...queryFields(endpoint),
      ...(endpoint.idempotencyKey ? [idempotencyKey(endpoint.idempotencyKey)] : []),
      ...(endpoint.isConditional ? [ifNoneMatch] : []),
      ...(endpoint.files?.includes(eventStream) ? [lastEventId] : []),
    ],
    ...(body === null ? {} : { requestBody: body }),
    responses: responses(name, path, endpoint),
  };
}

function tagOf(first: string): string {
  if (first === 'ready') return 'health';
  if (first === 'shared') return 'optimizations';
  return first === 'openapi.json' ? 'description' : first;
}

/** `postOptimizationsIdProcess` for `POST /optimizations/{id}/process`. */
function operationId(name: string): string {
  const [first = '', ...rest] = name.split(/[^A-Za-z]+/).filter((word) => word !== '');
  return first.toLowerCase() + rest.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('');
}

/** An API key works where the endpoint names a scope. */
function securityOf({ access, scope }: Endpoint): readonly Json[] {
  if (!scope) return security[access];
  return [...security[access], { apiKey: scope === 'any' ? [] : [scope] }];
}

const security: Readonly<Record<Access, readonly Json[]>> = {
  everyone: [],
  visitor: [{}, { person: [] }],
  cookie: [{ cookie: [] }],
  person: [{ person: [] }],
  key: [],
  service: [{ service: [] }],
};

const idempotencyKey = (need: 'optional' | 'required') => ({
  name: 'Idempotency-Key',
  in: 'header',
  required: need === 'required',
  description: 'Repeating a call with the same key and body within 24 hours has no further effect.',
  schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,128}$' },
});

const ifNoneMatch = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description: 'The `ETag` of a response you have kept. The reply is 304 while it is unchanged.',
  schema: { type: 'string' },
};

const eventStream = 'text/event-stream';

const lastEventId = {
  name: 'Last-Event-ID',
  in: 'header',
  required: false,
  description:
    'The last id you received. You get every later fact once and no snapshot. If the id cannot be used, you get a snapshot.',
  schema: { type: 'string' },
};

function pathFields(path: string, { path: schema }: Endpoint): Json[] {
  const properties = schema ? propertiesOf(schema) : {};
  return [...path.matchAll(/\{(\w+)\}/g)].map(([field, name = '']) => {
    const upTo = path.slice(0, path.indexOf(field) + field.length);
    const written = properties[name]?.schema ?? { type: 'string', ...pathWords[upTo] };
    return { name, in: 'path', required: true, ...asParameter(written) };
  });
}

/** Path parameters, which no schema describes. */
const pathWords: Readonly<Record<string, { description: string }>> = {
  '/auth/links/{kind}': { description: `The purpose of the link: ${linkKinds.join(', ')}` },
  '/auth/sessions/{id}': { description: "The session's id: `ses_` and 26 characters" },
  '/api-keys/{id}': { description: "The key's id: `key_` and 26 characters" },
  '/avatars/{id}': { description: "The picture's id, as in `avatar_url`" },
  '/credits/checkout-sessions/{id}': { description: "The provider's id of the checkout" },
  '/credits/purchases/{id}': { description: "The purchase's id: `pur_` and 26 characters" },
  '/optimizations/{id}': { description: "The run's id: `opt_` and 26 characters" },
  '/v1/models/{id}': { description: 'The id of a strategy' },
  '/optimizations/{id}/shares/{shareId}': {
    description: "The link's id: `shr_` and 26 characters",
  },
  '/recipes/{id}': { description: "The recipe's id: `rec_` and 26 characters" },
  '/shared/{token}': { description: "The last part of the link's address, 43 characters" },
};

/** Viewers read a parameter's description beside its schema, not inside. */
function asParameter({ description, ...schema }: JsonSchema): Json {
  return { ...(description === undefined ? {} : { description }), schema };
}

function queryFields({ query }: Endpoint): Json[] {
  return Object.entries(query ? propertiesOf(query) : {}).map(([name, field]) => ({
    name,
    in: 'query',
    required: field.isRequired,
    ...asParameter(withNumericDefault(field.schema)),
  }));
}

/** Values of a query are text, and so is a default; the description shows a number. */
function withNumericDefault(schema: JsonSchema): JsonSchema {
  const isNumber = schema.type === 'integer' && typeof schema.default === 'string';
  return isNumber ? { ...schema, default: Number(schema.default) } : schema;
}

function propertiesOf(schema: Schema): Record<string, { schema: JsonSchema; isRequired: boolean }> {
  const { properties = {}, required = [] } = toJsonSchema(schema, conversion);
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [
      name,
      { schema: property as JsonSchema, isRequired: required.includes(name) },
    ]),
  );
}

function bodyOf(name: string, { body, sends }: Endpoint): Json | null {
  if (body) {
    const example = exampleOf(name)?.body;
    const json = { schema: described(body), ...(example === undefined ? {} : { example }) };
    return { required: true, content: { 'application/json': json } };
  }
  if (!sends) return null;
  return {
    required: true,
    content: Object.fromEntries(sends.map((type) => [type, { schema: binaryOf(type) }])),
  };
}

function exampleOf(name: string): { body?: unknown; reply?: unknown } | undefined {
  return Object.entries(apiExamples).find(([one]) => one === name)?.[1];
}

function binaryOf(mediaType: string): Json {
  const binary = { type: 'string', format: 'binary' };
  switch (mediaType) {
    case 'application/json':
      return { type: 'object' };
    case 'multipart/form-data':
      return { type: 'object', required: ['file'], properties: { file: binary } };
    default:
      return binary;
  }
}

// --- responses ---

function responses(name: string, path: string, endpoint: Endpoint): Json {
  const { status, reply, whole, files = [], isConditional } = endpoint;
  const json = whole ? described(whole) : reply && inEnvelope(described(reply));
  const data = exampleOf(name)?.reply;
  const example = data === undefined ? {} : { example: { data } };
  const success = {
    description: 'Done',
    ...(isConditional ? { headers: { ETag: etag } } : {}),
    content: {
      ...(json ? { 'application/json': { schema: json, ...example } } : {}),
      ...Object.fromEntries(files.map((type) => [type, { schema: textOf(type, path) }])),
    },
  };
  const all: Record<string, Json> = {
    [status]: success,
    ...(isConditional ? { 304: { description: 'Not changed' } } : {}),
  };
  for (const code of refusalsOf(path, endpoint)) {
    const same = path === '/ready' && code === 503;
    all[code] = same
      ? { ...success, description: meanings[code] }
      : path.startsWith('/v1/')
        ? { description: meanings[code], content: { 'application/json': { schema: chatError } } }
        : { $ref: `#/components/responses/Refusal${code}` };
  }
  return all;
}

const chatError = { $ref: '#/components/schemas/ChatErrorReply' };

/** A response that is not JSON. In the stream, each event's `data` is the JSON of one of these. */
function textOf(mediaType: string, path: string): Json {
  if (mediaType !== eventStream) return { type: 'string' };
  if (path.startsWith('/v1/'))
    return {
      type: 'string',
      description: 'The chunks of a chat completion as OpenAI sends them, then `[DONE]`.',
    };
  const messages = ['Snapshot', 'Fact', 'Delta', 'Stale', 'Bye'];
  return {
    type: 'string',
    description: `Server-sent events. The data of each is one of ${messages.join(', ')}; a \`ping\` has none.`,
    contentMediaType: eventStream,
    contentSchema: { oneOf: messages.map((one) => ({ $ref: `#/components/schemas/${one}` })) },
  };
}

/** Each refusal status once, with its possible codes. */
function refusals(): Json {
  const all = Object.entries(meanings).map(([status, meaning]): [string, Json] => {
    const codes = Object.entries(problems)
      .filter(([, of]) => String(of) === status)
      .map(([code]) => `\`${code}\``);
    const description = `${meaning}. Codes: ${codes.join(', ')}`;
    const retry = { headers: { 'Retry-After': { $ref: '#/components/headers/Retry-After' } } };
    const schema = { $ref: '#/components/schemas/ProblemReply' };
    return [
      `Refusal${status}`,
      {
        description,
        ...(waits.has(Number(status)) ? retry : {}),
        content: { 'application/problem+json': { schema } },
      },
    ];
  });
  return Object.fromEntries(all);
}

const waits: ReadonlySet<number> = new Set([409, 429, 503]);

const etag = {
  description: 'Identifies this version of the response. Send it back as `If-None-Match`.',
  schema: { type: 'string' },
};

const headers = {
  'Retry-After': {
    description: 'Seconds to wait before retrying. Not always present.',
    schema: { type: 'integer', minimum: 0 },
  },
};

/** The refusals that follow from an endpoint's input, and its own. */
export function refusalsOf(path: string, endpoint: Endpoint): number[] {
  const { access, refuses = [], body, sends } = endpoint;
  const hasPath = path.includes('{');
  const all = [
    400,
    ...(access === 'everyone' ? [] : [401]),
    ...(hasPath ? [404] : []),
    ...(body ? [413, 415] : []),
    ...(sends ? [413] : []),
    403,
    429,
    500,
    ...refuses,
  ];
  return [...new Set(all)].toSorted((left, right) => left - right);
}

// 405 and 414 are replies to a request that reaches no endpoint.
const { 405: _method, 414: _address, ...ofEndpoints } = titles;
const meanings: Readonly<Record<number, string>> = {
  ...ofEndpoints,
  404: 'Not found, or not yours',
};

function inEnvelope(schema: Json): Json {
  return { type: 'object', properties: { data: schema }, required: ['data'] };
}

// --- schemas ---

/** Exported schemas of the contracts, except forms, which never leave the browser. */
const named: Readonly<Record<string, Schema>> = Object.fromEntries(
  [
    platformContract,
    creditContract,
    paymentContract,
    panelContract,
    refinementContract,
    requestContract,
    resultContract,
    runContract,
    sharingContract,
    summaryContract,
    identityContract,
    apiKeyContract,
    openaiContract,
    liveContract,
  ].flatMap((contract) =>
    Object.entries<unknown>(contract).flatMap(([name, value]) =>
      isSchema(value) && !name.endsWith('Form') ? [[name, value] as const] : [],
    ),
  ),
);

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'schema';
}

const conversion: ConversionConfig = {
  target: 'draft-2020-12',
  // Texts are trimmed and empty rows dropped before validation; the field's words say what else is checked.
  ignoreActions: ['trim', 'transform', 'check', 'partial_check'],
  overrideSchema: ({ valibotSchema }) => (valibotSchema.type === 'custom' ? {} : null),
  overrideAction({ valibotAction: action, jsonSchema }) {
    // A format makes the pattern redundant.
    if (action.type === 'iso_timestamp') return { ...jsonSchema, format: 'date-time' };
    if (action.type === 'metadata') return wireOf(action) ?? jsonSchema;
    // A number that arrives as text has its bounds in the metadata.
    if (jsonSchema.type === 'string' && /^(?:min|max)_value$/.test(action.type)) return jsonSchema;
    // OpenAPI reads patterns with the flag u, and ours are written with it.
    if ('requirement' in action && action.requirement instanceof RegExp)
      return action.requirement.flags === 'u'
        ? { ...jsonSchema, pattern: action.requirement.source }
        : null;
    return null;
  },
};

function wireOf(action: object): JsonSchema | null {
  const { wire = null } = 'metadata' in action ? (action.metadata as Partial<Wire>) : {};
  // A copy, because the later steps of the pipe are written into it.
  return wire && { ...wire };
}

const definitions = { ...named };

function described(schema: Schema): Json {
  const { $schema: _, $defs: __, ...json } = toJsonSchema(schema, { ...conversion, definitions });
  return withComponents(json);
}

/** Only referenced schemas, direct or indirect; the rest would be noise. */
function schemas(paths: Json): Json {
  const all = Object.fromEntries(
    Object.entries(toJsonSchemaDefs(named, { ...conversion })).map(([name, schema]) => [
      name,
      withComponents(schema),
    ]),
  );
  const used = new Set<string>();
  const use = (names: readonly string[]): void => {
    for (const name of names) {
      if (used.has(name)) continue;
      used.add(name);
      use(namesIn(all[name]));
    }
  };
  use(['ProblemReply', ...namesIn(paths)]);
  return Object.fromEntries(Object.entries(all).filter(([name]) => used.has(name)));
}

function namesIn(json: unknown): string[] {
  const found = JSON.stringify(json).matchAll(/"#\/components\/schemas\/(\w+)"/g);
  return [...found].map(([, name = '']) => name);
}

/** References in the form of OpenAPI. */
function withComponents(schema: unknown): Json {
  const text = JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/');
  return JSON.parse(text) as Json;
}
