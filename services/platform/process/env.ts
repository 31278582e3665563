import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import * as v from 'valibot';
import { rateLimits as limitsByName } from '#services/platform/limits.ts';
import { localKeys, type LocalKeys } from './local-keys.ts';

/**
 * Every variable the processes read, parsed once at the edge. The schema checks single values, `readEnv`
 * adds the rules of a mode. No message repeats a value: a key in the wrong variable must not reach a
 * terminal or a log.
 */
export type Mode = 'local' | 'production';

export type CompatibleEndpoint = {
  name: string;
  baseUrl: string;
  /** Null for endpoints that ask for no key, such as a local server. */
  key: string | null;
  /** `remoteId` as the endpoint knows it; `model` is its id in the catalogue, or the same. */
  models: readonly { remoteId: string; model: string }[];
  /** Calls that it takes at a time; null leaves the usual number. */
  concurrency: number | null;
};

const personas = [
  'slow',
  '429-then-ok',
  '500',
  'truncated',
  'malformed',
  'refusal',
  'injection',
  'dead',
  'hang',
  'silent',
  'sloppy',
] as const;

/** `outage:12`: from the first call of its model, all providers are unreachable for 12 seconds. */
export type Persona = (typeof personas)[number] | `outage:${number}`;

/** `off`, or at most `limit` calls in `windowSeconds`. */
export type RateLimitRule = 'off' | { limit: number; windowSeconds: number };

export type Env = {
  mode: Mode;
  allowPublicSandbox: boolean;
  /** Opens /dev of a public sandbox; `npm start` creates one for its API processes. */
  devPagesToken: string | null;
  port: number;
  host: string;
  /** Origin without a trailing slash: links in emails, cookies, CORS. */
  publicUrl: string;
  /** Origins that may call the API from a browser besides our own. */
  corsOrigins: readonly string[];
  trustedProxyHops: number;
  /** Absolute path. */
  dataDir: string;
  /** Absolute path of the list of erasures that a restore applies. */
  erasureLog: string;
  /** Null means the embedded Postgres in `dataDir`. */
  databaseUrl: string | null;
  /** The owner's connection for migrate and rebuild; the same as `databaseUrl` when one role does both. */
  migrateDatabaseUrl: string | null;
  /** A role that migrations give the right to read; null for none. */
  auditorRole: string | null;
  productName: string;
  contactEmail: string | null;
  /** A script that pages load after consent; null for none. */
  analyticsUrl: string | null;
  /** The operator's pages elsewhere, for the footer. */
  socialLinks: readonly string[];
  /** Absolute path of the operator's catalogue of models; null for none. */
  modelsFile: string | null;
  /** Whether another model may take the seat of one that is not available. */
  substituteModels: boolean;
  /** Provider → its key, from every `<PROVIDER>_API_KEY`, so that a new provider needs no line here. */
  providerKeys: Readonly<Record<string, string>>;
  compatibleEndpoints: readonly CompatibleEndpoint[];
  /** Provider → another address than its own, such as a gateway's. */
  providerUrls: Readonly<Record<string, string>>;
  /** Whether makers that keep or train on what they are sent may answer by OpenRouter. */
  openrouterDataCollection: 'deny' | 'allow';
  /** Null means that no local Ollama is used. */
  ollamaUrl: string | null;
  /** The most tokens of context that Ollama loads a model with. */
  ollamaMaxContext: number;
  sandboxProfile: 'realistic' | 'instant';
  sandboxSeed: string;
  /** Model id → the fault that the sandbox simulates for it. */
  sandboxPersonas: Readonly<Record<string, Persona>>;
  /** Address of a running sandbox; `npm start` sets it for the processes it starts. */
  sandboxUrl: string | null;
  /** 32 bytes each. The first wraps new data keys, all of them open old ones. */
  dataKeys: readonly Buffer[];
  /** Ed25519 seeds of 32 bytes each. The first signs, all of them verify. */
  jwtKeys: readonly Buffer[];
  mailFrom: string;
  smtpUrl: string | null;
  requireEmailConfirmation: boolean;
  signupDisclosesAccounts: boolean;
  /** Null means no limit. */
  dailyCostLimitUsd: number | null;
  /** Tier → runs per month that bonus credits may pay for; −1 is unlimited. */
  monthlyLimits: Readonly<Record<string, number>>;
  /** Granted once per person by the onboarding; 0 is none. */
  onboardingBonusCredits: number;
  /** `off` switches every limit off; a record overrides single rows of the table of limits. */
  rateLimits: 'off' | Readonly<Record<string, RateLimitRule>>;
  /** Concurrent model calls of one worker process. */
  callSlots: number;
  /** Null means that nothing can be bought. */
  stripe: {
    secretKey: string;
    webhookSecrets: readonly string[];
    automaticTax: boolean;
    /** Where a fake listens (local mode); null is Stripe itself. */
    url: string | null;
  } | null;
  apiProcesses: number;
  workerProcesses: number;
  /** Of Node's pool in each process that is started; null leaves it to `supervise.ts`. */
  poolThreads: number | null;
  /** Where each process shows its metrics, on `host`; null means that none are kept. */
  metricsPort: number | null;
  /** Where traces are sent; null means that none are made. */
  traces: { url: string; headers: Readonly<Record<string, string>>; share: number } | null;
  logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
};

