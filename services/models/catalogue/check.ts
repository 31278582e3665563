import pLimit from 'p-limit';
import * as v from 'valibot';
import type { Catalogue } from '#services/models/catalogue.ts';
import { ModelFailure } from '#services/models/model.ts';
import type { FailureClass, ModelReply, Provider } from '#services/models/model.ts';
import { isFree } from '#services/models/offer.ts';
import type { Offer } from '#services/models/offer.ts';
import { failureOf } from '#services/models/transport/guarded-fetch.ts';
import type { Connected } from './connected.ts';
import type { ModelEntry } from './model-entry.ts';
import { rowAt, staleAfterDays } from './prices.ts';

/** What is wrong, and what the operator can do about it, with the variable, or the file's entry and field. */
export type Fault = { about: string; problem: string; remedy: string };

/** `listed` null: the list could not be read. */
export type CheckedProvider = { name: string; listed: number | null; answered: number };

/**
 * Checks each key by the provider's own list, each offered id in it, and each seated model by one
 * small structured call, which costs a fraction of a cent; then the prices of the seated models and
 * their retirements. No text of a provider gets into a fault.
 *
 * @param seated ids of the models that a strategy seats, and `wanted` those that it was made for
 * @param now milliseconds since the epoch
 */
export async function checkModels(asked: {
  catalogue: Catalogue;
  connected: readonly Connected[];
  offers: readonly Offer[];
  seated: ReadonlySet<string>;
  wanted: ReadonlySet<string>;
  now: number;
}): Promise<{ providers: CheckedProvider[]; faults: Fault[] }> {
  const { catalogue, seated, wanted, now } = asked;
  const real = asked.offers.filter((offer) => !offer.simulated);
  const checked = await Promise.all(
    asked.connected.map(async (connected) => {
      const own = real.filter((offer) => offer.provider === connected.name);
      return checkProvider(connected, own, seated);
    }),
  );
  return {
    providers: checked.map(({ provider }) => provider),
    faults: [
      ...checked.flatMap(({ faults }) => faults),
      ...[...seated.union(wanted)].flatMap((id) => {
        const entry = catalogue.modelOf(id);
        const offer = real.find(({ model }) => model === id);
        return entry === null ? unlistedFaults(offer) : entryFaults(entry, offer, now);
      }),
    ],
  };
}

async function checkProvider(
  connected: Connected,
  offers: readonly Offer[],
  seated: ReadonlySet<string>,
): Promise<{ provider: CheckedProvider; faults: Fault[] }> {
  const { name } = connected;
  let ids: ReadonlySet<string>;
  try {
    ids = new Set(await connected.listIds());
  } catch (error) {
    const { failure } = failureOf(name, error);
    return {
      provider: { name, listed: null, answered: 0 },
      faults: [providerFault(connected, failure)],
    };
  }
  const missing = offers.filter(({ remoteId }) => !ids.has(remoteId));
  const limit = pLimit(callsAtOnce);
  const called = offers.filter(({ model, remoteId }) => seated.has(model) && ids.has(remoteId));
  const answers = await Promise.all(
    called.map((offer) => limit(async () => ({ offer, failure: await tryCall(connected, offer) }))),
  );
  const failed = answers.flatMap(({ offer, failure }) => (failure ? [{ offer, failure }] : []));
  // What fails for the key fails for each model: it is said once.
  const forAll = failed.find(({ failure }) => isOfProvider(failure));
  return {
    provider: {
      name,
      listed: offers.length - missing.length,
      answered: called.length - failed.length,
    },
    faults: [
      ...missing.map((offer) => idFault(connected, offer)),
      ...(forAll === undefined ? [] : [providerFault(connected, forAll.failure)]),
      ...failed
        .filter(({ failure }) => !isOfProvider(failure))
        .map(({ offer, failure }) => callFault(connected, offer, failure)),
    ],
  };
}

const callsAtOnce = 4;

/** Null when the model answered by the schema. */
async function tryCall({ provider }: Connected, offer: Offer): Promise<FailureClass | null> {
  try {
    const reply = await replyOf(provider, offer);
    if (reply.finish === 'length') return 'truncated';
    return v.is(answer, JSON.parse(reply.text)) ? null : 'malformed';
  } catch (error) {
    if (error instanceof ModelFailure) return error.failure;
    if (error instanceof SyntaxError) return 'malformed';
    throw error;
  }
}

async function replyOf(provider: Provider, offer: Offer): Promise<ModelReply> {
  const parts = provider.call({
    model: offer.remoteId,
    system: 'You answer in JSON.',
    prompt: 'Answer with {"ok": true} and nothing else.',
    schema: { name: 'check', json: answerSchema },
    structuredOutput: offer.structuredOutput,
    // The least thinking that the model knows.
    effort: offer.efforts[0] ?? null,
    maxOutputTokens: Math.min(offer.maxOutputTokens, callTokens),
    numCtx: offer.provider === 'ollama' ? Math.min(offer.contextTokens, callTokens * 2) : null,
    timeoutMs: callMs,
    signal: new AbortController().signal,
  });
  for await (const part of parts) if (part.type === 'reply') return part.reply;
  throw new ModelFailure('connection', 'The stream ended without a reply');
}

