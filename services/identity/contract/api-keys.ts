import * as v from 'valibot';
import { keyScopes, Time, visible } from '#services/platform/contract.ts';

/** Keys with which a user's own programs call the API. */

export const apiKeyLimits = {
  /** Live keys of one user. */
  live: 20,
  name: 80,
  monthlyCap: 1_000_000,
} as const;

const Scope = v.pipe(
  v.picklist(keyScopes, `Choose among ${keyScopes.join(', ')}`),
  v.description(
    '`read`: runs, recipes, and the live stream. `run`: create, start, refine, and cancel runs, check a question, read files, estimate; the replies include the run. `credits:read`: balance, history, analytics, and the balance in the live stream',
  ),
);

const capSentence = `Enter a whole number of credits from 1 to ${apiKeyLimits.monthlyCap.toLocaleString('en-US')}.`;

const MonthlyCap = v.pipe(
  v.number(capSentence),
  v.integer(capSentence),
  v.minValue(1, capSentence),
  v.maxValue(apiKeyLimits.monthlyCap, capSentence),
  v.description(
    'The most credits that runs of this key may use per UTC month. What a run returns is free again',
  ),
);

/** `POST /api-keys`. */
export const ApiKeyRequest = v.strictObject({
  name: v.pipe(
    v.string('Name the key, for example after the program that uses it.'),
    v.trim(),
    v.nonEmpty('Name the key, for example after the program that uses it.'),
    v.maxLength(apiKeyLimits.name, `The name can have up to ${apiKeyLimits.name} characters.`),
    visible,
    v.nonEmpty('Name the key, for example after the program that uses it.'),
  ),
  scopes: v.pipe(
    v.array(Scope, 'Choose at least one scope.'),
    v.minLength(1, 'Choose at least one scope.'),
    v.maxLength(keyScopes.length, 'Name each scope once.'),
    v.transform((all) => [...new Set(all)]),
  ),
  monthly_cap: MonthlyCap,
});
export type ApiKeyRequest = v.InferOutput<typeof ApiKeyRequest>;

const KeyId = v.pipe(v.string(), v.description("The key's id: `key_` and 26 characters"));

/** `data` of `POST /api-keys`. */
export const ApiKeyReply = v.object({
  id: KeyId,
  key: v.pipe(
    v.string(),
    v.description('Send it as `Authorization: Bearer …`. It is not stored and not shown again'),
  ),
});

/** A live key, in `GET /api-keys`. */
export const ApiKeyRow = v.object({
  id: KeyId,
  name: v.string(),
  prefix: v.pipe(v.string(), v.description('The first characters of the key')),
  scopes: v.array(Scope),
  monthly_cap: MonthlyCap,
  used_this_month: v.pipe(
    v.number(),
    v.description("Credits that this month's runs of the key hold or have used (UTC)"),
  ),
  created_at: Time,
  last_used_at: v.pipe(v.nullable(Time), v.description('To the minute; null if it was never used')),
});
export type ApiKeyRow = v.InferOutput<typeof ApiKeyRow>;