/**
 * Settings that cannot be used: one line each, naming its variable and never repeating its value.
 * The process prints the lines and ends with 2.
 */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly lines: readonly string[];

  constructor(lines: readonly string[], options?: ErrorOptions) {
    super(lines.join('\n'), options);
    this.lines = lines;
  }
}

/** Of the sandbox's Stripe alone. */
export const sandboxStripeKey = 'sk_test_sandbox';
export const sandboxWebhookSecret = 'whsec_sandbox';

/** Where the variable is unset: local mode shows the whole product, and its credits cost nothing. */
const localBonusCredits = 50;

/** Variables as they come from a shell or a file. */
export type EnvSource = Readonly<Record<string, string | undefined>>;

/**
 * Typed settings from variables. An empty value counts as unset. Pure: in local mode `dataKeys` and
 * `jwtKeys` may come out empty, which `loadEnv` fills from the data folder.
 *
 * @throws SettingsError
 */
export function readEnv(source: EnvSource): Env {
  const variables = withoutEmpty(source);
  const parsed = v.safeParse(envSchema, variables);
  const badKeys = keyLines(variables);
  if (!parsed.success) throw new SettingsError([...linesOf(parsed.issues), ...badKeys]);
  if (badKeys.length > 0) throw new SettingsError(badKeys);
  const values = parsed.output;
  const mode = modeOf(values);
  const env: Env = {
    mode,
    allowPublicSandbox: values.ALLOW_PUBLIC_SANDBOX,
    devPagesToken: values.DEV_PAGES_TOKEN ?? null,
    port: values.PORT,
    host: values.HOST,
    publicUrl: values.PUBLIC_URL ?? `http://${hostInUrl(values.HOST)}:${values.PORT}`,
    corsOrigins: values.CORS_ORIGINS,
    trustedProxyHops: values.TRUSTED_PROXY_HOPS,
    dataDir: resolve(values.DATA_DIR),
    erasureLog: resolve(values.ERASURE_LOG ?? join(values.DATA_DIR, 'erasures.ndjson')),
    databaseUrl: values.DATABASE_URL ?? null,
    migrateDatabaseUrl: values.MIGRATE_DATABASE_URL ?? values.DATABASE_URL ?? null,
    auditorRole: values.AUDITOR_ROLE ?? null,
    productName: values.PRODUCT_NAME,
    contactEmail: values.CONTACT_EMAIL ?? null,
    analyticsUrl: values.ANALYTICS_URL ?? null,
    socialLinks: values.SOCIAL_LINKS,
    substituteModels: values.SUBSTITUTE_MODELS,
    modelsFile: values.MODELS_FILE === undefined ? null : resolve(values.MODELS_FILE),
    providerKeys: providerKeys(variables),
    compatibleEndpoints: values.OPENAI_COMPATIBLE_ENDPOINTS,
    providerUrls: providerUrls(values),
    openrouterDataCollection: values.OPENROUTER_DATA_COLLECTION,
    ollamaUrl: values.OLLAMA_URL ?? null,
    ollamaMaxContext: values.OLLAMA_MAX_CONTEXT,
    sandboxProfile: values.SANDBOX_PROFILE,
    sandboxSeed: values.SANDBOX_SEED,
    sandboxPersonas: values.SANDBOX_PERSONAS,
    sandboxUrl: values.SANDBOX_URL ?? null,
    dataKeys: values.DATA_KEY,
    jwtKeys: values.JWT_KEYS,
    mailFrom: values.MAIL_FROM ?? `${values.PRODUCT_NAME} <no-reply@localhost>`,
    smtpUrl: values.SMTP_URL ?? null,
    requireEmailConfirmation: values.REQUIRE_EMAIL_CONFIRMATION,
    signupDisclosesAccounts: values.SIGNUP_DISCLOSES_ACCOUNTS,
    dailyCostLimitUsd: values.DAILY_COST_LIMIT_USD ?? null,
    monthlyLimits: values.MONTHLY_LIMITS,
    onboardingBonusCredits:
      values.ONBOARDING_BONUS_CREDITS ?? (mode === 'local' ? localBonusCredits : 0),
    rateLimits: values.RATE_LIMITS,
    callSlots: values.CALL_SLOTS,
    stripe: stripeOf(values, mode),
    apiProcesses: values.API_PROCESSES,
    workerProcesses: values.WORKER_PROCESSES,
    poolThreads: values.UV_THREADPOOL_SIZE ?? null,
    metricsPort: values.METRICS_PORT ?? null,
    traces: tracesOf(values),
    logLevel: values.LOG_LEVEL,
  };
  const broken = [
    ...(mode === 'production' ? productionLines(values) : localLines(env)),
    ...pairLines(values),
  ];
  if (broken.length > 0) throw new SettingsError(broken);
  return env;
}