const answer = v.object({ ok: v.boolean() });
const answerSchema = {
  type: 'object',
  properties: { ok: { type: 'boolean' } },
  required: ['ok'],
  additionalProperties: false,
};
/** Room for the thinking of a model that cannot be kept from it. */
const callTokens = 2048;
const callMs = 120_000;

// ── faults ──────────────────────────────────────────────────────────────────────────────────────

function isOfProvider(failure: FailureClass): boolean {
  return failure === 'auth' || failure === 'billing' || failure === 'connection';
}

function providerFault(connected: Connected, failure: FailureClass): Fault {
  const { displayName: about, keyVariable, urlVariable, host } = connected;
  switch (failure) {
    case 'auth':
      return { about, problem: 'the key was refused', remedy: `correct ${keyVariable}` };
    case 'billing':
      return {
        about,
        problem: 'the account has no credit left',
        remedy: `top it up, or set ${keyVariable} to the key of another one`,
      };
    case 'connection':
    case 'timeout':
    case 'silent':
      return {
        about,
        problem: `${host} cannot be reached`,
        remedy: urlVariable === null ? 'check the network' : `correct ${urlVariable}`,
      };
    case 'rate_limited':
    case 'unavailable':
    case 'conflict':
      return { about, problem: `${host} is busy (${failure})`, remedy: 'check again later' };
    default:
      return {
        about,
        problem: `${host} did not answer with a list of models`,
        remedy: urlVariable === null ? 'check again later' : `correct ${urlVariable}`,
      };
  }
}

function idFault(connected: Connected, { model, provider, remoteId }: Offer): Fault {
  return {
    about: model,
    problem: `${connected.displayName} does not list ${remoteId}`,
    remedy: placeOfId(connected, model, provider),
  };
}

/** Where the id stands by which the provider knows the model. */
function placeOfId(
  { urlVariable, keyVariable }: Connected,
  model: string,
  provider: string,
): string {
  return urlVariable === keyVariable
    ? `correct ${keyVariable}`
    : `correct models "${model}", remoteIds.${provider} in MODELS_FILE`;
}

function callFault(connected: Connected, offer: Offer, failure: FailureClass): Fault {
  const { model, provider } = offer;
  const at = `by ${connected.displayName}`;
  switch (failure) {
    case 'unknown_model':
      return {
        about: model,
        problem: `it is listed ${at}, but not served`,
        remedy: placeOfId(connected, model, provider),
      };
    case 'malformed':
    case 'truncated':
    case 'bad_request':
      return {
        about: model,
        problem: `its answer ${at} did not follow the schema (${failure})`,
        remedy: `correct models "${model}", structuredOutput or efforts in MODELS_FILE`,
      };
    case 'refusal':
      return {
        about: model,
        problem: `it refused the question ${at}`,
        remedy: `name another model in the strategies of MODELS_FILE`,
      };
    default:
      return {
        about: model,
        problem: `it did not answer ${at} (${failure})`,
        remedy: 'check again later',
      };
  }
}

const retiresSoonDays = 60;

function unlistedFaults(offer: Offer | undefined): Fault[] {
  if (!offer || offer.price !== null) return [];
  return [
    {
      about: offer.model,
      problem: 'its price is unknown, and so is its cost',
      remedy: `add it to models in MODELS_FILE, with prices and remoteIds.${offer.provider}`,
    },
  ];
}

function entryFaults(entry: ModelEntry, offer: Offer | undefined, now: number): Fault[] {
  const { id: about, prices, retiresAt } = entry;
  const row = rowAt(prices, new Date(now).toISOString());
  const faults: Fault[] = [];
  // A model on this machine costs nothing and is retired by no one else.
  if (offer && isFree(offer)) return faults;
  if (row === null) {
    faults.push({
      about,
      problem: 'no price is in force, so its cost is unknown',
      remedy: `add a row to models "${about}", prices in MODELS_FILE, or run models sync --write`,
    });
  } else if (daysBetween(Date.parse(row.readOn), now) > staleAfterDays) {
    faults.push({
      about,
      problem: `its price was read on ${row.readOn}`,
      remedy: `read ${row.source} and correct models "${about}", prices in MODELS_FILE, or run models sync --write`,
    });
  }
  if (retiresAt !== null && daysBetween(now, Date.parse(retiresAt)) < retiresSoonDays) {
    faults.push({
      about,
      problem: `it ${Date.parse(retiresAt) <= now ? 'was retired' : 'retires'} on ${retiresAt.slice(0, 10)}`,
      remedy: 'name another model in the strategies of MODELS_FILE',
    });
  }
  return faults;
}

function daysBetween(from: number, to: number): number {
  return (to - from) / 86_400_000;
}
