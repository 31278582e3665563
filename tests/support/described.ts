import * as v from 'valibot';
import { endpoints } from '#services/http/endpoints.ts';
import { refusalsOf } from '#services/http/openapi.ts';
import { ProblemReply } from '#services/platform/contract.ts';
import type { Endpoint } from '#services/platform/contract.ts';
import { patternOf } from '#services/platform/http/serve.ts';

/** The endpoints with patterns of their paths, those without fields first. */
const patterns = Object.entries<Endpoint>(endpoints)
  .map(([name, endpoint]) => {
    const [method = '', path = ''] = name.split(' ');
    return { name, method, path, endpoint, pattern: patternOf(path) };
  })
  .toSorted((left, right) => left.path.split('{').length - right.path.split('{').length);

/**
 * Checks a response against the description of its endpoint: the status is listed and the body matches the
 * schema. Unknown endpoints and bodies that are not JSON pass.
 *
 * @param path below /api, with its query
 * @throws Error that names the endpoint and what differs
 */
export async function expectDescribed(
  method: string,
  path: string,
  response: Response,
): Promise<void> {
  const [pathname = ''] = path.split('?');
  const found = patterns.find((one) => one.method === method && one.pattern.test(pathname));
  if (!found) return;
  const { endpoint, name } = found;
  const type = response.headers.get('content-type') ?? '';
  const differs = (what: string) =>
    new Error(`${name} answered ${response.status}, which its description does not say: ${what}`);
  if (type.startsWith('application/problem+json')) {
    if (!refusalsOf(found.path, endpoint).includes(response.status)) throw differs('the status');
    const { success, issues } = v.safeParse(ProblemReply, await response.clone().json());
    if (!success) throw differs(v.summarize(issues));
    return;
  }
  if (response.status === 304) {
    if (endpoint.isConditional !== true) throw differs('the status');
    return;
  }
  const mediaType = type.split(';')[0] ?? '';
  if (mediaType !== 'application/json') {
    if (endpoint.files?.includes(mediaType) !== true) throw differs(`the type ${mediaType}`);
    return;
  }
  const isUnready = name === 'GET /ready' && response.status === 503;
  if (response.status !== endpoint.status && !isUnready) throw differs('the status');
  const schema = endpoint.whole ?? (endpoint.reply && v.object({ data: endpoint.reply }));
  if (!schema) throw differs('JSON');
  const { success, issues } = v.safeParse(schema, await response.clone().json());
  if (!success) throw differs(v.summarize(issues));
}