/**
 * The settings of this process: its variables, over those of a `.env` file in `directory`, and in
 * local mode the keys of the data folder, which are created when they are missing.
 *
 * @throws SettingsError
 */
export function loadEnv(directory: string = process.cwd()): Env {
  const env = readEnv({ ...fileVariables(directory), ...process.env });
  if (env.mode === 'production') return env;
  if (env.dataKeys.length > 0 && env.jwtKeys.length > 0) return env;
  const keys = keysIn(env.dataDir);
  return {
    ...env,
    dataKeys: env.dataKeys.length > 0 ? env.dataKeys : keys.data,
    jwtKeys: env.jwtKeys.length > 0 ? env.jwtKeys : keys.jwt,
  };
}

/**
 * What an auditor's process needs, which may have no other setting. `databaseUrl` is null also for a value
 * that `loadEnv` refuses.
 */
export function readAlone(directory: string = process.cwd()): {
  databaseUrl: string | null;
  productName: string;
} {
  const variables = withoutEmpty({ ...fileVariables(directory), ...process.env });
  const url = variables['DATABASE_URL'];
  const productName = v.safeParse(envSchema.entries.PRODUCT_NAME, variables['PRODUCT_NAME']);
  return {
    databaseUrl: v.is(postgresUrl, url) ? url : null,
    productName: productName.success ? productName.output : '',
  };
}

/** The database of a process that cannot start one itself. @throws SettingsError */
export function databaseUrlOf(env: Env): string {
  if (env.databaseUrl === null) throw new SettingsError(['DATABASE_URL must be set']);
  return env.databaseUrl;
}

/** Without `<PROVIDER>_API_KEY`. A test compares them with `.env.example`. */
export function knownVariables(): readonly string[] {
  return Object.keys(envSchema.entries);
}

// --- single values ---

const oneOf = <const T extends readonly string[]>(allowed: T) =>
  v.picklist(allowed, `must be one of ${allowed.join(', ')}`);

const boolean = (otherwise: boolean) =>
  v.pipe(
    v.optional(
      v.picklist(['true', 'false'], 'must be true or false'),
      otherwise ? 'true' : 'false',
    ),
    v.transform((text) => text === 'true'),
  );

