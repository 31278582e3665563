import * as v from 'valibot';
import { efforts } from './model.ts';
import type { Provider } from './model.ts';

/**
 * The contents of a file in `providers/`: a provider's address, its names, and its models with their
 * prices. `provider-list.ts` lists them.
 */
export type ProviderDefinition = {
  name: string;
  /** As people write it. */
  displayName: string;
  /**
   * Regular expressions for the names by which a reviewer would recognise its models: they are
   * removed from answers. `makers` matches the company, `models` the model's own names; the words of
   * display names are added automatically.
   */
  recognised: RecognisedNames;
  /** The variable that holds the key, to name it where a model is missing. */
  keyVariable: string;
  /** Where the sandbox serves this provider's wire format, below its own origin. */
  sandboxPath: string;
  loadSdk(): Promise<unknown>;
  connect(connection: ProviderConnection): Provider;
  models: readonly Omit<ModelEntry, 'provider'>[];
};

export type RecognisedNames = { makers: readonly string[]; models: readonly string[] };

/** `baseUrl` null means the provider's own address. */
export type ProviderConnection = {
  apiKey: string;
  baseUrl: string | null;
  /** Of a router: whether makers that keep or train on what they are sent may answer. */
  dataCollection?: 'deny' | 'allow';
};

// ── models and prices ───────────────────────────────────────────────────────────────────────────

const isoTime = v.pipe(v.string(), v.isoTimestamp(), v.endsWith('Z'));

/** A price is a whole number of ten-thousandths of a micro-dollar per token. */
export const unitsPerPrice = 10_000;

const price = v.pipe(
  v.number(),
  v.minValue(0),
  v.maxValue(1000),
  v.check(
    (value) => Math.abs(Math.round(value * unitsPerPrice) - value * unitsPerPrice) < 1e-6,
    'must have at most four decimals',
  ),
);

/** US dollars per million tokens in the provider's standard tier. */
const rates = {
  inputPerMTok: price,
  /** Null: no source names it, and cached input counts as input. */
  cachedInputPerMTok: v.nullable(price),
  /** Null: no source names it, and written input counts as input. */
  cacheWritePerMTok: v.nullable(price),
  /** Thinking is billed as output by every provider here. */
  outputPerMTok: price,
};

const priceRow = v.strictObject({
  /** Inclusive; null when no earlier price is known. */
  validFrom: v.nullable(isoTime),
  /** Exclusive; null when no end is announced. */
  validTo: v.nullable(isoTime),
  source: v.pipe(v.string(), v.url()),
  /** The day on which the price was read at its source. */
  readOn: v.pipe(v.string(), v.isoDate()),
  ...rates,
  /** Above this much input the whole request has these prices. */
  longContext: v.nullable(
    v.strictObject({ aboveInputTokens: v.pipe(v.number(), v.integer(), v.minValue(1)), ...rates }),
  ),
});

export const modelEntry = v.strictObject({
  id: v.pipe(
    v.string(),
    v.regex(/^[a-z0-9][a-z0-9.-]{1,79}$/),
    // An alias moves to another model, and its price with it.
    v.check((id) => !id.endsWith('-latest'), 'must be the id of one model, not an alias'),
  ),
  provider: v.string(),
  displayName: v.pipe(v.string(), v.minLength(1)),
  /** Seats of one family share their weight in every vote. */
  family: v.pipe(v.string(), v.minLength(1)),
  capabilities: v.strictObject({
    temperature: v.boolean(),
    /** Empty: the model has no such setting. */
    effortLevels: v.array(v.picklist(efforts)),
    jsonSchema: v.boolean(),
    contextTokens: v.pipe(v.number(), v.integer()),
    maxOutputTokens: v.pipe(v.number(), v.integer()),
  }),
  prices: v.pipe(
    v.array(priceRow),
    v.minLength(1),
    v.check(
      (rows) => isContiguous(rows),
      'must follow each other in time without a gap or an overlap',
    ),
  ),
  /** The provider's date of retirement; null when none is announced. */
  deprecatedAfter: v.nullable(isoTime),
});

export type ModelEntry = v.InferOutput<typeof modelEntry>;
export type PriceRow = v.InferOutput<typeof priceRow>;

/**
 * A row of prices that were read on the same day. Where sources disagree, the provider's own page
 * wins, then the higher figure. A promotion is a row of its own that ends.
 */
export function priceRowOf(
  given: Pick<PriceRow, 'inputPerMTok' | 'cachedInputPerMTok' | 'outputPerMTok' | 'source'> &
    Partial<PriceRow>,
): PriceRow {
  return {
    validFrom: null,
    validTo: null,
    readOn: '2026-11-20',
    cacheWritePerMTok: null,
    longContext: null,
    ...given,
  };
}

function isContiguous(rows: readonly Pick<PriceRow, 'validFrom' | 'validTo'>[]): boolean {
  return rows.every((row, index) => {
    const next = rows[index + 1];
    const runsForward =
      row.validFrom === null || row.validTo === null || row.validFrom < row.validTo;
    return (
      runsForward &&
      (next === undefined || (row.validTo !== null && row.validTo === next.validFrom))
    );
  });
}
