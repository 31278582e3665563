import * as v from 'valibot';
import { visibleText } from './visible-text.ts';

/**
 * How a value looks on the wire, for the description, where its schema cannot say it: a JSON Schema as
 * the metadata of a schema, such as `{ wire: { type: 'object' } }`. (No builder is called in a comment
 * here: the pages' build marks every call of one, and its mark would end the comment.)
 */
export type Wire = { wire: Readonly<Record<string, unknown>> };

/** How long a backup may be kept: it holds what people delete after it was made. The privacy policy says so. */
export const backupDays = 35;

/** A time in an answer. */
export const Time = v.pipe(
  v.string(),
  v.metadata({ wire: { type: 'string', format: 'date-time' } } satisfies Wire),
  v.description('A time, ISO 8601 in UTC'),
);

/** Which page of a list that is read by pages an answer is. */
export const Pagination = v.object({
  page: v.pipe(v.number(), v.description('The number of this page, from 1')),
  limit: v.pipe(v.number(), v.description('Rows on a full page')),
  total: v.pipe(v.number(), v.description('Rows on all pages')),
  total_pages: v.pipe(v.number(), v.description('Number of pages; 0 if there are no rows')),
});

/**
 * Removes characters that nobody sees. They are not refused, because they come unseen with pasted text.
 * Stands after the checks of a schema, because a description ends at a transformation.
 */
export const visible = v.transform((text: string) => visibleText(text).trim());

const wrongId = {
  opt: 'Not a run id',
  rec: 'Not a recipe id',
  pur: 'Not the id of a purchase',
};

/** An id of ours in a request. */
export const IdText = (prefix: keyof typeof wrongId) =>
  v.pipe(v.string(), v.regex(new RegExp(`^${prefix}_[0-9a-z]{26}$`), wrongId[prefix]));

/** A whole number in a query, where everything is a text. */
export const WholeText = (
  least: number,
  most: number,
  words: { notWhole?: string; tooSmall?: string; tooLarge?: string } = {},
) => {
  const usual = `Enter a whole number from ${least} to ${most}.`;
  return v.pipe(
    v.string(),
    v.regex(/^\d{1,9}$/, words.notWhole ?? usual),
    v.transform(Number),
    v.minValue(least, words.tooSmall ?? usual),
    v.maxValue(most, words.tooLarge ?? usual),
    v.metadata({ wire: { type: 'integer', minimum: least, maximum: most } } satisfies Wire),
  );
};

/** `format` in the query of a call that also answers with a file. */
export const Format = <File extends string>(file: File) =>
  v.pipe(
    v.optional(v.picklist(['json', file], `The format is json or ${file}`), 'json'),
    v.description(`\`${file}\` returns a file`),
  );

/** The shape of every refusal (RFC 9457), `application/problem+json`. */
export const ProblemReply = v.looseObject({
  type: v.pipe(v.string(), v.description('A URI for the kind of problem')),
  title: v.pipe(v.string(), v.description('A heading for people')),
  status: v.pipe(v.number(), v.description('The HTTP status, repeated')),
  detail: v.pipe(v.string(), v.description('A sentence for people')),
  message: v.pipe(
    v.string(),
    v.description('`detail`, or a sentence with the keywords that older clients look for'),
  ),
  code: v.pipe(v.string(), v.description('Stable; compare with this')),
  errors: v.array(v.object({ field: v.string(), message: v.string() })),
  request_id: v.pipe(v.string(), v.description('The id of the call in our log')),
});
export type ProblemReply = v.InferOutput<typeof ProblemReply>;

/** `GET /ready`: 200 when every part is `ok`, otherwise 503 with the same body. */
export const ReadyReply = v.object({
  status: v.picklist(['ready', 'not_ready']),
  checks: v.object({
    database: v.picklist(['ok', 'failed']),
    migrations: v.picklist(['ok', 'failed']),
    reader: v.picklist(['ok', 'failed']),
    worker: v.picklist(['ok', 'failed']),
  }),
  set_aside: v.pipe(
    v.nullable(
      v.object({
        total: v.pipe(v.number(), v.description('How many there are in all, listed here or not')),
        streams: v.array(
          v.object({
            projection: v.string(),
            stream: v.string(),
            event: v.object({
              id: v.pipe(v.string(), v.description('The id of the first waiting event')),
              type: v.string(),
              position: v.pipe(v.number(), v.description('The position in its stream, from 1')),
            }),
            error: v.pipe(
              v.string(),
              v.description('The SQLSTATE; run `projections status` for details'),
            ),
          }),
        ),
      }),
    ),
    v.description(
      'Streams of events that a read model could not take in, at most ten of them; each waits from the event named. They never make a process unready. Null when the database could not be asked',
    ),
  ),
});
export type ReadyReply = v.InferOutput<typeof ReadyReply>;