const wholeNumber = (from: number, to: number) =>
  v.pipe(
    v.string(),
    v.regex(/^-?\d{1,9}$/, `must be a whole number from ${from} to ${to}`),
    v.transform(Number),
    v.minValue(from, `must be a whole number from ${from} to ${to}`),
    v.maxValue(to, `must be a whole number from ${from} to ${to}`),
  );

const urlWith = (protocols: readonly string[], example: string) =>
  v.pipe(
    v.string(),
    v.check(
      (text) => URL.canParse(text) && protocols.includes(new URL(text).protocol),
      `must be an address such as ${example}`,
    ),
  );

const originUrl = v.pipe(
  v.string(),
  v.check(isOrigin, 'must be an origin such as https://example.com, without a path'),
  v.transform((text) => new URL(text).origin),
);

/** `fetch` refuses such an address, and its error quotes the password. */
const loginMessage = 'must not contain a user name or password';

const webUrl = (example: string) =>
  v.pipe(
    urlWith(['http:', 'https:'], example),
    v.check((text) => !hasLogin(text), loginMessage),
    v.transform((text) => text.replace(/\/+$/, '')),
  );

/** Of a page or script elsewhere; written as it is into pages and the content policy. */
const secureUrl = (example: string) =>
  v.pipe(
    urlWith(['https:'], example),
    v.check((text) => !hasLogin(text), loginMessage),
    v.regex(/^[^\s"'<>;,]+$/, `must be an address such as ${example}`),
  );

const postgresUrl = urlWith(
  ['postgres:', 'postgresql:'],
  'postgres://user:password@host:5432/database',
);

const email = v.pipe(
  v.string(),
  v.email('must be an email address'),
  v.maxLength(254, 'must be an email address'),
);

const secretMessage = 'must be visible ASCII characters without spaces';

const secret = v.pipe(v.string(), v.regex(/^[\x21-\x7e]+$/, secretMessage));

/** Comma-separated text, trimmed, without empty parts. */
const commaSeparated = v.pipe(
  v.optional(v.string(), ''),
  v.transform((text) => partsOf(text, ',')),
);

const keys32 = v.pipe(
  commaSeparated,
  v.check(
    (parts) => parts.every(isKey32),
    'must be 32 bytes in base64 (openssl rand -base64 32), or several separated by commas',
  ),
  v.transform((parts) => parts.map((part) => Buffer.from(part, 'base64'))),
);

const origins = v.pipe(commaSeparated, v.array(originUrl));

/** `name|baseUrl|key|model,id=model;…`; the key may be left empty. */
const compatibleEndpoints = v.pipe(
  v.optional(v.string(), ''),
  v.rawTransform(({ dataset, addIssue, NEVER }): CompatibleEndpoint[] => {
    const endpoints = partsOf(dataset.value, ';').map(endpointOf);
    const isRead = endpoints.every((endpoint) => endpoint !== null);
    if (isRead && !endpoints.some(({ baseUrl }) => hasLogin(baseUrl))) return endpoints;
    addIssue({
      message: isRead
        ? loginMessage
        : 'must be name|baseUrl|key|model,id=catalogue-id|calls at once (1 to 32), with endpoints separated by ;',
    });
    return NEVER;
  }),
);

const persona = v.custom<Persona>(
  (text) =>
    personas.some((each) => each === text) ||
    (typeof text === 'string' && /^outage:\d{1,4}$/.test(text)),
  `must be one of ${personas.join(', ')}, outage:<seconds>`,
);

const sandboxPersonas = v.pipe(
  pairs('=', 'must be model-id=persona, separated by commas; *=persona means all models'),
  v.record(v.string(), persona),
);

const monthlyLimits = v.pipe(
  pairs(
    ':',
    'must be tier:runs, separated by commas, such as free:5,pro:50',
    'free:5,pro:50,scale:999',
  ),
  v.record(v.string(), wholeNumber(-1, 999_999)),
);

/** `off`, or `name=off` and `name=<calls>/<s|m|h|d>` with commas. */
const rateLimits = v.pipe(
  v.optional(v.string(), ''),
  v.rawTransform(({ dataset, addIssue, NEVER }): Env['rateLimits'] => {
    if (dataset.value === 'off') return 'off';
    const rules: Record<string, RateLimitRule> = {};
    for (const part of partsOf(dataset.value, ',')) {
      const match = /^([a-z][a-z-]*)=(?:(off)|(\d{1,7})\/([smhd]))$/.exec(part);
      if (match === null) {
        addIssue({
          message: 'must be off, or name=off and name=100/h separated by commas (s, m, h, d)',
        });
        return NEVER;
      }
      const [, name = '', off, calls = '', unit = ''] = match;
      if (!Object.hasOwn(limitsByName, name)) {
        addIssue({
          message: `names an unknown limit. Known limits: ${Object.keys(limitsByName).join(', ')}`,
        });
        return NEVER;
      }
      rules[name] =
        off === 'off' ? 'off' : { limit: Number(calls), windowSeconds: secondsOf[unit] ?? 1 };
    }
    return rules;
  }),
);

/** `name=value` with commas, values percent-encoded, as OpenTelemetry has it. */
const otlpHeaders = v.pipe(
  commaSeparated,
  v.rawTransform(({ dataset, addIssue, NEVER }): Record<string, string> => {
    const headers = dataset.value.map((part) => /^([\w-]+)=([\x21-\x7e ]+)$/.exec(part));
    try {
      return Object.fromEntries(
        headers.map((match) => [match![1]!.toLowerCase(), decodeURIComponent(match![2]!)]),
      );
    } catch {
      addIssue({ message: 'must be name=value, separated by commas, with values percent-encoded' });
      return NEVER;
    }
  }),
);

const secondsOf: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

const envSchema = v.object({
  MODE: v.optional(oneOf(['local', 'production'])),
  NODE_ENV: v.optional(v.string()),
  ALLOW_PUBLIC_SANDBOX: boolean(false),
  DEV_PAGES_TOKEN: v.optional(
    v.pipe(v.string(), v.regex(/^[\w-]{32,128}$/, 'must be 32 to 128 letters, digits, - or _')),
  ),
  PORT: v.optional(wholeNumber(0, 65_535), '3000'),
  HOST: v.optional(v.string(), '127.0.0.1'),
  PUBLIC_URL: v.optional(originUrl),
  CORS_ORIGINS: origins,
  TRUSTED_PROXY_HOPS: v.optional(wholeNumber(0, 10), '0'),
  DATA_DIR: v.optional(v.string(), '.data'),
  ERASURE_LOG: v.optional(v.string()),
  DATABASE_URL: v.optional(postgresUrl),
  MIGRATE_DATABASE_URL: v.optional(postgresUrl),
  AUDITOR_ROLE: v.optional(
    v.pipe(v.string(), v.regex(/^[a-z_][a-z0-9_]{0,62}$/, 'must be the name of a database role')),
  ),
  PRODUCT_NAME: v.optional(
    v.pipe(v.string(), v.maxLength(60, 'can have up to 60 characters')),
    'Sevenfold',
  ),
  CONTACT_EMAIL: v.optional(email),
  ANALYTICS_URL: v.optional(secureUrl('https://stats.example.com/script.js')),
  SOCIAL_LINKS: v.pipe(
    commaSeparated,
    v.maxLength(8, 'must have at most 8 addresses'),
    v.array(secureUrl('https://www.linkedin.com/company/example')),
  ),
  MODELS_FILE: v.optional(v.string()),
  SUBSTITUTE_MODELS: boolean(true),
  OPENAI_COMPATIBLE_ENDPOINTS: compatibleEndpoints,
  OPENAI_URL: v.optional(webUrl('https://api.openai.com/v1')),
  ANTHROPIC_URL: v.optional(webUrl('https://api.anthropic.com')),
  GOOGLE_URL: v.optional(webUrl('https://generativelanguage.googleapis.com')),
  MISTRAL_URL: v.optional(webUrl('https://api.mistral.ai')),
  OPENROUTER_URL: v.optional(webUrl('https://openrouter.ai/api/v1')),
  OPENROUTER_DATA_COLLECTION: v.optional(oneOf(['deny', 'allow']), 'deny'),
  OLLAMA_URL: v.optional(webUrl('http://127.0.0.1:11434')),
  OLLAMA_MAX_CONTEXT: v.optional(wholeNumber(4096, 1_048_576), '16384'),
  SANDBOX_PROFILE: v.optional(oneOf(['realistic', 'instant']), 'realistic'),
  SANDBOX_SEED: v.optional(
    v.pipe(v.string(), v.maxLength(100, 'can have up to 100 characters')),
    'sevenfold',
  ),
  SANDBOX_PERSONAS: sandboxPersonas,
  SANDBOX_URL: v.optional(originUrl),
  DATA_KEY: keys32,
  JWT_KEYS: keys32,
  MAIL_FROM: v.optional(
    v.pipe(
      v.string(),
      v.regex(
        /^(?:[^<>\r\n]+ <[^<>\s@]+@[^<>\s@]+>|[^<>\s@]+@[^<>\s@]+)$/,
        'must be an address such as Sevenfold <no-reply@example.com>',
      ),
    ),
  ),
  SMTP_URL: v.optional(urlWith(['smtp:', 'smtps:'], 'smtps://user:password@mail.example.com:465')),
  REQUIRE_EMAIL_CONFIRMATION: boolean(true),
  SIGNUP_DISCLOSES_ACCOUNTS: boolean(true),
  DAILY_COST_LIMIT_USD: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^\d{1,7}(\.\d{1,2})?$/, 'must be dollars such as 25 or 25.50'),
      v.transform(Number),
    ),
  ),
  MONTHLY_LIMITS: monthlyLimits,
  ONBOARDING_BONUS_CREDITS: v.optional(wholeNumber(0, 10_000)),
  RATE_LIMITS: rateLimits,
  CALL_SLOTS: v.optional(wholeNumber(1, 1000), '128'),
  STRIPE_SECRET_KEY: v.optional(secret),
  STRIPE_WEBHOOK_SECRET: commaSeparated,
  STRIPE_AUTOMATIC_TAX: boolean(false),
  STRIPE_URL: v.optional(originUrl),
  API_PROCESSES: v.optional(wholeNumber(1, 64), '1'),
  WORKER_PROCESSES: v.optional(wholeNumber(1, 64), '1'),
  UV_THREADPOOL_SIZE: v.optional(wholeNumber(1, 1024)),
  METRICS_PORT: v.optional(wholeNumber(1, 65_535)),
  OTEL_EXPORTER_OTLP_ENDPOINT: v.optional(webUrl('http://127.0.0.1:4318')),
  OTEL_EXPORTER_OTLP_HEADERS: otlpHeaders,
  OTEL_TRACES_SAMPLER_ARG: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^(?:0(?:\.\d{1,6})?|1(?:\.0{1,6})?)$/, 'must be a number from 0 to 1'),
      v.transform(Number),
    ),
    '1',
  ),
  LOG_LEVEL: v.optional(
    oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    'info',
  ),
  TEST_POSTGRES: v.optional(oneOf(['embedded', 'testcontainers']), 'embedded'),
  CHROMIUM_PATH: v.optional(v.string()),
});

