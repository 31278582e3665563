import { endpoints } from '#services/http/endpoints.ts';
import type { Endpoint } from '#services/platform/contract.ts';
import { createChance } from '#tests/support/chance.ts';
import type { Chance } from '#tests/support/chance.ts';
import type { TestApp } from '#tests/support/app.ts';
import { expectDescribed } from '#tests/support/described.ts';
import { issueToken } from '#tests/support/processes/service.ts';
import { credentials, newCaller, newRun, pretendWorker, send } from '#tests/walls/calls.ts';
import type { Caller, Sample } from '#tests/walls/calls.ts';
import { bodySchemaOf, nearMisses, operations, pick, querySchemaOf, valueOf } from './schemas.ts';
import type { JsonSchema } from './schemas.ts';

/**
 * F1: random calls, generated from the description. None causes an internal error; every response matches
 * its endpoint; no call succeeds without the required authentication; a repeat with the same key gets the
 * same response; and no refusal echoes what was sent.
 */
export type Fuzzed = {
  calls: number;
  /** By status. */
  answered: Record<number, number>;
  repeats: number;
  failures: string[];
};

/**
 * @param options.callers the number of concurrent callers, one if absent. Each has its own seed, counted up
 *   from `seed`, so that one caller alone reproduces what it found
 */
export async function fuzz(
  app: TestApp,
  { seed, calls, callers = 1 }: { seed: number; calls: number; callers?: number },
): Promise<Fuzzed> {
  const shares = Array.from({ length: callers }, (_, caller) => ({
    seed: seed + caller,
    calls: Math.floor(calls / callers) + (caller < calls % callers ? 1 : 0),
  }));
  const all = await Promise.all(shares.map(async (share) => fuzzAlone(app, share)));
  const answered: Fuzzed['answered'] = {};
  for (const [status, count] of all.flatMap((one) => Object.entries(one.answered)))
    answered[Number(status)] = (answered[Number(status)] ?? 0) + count;
  return {
    calls: all.reduce((sum, one) => sum + one.calls, 0),
    answered,
    repeats: all.reduce((sum, { repeats }) => sum + repeats, 0),
    failures: all.flatMap(({ failures }) => failures),
  };
}

async function fuzzAlone(app: TestApp, options: { seed: number; calls: number }): Promise<Fuzzed> {
  const chance = createChance(options.seed);
  const done: Fuzzed = { calls: 0, answered: {}, repeats: 0, failures: [] };
  let world = await newWorld(app);
  for (; done.calls < options.calls; done.calls += 1) {
    // A new user from time to time, because calls change addresses and end sessions and accounts.
    if (done.calls % callsOfOne === callsOfOne - 1) world = await newWorld(app);
    const call = drawCall(chance, world);
    const response = await made(app, call, world);
    done.answered[response.status] = (done.answered[response.status] ?? 0) + 1;
    const failures = await wrongWith(call, response.clone());
    const hasKey = call.sample.headers?.['idempotency-key'] !== undefined;
    if (call.endpoint.idempotencyKey !== undefined && hasKey && call.isKnown && response.ok) {
      done.repeats += 1;
      const again = await made(app, call, world);
      const [first, second] = [await response.text(), await again.text()];
      if (again.status !== response.status || first !== second)
        failures.push(`a repeat answered ${again.status}: ${second}, and first ${first}`);
    }
    const at = `call ${done.calls} of seed ${options.seed}, ${call.name} ${call.sample.path} ${textOfBody(call.sample)}`;
    done.failures.push(...failures.map((failure) => `${at}: ${failure}`));
  }
  return done;
}

/** The number of calls per user. */
const callsOfOne = 100;

type World = { caller: Caller; ids: string[]; serviceToken: string };

async function newWorld(app: TestApp): Promise<World> {
  // Its heartbeat would become stale during a long run.
  await pretendWorker(app);
  const caller = await newCaller(app);
  const ids = [await newRun(app, caller), caller.sessionId, caller.userId, '2026-10', 'magic'];
  return { caller, ids, serviceToken: (await issueToken(app)).secret };
}

type Call = {
  name: string;
  endpoint: Endpoint;
  sample: Sample;
  /** Sends the credentials that the endpoint requires. */
  isKnown: boolean;
};

const all = Object.entries<Endpoint>(endpoints);