/**
 * `cookie`: the session's cookie. `service`: another service with a token of its own. `visitor`: anyone,
 * but a token that is sent must be valid. `key`: an API key, and no user in person.
 */
export type Access = 'everyone' | 'visitor' | 'cookie' | 'person' | 'key' | 'service';

/** What an API key may do. A call without a scope takes no key (`docs/decisions/0050-api-keys.md`). */
export const keyScopes = ['run', 'read', 'credits:read'] as const;
export type KeyScope = (typeof keyScopes)[number];

type Schema = v.GenericSchema;

/**
 * Each call of the API as one value, in the contract of its slice. `platform/http/serve.ts` makes its
 * route, `services/http/openapi.ts` its description, and the browser's client takes its types from it.
 * `services/http/endpoints.ts` joins all slices.
 */
export type Endpoint = {
  /** One line, for the description. */
  summary: string;
  /** What the line leaves out, as Markdown. */
  description: string;
  access: Access;
  /**
   * The scope with which an API key may make the call for its user; without it none may. `any`: every key
   * may, and the handler asks for the scope of what is done.
   */
  scope?: KeyScope | 'any';
  /** The fields of the path, each a text; only named when they have a format. */
  path?: Schema;
  /** An endpoint without it refuses every query. */
  query?: Schema;
  /** JSON; an endpoint without it takes `{}` or nothing. */
  body?: Schema;
  /** The most bytes of the body; without it what every call may send. */
  bodyBytes?: number;
  /** Media types of a body that the handler reads itself. */
  sends?: readonly string[];
  /** Of a successful response. */
  status: 200 | 201 | 202;
  /** What stands in the response's `data`. */
  reply?: Schema;
  /** The whole response, for what does not stand in `data`. */
  whole?: Schema;
  /** Media types of a response that is not JSON, or need not be. */
  files?: readonly string[];
  /** Refusals of its own, beyond those that follow from what it takes. */
  refuses?: readonly (401 | 402 | 403 | 404 | 409 | 413 | 415 | 503)[];
  /** A response carries an `ETag`; the same tag as `If-None-Match` is answered 304 while it holds. */
  isConditional?: true;
  /** How long any cache may keep a response that is the same for all callers; without it none may. */
  cacheSeconds?: number;
  /** Whether an `Idempotency-Key` can or must be sent, with which a repeat changes nothing. */
  idempotencyKey?: 'optional' | 'required';
};

/** By method and path, fields of the path in braces: `GET /optimizations/{id}`. */
export type EndpointName = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`;
export type EndpointList = Readonly<Record<EndpointName, Endpoint>>;

/** `GET /health`: the process lives. */
export const HealthReply = v.object({ status: v.literal('ok'), version: v.string() });

/** The state of the process, and the description of the API. */
export const platformEndpoints = {
  'GET /openapi.json': {
    summary: 'Get this description',
    description: 'OpenAPI 3.1, generated from the schemas that validate requests.',
    access: 'everyone',
    status: 200,
    whole: v.looseObject({ openapi: v.literal('3.1.0') }),
  },
  'GET /health': {
    summary: 'Liveness',
    description: 'Responds as long as the process runs. Nothing else is checked.',
    access: 'everyone',
    status: 200,
    reply: HealthReply,
  },
  'GET /ready': {
    summary: 'Readiness',
    description:
      "Checks the database, its migrations, the event reader's delay, and the worker. Returns 503 with the same body if any of them fails.",
    access: 'everyone',
    status: 200,
    reply: ReadyReply,
    refuses: [503],
  },
} as const satisfies EndpointList;