type Values = v.InferOutput<typeof envSchema>;

// --- rules of a mode ---

function modeOf(values: Values): Mode {
  const implied = values.NODE_ENV === 'production' ? 'production' : 'local';
  const mode = values.MODE ?? implied;
  if (mode === 'local' && implied === 'production') {
    throw new SettingsError(['MODE must not be local while NODE_ENV is production']);
  }
  return mode;
}

function productionLines(values: Values): string[] {
  const missing = {
    DATA_KEY: values.DATA_KEY.length === 0,
    JWT_KEYS: values.JWT_KEYS.length === 0,
    MAIL_FROM: values.MAIL_FROM === undefined,
    CONTACT_EMAIL: values.CONTACT_EMAIL === undefined,
    PUBLIC_URL: values.PUBLIC_URL === undefined,
    // A restored backup would bring back people whose erasure was confirmed.
    ERASURE_LOG: values.ERASURE_LOG === undefined,
  };
  const lines = Object.entries(missing).flatMap(([name, isMissing]) =>
    isMissing ? [`${name} must be set in production mode`] : [],
  );
  // Cookies without Secure exist on loopback only, so any other address has to be https.
  if (values.PUBLIC_URL?.startsWith('http:') && !isLoopback(new URL(values.PUBLIC_URL).hostname)) {
    lines.push('PUBLIC_URL must be https in production mode, unless it is a loopback address');
  }
  if (values.SANDBOX_URL !== undefined) {
    lines.push('SANDBOX_URL must not be set in production mode');
  }
  // A fake would get the key, and could report payments that were never made.
  if (values.STRIPE_URL !== undefined) {
    lines.push('STRIPE_URL must not be set in production mode');
  }
  return lines;
}

