import * as v from 'valibot';
import { failureOf, guardedFetch } from '#services/models/transport/guarded-fetch.ts';

/** One GET of a provider's list of models. */
export type ListCall = {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** The body, of which nothing but ids is read. */
  idsIn: v.GenericSchema<unknown, readonly string[]>;
};

/** `{ data: [{ id }] }`, which OpenAI began and most followed. */
export const dataIds = v.pipe(
  v.object({ data: v.array(v.object({ id: v.string() })) }),
  v.transform(({ data }) => data.map(({ id }) => id)),
);

/** Visible ASCII: another program's words, which reach terminals, settings and pages. */
export function isPlainId(id: string): boolean {
  return /^[\x21-\x7e]{1,200}$/.test(id);
}

export function bearer(apiKey: string): Record<string, string> {
  return apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` };
}

const listMs = 30_000;

/**
 * The ids of all calls together.
 *
 * @throws ModelFailure without any text of the provider
 */
export async function readIds(provider: string, calls: readonly ListCall[]): Promise<string[]> {
  const ids: string[] = [];
  for (const { url, headers, idsIn } of calls) {
    const get = guardedFetch(fetch, { signal: AbortSignal.timeout(listMs) });
    try {
      const response = await get(url, { headers });
      ids.push(...v.parse(idsIn, await response.json()));
    } catch (error) {
      throw failureOf(provider, error);
    }
  }
  return ids;
}