function drawCall(chance: Chance, { ids }: World): Call {
  const [name, endpoint] = pick(chance, all);
  const [, path = ''] = name.split(' ');
  const operation = operations.get(name);
  if (!operation) throw new Error(`${name} is not described`);
  const filled = path.replaceAll(/\{\w+\}/g, () =>
    encodeURIComponent(chance.of(0.7) ? pick(chance, ids) : text(chance).toWellFormed()),
  );
  const query = chance.of(0.9)
    ? drawn(querySchemaOf(operation), chance)
    : { surplus: text(chance) };
  const search = queryOf(query);
  const schema = bodySchemaOf(operation);
  const value = schema ? drawn(schema, chance) : chance.of(0.8) ? undefined : wild(chance, 3);
  const takesBody = !name.startsWith('GET ') && value !== undefined;
  const headers = chance.of(0.8) ? { 'idempotency-key': randomOf(chance) } : {};
  return {
    name,
    endpoint,
    isKnown: chance.of(0.8),
    sample: {
      path: `${filled}${search}`,
      headers,
      ...(takesBody ? bytesOf(value) : {}),
    },
  };
}

/** Half of the values are valid; most others break one rule, and some are arbitrary. */
function drawn(schema: JsonSchema, chance: Chance): unknown {
  const roll = chance.below(10);
  if (roll < 5) return valueOf(schema, chance);
  return roll < 8 ? pick(chance, nearMisses(schema)).make(chance) : wild(chance, 4);
}

function wild(chance: Chance, depth: number): unknown {
  const kind = chance.below(depth > 0 ? 7 : 5);
  if (kind === 0) return null;
  if (kind === 1) return chance.of(0.5);
  if (kind === 2) return pick(chance, [0, -1, 1.5, 2 ** 53, 1e308, chance.below(1_000)]);
  if (kind < 5) return text(chance);
  const parts = Array.from({ length: chance.below(4) }, () => wild(chance, depth - 1));
  if (kind === 5) return parts;
  return Object.fromEntries(parts.map((part) => [text(chance), part]));
}

function text(chance: Chance): string {
  const odd = ['', '\0', '\uD800', '../../etc', "' or 1=1 --", '${7*7}', '__proto__', '%00', '𝕏'];
  return chance.of(0.4) ? pick(chance, odd) : `${randomOf(chance)}${pick(chance, odd)}`;
}

function randomOf(chance: Chance): string {
  const part = () => chance.below(2 ** 31).toString(36);
  return `fz${part()}${part()}${part()}`;
}

function queryOf(query: unknown): string {
  if (typeof query !== 'object' || query === null) return '';
  const pairs = Object.entries(query).map(([name, value]): [string, string] => [
    name,
    textOf(value),
  ]);
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function bytesOf(value: unknown): Pick<Sample, 'raw'> {
  return { raw: Uint8Array.from(Buffer.from(JSON.stringify(value))) };
}

function textOfBody({ raw }: Sample): string {
  return Buffer.from(raw ?? []).toString();
}

async function made(app: TestApp, call: Call, world: World): Promise<Response> {
  const { caller, serviceToken } = world;
  const { access } = call.endpoint;
  const own =
    access === 'service'
      ? { authorization: `Bearer ${serviceToken}` }
      : await credentials(app, access, caller);
  const { raw, headers = {}, path } = call.sample;
  const type = raw === undefined ? {} : { 'content-type': 'application/json' };
  const sample = { path, ...(raw === undefined ? {} : { raw }), headers: { ...type, ...headers } };
  const [method = ''] = call.name.split(' ');
  return send(app, method, sample, call.isKnown ? own : {});
}

async function wrongWith(call: Call, response: Response): Promise<string[]> {
  const { name, endpoint, sample, isKnown } = call;
  const wrong: string[] = [];
  if (response.status >= 500 && name !== 'GET /ready') wrong.push(`a fault, ${response.status}`);
  const needs = endpoint.access === 'person' || endpoint.access === 'service';
  if (response.ok && needs && !isKnown) wrong.push(`${response.status} without a token`);
  const [method = ''] = name.split(' ');
  try {
    if (response.body !== null) await expectDescribed(method, sample.path, response);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    wrong.push(error.message);
  }
  if (response.status >= 400) {
    const said = await response.text();
    const sent = `${sample.path} ${textOfBody(sample)}`;
    const texts = sent.match(/fz[\da-z]{12,}/g) ?? [];
    if (texts.some((one) => said.includes(one))) wrong.push(`it says what was sent: ${said}`);
  }
  return wrong;
}

/** Fixed unless `FUZZ_SEED` is set, so that a failure in the gate always has a cause in the change. */
export function usualSeed(): number {
  return Number(process.env['FUZZ_SEED'] ?? 20_261_122);
}