/** An own key means Stripe itself, also in local mode: it is never sent to a fake. */
function stripeOf(values: Values, mode: Mode): Env['stripe'] {
  const automaticTax = values.STRIPE_AUTOMATIC_TAX;
  if (values.STRIPE_SECRET_KEY !== undefined)
    return {
      secretKey: values.STRIPE_SECRET_KEY,
      webhookSecrets: values.STRIPE_WEBHOOK_SECRET,
      automaticTax,
      url: null,
    };
  if (mode === 'production' || values.STRIPE_URL === undefined) return null;
  return {
    secretKey: sandboxStripeKey,
    webhookSecrets: [sandboxWebhookSecret],
    automaticTax,
    url: values.STRIPE_URL,
  };
}

function tracesOf(values: Values): Env['traces'] {
  const origin = values.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (origin === undefined) return null;
  return {
    url: `${origin}/v1/traces`,
    headers: values.OTEL_EXPORTER_OTLP_HEADERS,
    share: values.OTEL_TRACES_SAMPLER_ARG,
  };
}

/** A sandbox with a known demo account must not face a network by accident. */
function localLines(env: Env): string[] {
  if (env.allowPublicSandbox) return [];
  const way = 'in local mode, unless ALLOW_PUBLIC_SANDBOX is true';
  return [
    ...(isLoopback(env.host) ? [] : [`HOST must be a loopback address ${way}`]),
    ...(env.publicUrl.startsWith('https:') ? [`PUBLIC_URL must not be https ${way}`] : []),
  ];
}

