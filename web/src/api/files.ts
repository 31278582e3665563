import type * as v from 'valibot';
import {
  answered,
  type Call,
  dataOf,
  noAnswer,
  type ReadOptions,
  refusal,
  retried,
  send,
} from './api.ts';
import type { PathOf, Reads, ReplyOf } from './endpoint-types.ts';

/** File transfers. Few pages need them, so they are not in the first load. */

/**
 * Reads `/api{path}` as a file of the given media type, such as `text/csv`. Retried like `read`.
 */
export async function readFile<P extends PathOf<'GET'>>(
  path: P,
  mediaType: string,
  options: ReadOptions<P> = {},
): Promise<Blob> {
  const call: Call = { method: 'GET', path, accept: mediaType, ...options };
  return retried(async () => {
    const response = await answered(call);
    if (!response.ok) throw await refusal(response);
    // A proxy may respond with a page of its own.
    if (!response.headers.get('content-type')?.startsWith(mediaType))
      throw noAnswer('unreadable-reply', response.headers.get('content-type'));
    // Bytes, because decoding as text would drop the byte order mark that spreadsheets need.
    return response.blob().catch((cause: unknown) => {
      throw noAnswer('network', cause);
    });
  }, options.signal);
}

/** Uploads a file, or a form with files, and returns the reply's `data`. */
export async function upload<
  M extends 'PUT' | 'POST',
  P extends PathOf<M>,
  S extends v.GenericSchema,
>(
  method: M,
  path: P,
  body: Blob | FormData,
  schema: S & Reads<ReplyOf<M, P>, S>,
  options: Pick<Call, 'signal' | 'timeoutMs'> = {},
): Promise<v.InferOutput<S>> {
  // The browser writes the type of a form, with the boundary of its parts.
  const content = { type: body instanceof Blob ? body.type : null, value: body };
  const reply = await send({ method, path, content, key: crypto.randomUUID(), ...options });
  return dataOf<v.InferOutput<S>>(reply, schema);
}
