import * as v from 'valibot';

/** The shape of every refusal (RFC 9457), `application/problem+json`. */
export const ProblemReply = v.looseObject({
  type: v.string(),
  title: v.string(),
  status: v.number(),
  detail: v.string(),
  /** The sentence for people; the same as `detail`. */
  message: v.string(),
  code: v.string(),
  errors: v.array(v.object({ field: v.string(), message: v.string() })),
  request_id: v.string(),
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
});
export type ReadyReply = v.InferOutput<typeof ReadyReply>;