function pairLines(values: Values): string[] {
  const lines: string[] = [];
  if (values.MIGRATE_DATABASE_URL !== undefined && values.DATABASE_URL === undefined) {
    lines.push('DATABASE_URL must be set when MIGRATE_DATABASE_URL is');
  }
  if (values.AUDITOR_ROLE !== undefined && values.DATABASE_URL === undefined) {
    lines.push('DATABASE_URL must be set when AUDITOR_ROLE is');
  }
  if (values.STRIPE_SECRET_KEY !== undefined && values.STRIPE_WEBHOOK_SECRET.length === 0) {
    lines.push('STRIPE_WEBHOOK_SECRET must be set when STRIPE_SECRET_KEY is');
  }
  // Everyone who reaches PORT would read the metrics.
  if (values.METRICS_PORT !== undefined && values.METRICS_PORT === values.PORT) {
    lines.push('METRICS_PORT must not be PORT');
  }
  return lines;
}

// --- small parts ---

function keysIn(dataDir: string): LocalKeys {
  try {
    return localKeys(dataDir);
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown';
    throw new SettingsError([`DATA_DIR: ${reason}`], { cause: error });
  }
}

function providerKeys(variables: Readonly<Record<string, string>>): Record<string, string> {
  const keys = Object.entries(variables).flatMap(([name, value]) => {
    const provider = /^([A-Z][A-Z0-9]*)_API_KEY$/.exec(name)?.[1];
    return provider === undefined ? [] : [[provider.toLowerCase(), value] as const];
  });
  return Object.fromEntries(keys);
}

function providerUrls(values: Values): Record<string, string> {
  const urls = {
    openai: values.OPENAI_URL,
    anthropic: values.ANTHROPIC_URL,
    google: values.GOOGLE_URL,
    mistral: values.MISTRAL_URL,
    openrouter: values.OPENROUTER_URL,
  };
  return Object.fromEntries(
    Object.entries(urls).flatMap(([name, url]) => (url === undefined ? [] : [[name, url]])),
  );
}

function keyLines(variables: Readonly<Record<string, string>>): string[] {
  return Object.entries(providerKeys(variables)).flatMap(([provider, value]) =>
    v.is(secret, value) ? [] : [`${provider.toUpperCase()}_API_KEY ${secretMessage}`],
  );
}

function linesOf(issues: readonly v.BaseIssue<unknown>[]): string[] {
  const lines = issues.map((issue) => `${String(issue.path?.[0]?.key)} ${issue.message}`);
  return [...new Set(lines)];
}

function withoutEmpty(source: EnvSource): Record<string, string> {
  const entries = Object.entries(source).flatMap(([name, value]) => {
    const trimmed = value?.trim() ?? '';
    return trimmed === '' ? [] : [[name, trimmed] as const];
  });
  return Object.fromEntries(entries);
}

function fileVariables(directory: string): EnvSource {
  const path = join(directory, '.env');
  return existsSync(path) ? parseEnv(readFileSync(path, 'utf8')) : {};
}

function partsOf(text: string, separator: string): string[] {
  return text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** `key<separator>value` with commas, as a record. */
function pairs(separator: '=' | ':', message: string, otherwise = '') {
  return v.pipe(
    v.optional(v.string(), otherwise),
    v.rawTransform(({ dataset, addIssue, NEVER }): Record<string, string> => {
      const record: Record<string, string> = {};
      for (const part of partsOf(dataset.value, ',')) {
        const at = part.lastIndexOf(separator);
        if (at < 1 || at === part.length - 1) {
          addIssue({ message });
          return NEVER;
        }
        record[part.slice(0, at)] = part.slice(at + 1);
      }
      return record;
    }),
  );
}

function endpointOf(text: string): CompatibleEndpoint | null {
  const [name = '', baseUrl = '', key = '', modelList = '', atOnce = '', ...rest] = text
    .split('|')
    .map((part) => part.trim());
  const models = partsOf(modelList, ',').map(listedModel);
  const fine =
    rest.length === 0 &&
    /^(?:|[1-9]|[12]\d|3[0-2])$/.test(atOnce) &&
    /^[a-z][a-z0-9-]{0,39}$/.test(name) &&
    // What every object has: figures are kept by name.
    !(name in {}) &&
    URL.canParse(baseUrl) &&
    ['http:', 'https:'].includes(new URL(baseUrl).protocol) &&
    models.length > 0 &&
    models.every(({ remoteId, model }) => remoteId !== '' && model !== '');
  return fine
    ? {
        name,
        baseUrl: baseUrl.replace(/\/$/, ''),
        key: key === '' ? null : key,
        models,
        concurrency: atOnce === '' ? null : Number(atOnce),
      }
    : null;
}

/** `id` or `id=catalogue-id`. */
function listedModel(text: string): CompatibleEndpoint['models'][number] {
  const at = text.lastIndexOf('=');
  return at < 0
    ? { remoteId: text, model: text }
    : { remoteId: text.slice(0, at).trim(), model: text.slice(at + 1).trim() };
}

function hasLogin(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username !== '' || password !== '';
}

function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, origin } = new URL(text);
  const isWeb = protocol === 'http:' || protocol === 'https:';
  return isWeb && origin === text.toLowerCase().replace(/\/$/, '');
}

function isKey32(text: string): boolean {
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(text) && Buffer.from(text, 'base64').length === 32;
}

/** Whether an address is one of loopback. */
export function isOnThisMachine(url: string): boolean {
  return isLoopback(new URL(url).hostname);
}

function isLoopback(host: string): boolean {
  return (
    host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)
  );
}

function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
