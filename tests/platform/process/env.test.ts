import { globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { providerDefinitions } from '#services/models/provider-list.ts';
import {
  knownVariables,
  loadEnv,
  readEnv,
  sandboxStripeKey,
  sandboxWebhookSecret,
  SettingsError,
  type EnvSource,
} from '#services/platform/process/env.ts';

const key = Buffer.alloc(32, 7).toString('base64');
const otherKey = Buffer.alloc(32, 9).toString('base64');

const production: EnvSource = {
  MODE: 'production',
  DATA_KEY: key,
  JWT_KEYS: key,
  MAIL_FROM: 'Sevenfold <no-reply@example.com>',
  CONTACT_EMAIL: 'hello@example.com',
  PUBLIC_URL: 'https://example.com',
  ERASURE_LOG: '/var/lib/sevenfold/erasures.ndjson',
};

function linesOf(source: EnvSource): readonly string[] {
  try {
    readEnv(source);
  } catch (error) {
    if (error instanceof SettingsError) return error.lines;
    throw error;
  }
  return [];
}

describe('the settings', () => {
  test('local mode needs no variable', () => {
    expect(readEnv({})).toMatchObject({
      mode: 'local',
      host: '127.0.0.1',
      port: 3000,
      publicUrl: 'http://127.0.0.1:3000',
      databaseUrl: null,
      productName: 'Sevenfold',
      monthlyLimits: { free: 5, pro: 50, scale: 999 },
      rateLimits: {},
      callSlots: 128,
      apiProcesses: 1,
      poolThreads: null,
    });
  });

  test('an empty value counts as unset', () => {
    expect(readEnv({ PORT: '', DATABASE_URL: '  ', OPENAI_API_KEY: '' })).toEqual(readEnv({}));
  });

  test('the error names every bad variable in a line of its own and repeats no value', () => {
    const lines = linesOf({
      PORT: 'canary',
      DATABASE_URL: 'canary://canary',
      DATA_KEY: 'canary',
      RATE_LIMITS: 'canary=100',
      SANDBOX_PERSONAS: 'canary',
      OPENAI_COMPATIBLE_ENDPOINTS: 'canary|canary|canary',
      MONTHLY_LIMITS: 'free:canary',
      PUBLIC_URL: 'https://example.com/canary',
      MISTRAL_API_KEY: 'canary canary',
      LOG_LEVEL: 'canary',
      REQUIRE_EMAIL_CONFIRMATION: 'canary',
    });
    expect(lines.map((line) => line.replace(/ .*/, '')).toSorted()).toEqual([
      'DATABASE_URL',
      'DATA_KEY',
      'LOG_LEVEL',
      'MISTRAL_API_KEY',
      'MONTHLY_LIMITS',
      'OPENAI_COMPATIBLE_ENDPOINTS',
      'PORT',
      'PUBLIC_URL',
      'RATE_LIMITS',
      'REQUIRE_EMAIL_CONFIRMATION',
      'SANDBOX_PERSONAS',
    ]);
    expect(lines.join('\n')).not.toContain('canary');
  });

  test.each([
    ['PORT', '65536'],
    ['PORT', '-1'],
    ['PORT', '3000.5'],
    ['API_PROCESSES', '0'],
    ['UV_THREADPOOL_SIZE', '0'],
    ['DAILY_COST_LIMIT_USD', '12.345'],
    ['DATA_KEY', Buffer.alloc(31).toString('base64')],
    ['CORS_ORIGINS', 'https://example.com,ftp://example.com'],
    ['CONTACT_EMAIL', 'nobody'],
    ['MAIL_FROM', 'Sevenfold <no-reply@example.com>\r\nBcc: everyone@example.com'],
    ['SMTP_URL', 'https://example.com'],
    ['STRIPE_URL', 'http://127.0.0.1:4001/v1'],
  ])('the settings refuse %s=%j', (name, value) => {
    expect(linesOf({ [name]: value })).toEqual([
      expect.stringMatching(new RegExp(`^${name} must`)),
    ]);
  });

  test('an endpoint cannot be named like what every object has', () => {
    const lines = linesOf({ OPENAI_COMPATIBLE_ENDPOINTS: 'constructor|http://a.example/v1||m' });
    expect(lines).toEqual([expect.stringContaining('OPENAI_COMPATIBLE_ENDPOINTS must be name|')]);
  });

  test.each([
    ['OLLAMA_URL', 'http://canary:canary@127.0.0.1:11434'],
    ['OPENAI_URL', 'https://:canary@gateway.example.com/v1'],
    ['ANTHROPIC_URL', 'https://canary@gateway.example.com'],
    ['GOOGLE_URL', 'https://canary:canary@gateway.example.com'],
    ['MISTRAL_URL', 'https://canary:canary@gateway.example.com'],
    ['OPENROUTER_URL', 'https://canary:canary@gateway.example.com'],
    ['OPENAI_COMPATIBLE_ENDPOINTS', 'lab|http://canary:canary@127.0.0.1:1/v1||m;b|http://b/v1||m'],
  ])('the settings refuse a password in %s and repeat none of it', (name, value) => {
    expect(linesOf({ [name]: value })).toEqual([
      `${name} must not contain a user name or password`,
    ]);
  });

  test('the settings read lists and pairs', () => {
    const env = readEnv({
      CORS_ORIGINS: 'https://a.example, https://b.example:8443/',
      DATA_KEY: `${key},${otherKey}`,
      MONTHLY_LIMITS: 'free:-1,team:20',
      RATE_LIMITS: 'signup=1000/h,runs=off',
      SANDBOX_PERSONAS: 'gpt-5.2=slow,some/model=hang,*=outage:12',
      OPENAI_COMPATIBLE_ENDPOINTS:
        'lmstudio|http://127.0.0.1:1234/v1/||llama3.3,qwen3 = qwen-3; router|https://r.example/v1|k-1|a/b|16',
      OLLAMA_URL: 'http://127.0.0.1:11434/',
      STRIPE_SECRET_KEY: 'sk_test',
      STRIPE_WEBHOOK_SECRET: 'whsec_1,whsec_2',
      ANTHROPIC_API_KEY: 'key',
    });
    expect(env.corsOrigins).toEqual(['https://a.example', 'https://b.example:8443']);
    expect(env.dataKeys.map((bytes) => bytes[0])).toEqual([7, 9]);
    expect(env.monthlyLimits).toEqual({ free: -1, team: 20 });
    expect(env.rateLimits).toEqual({ signup: { limit: 1000, windowSeconds: 3600 }, runs: 'off' });
    expect(env.sandboxPersonas).toEqual({
      'gpt-5.2': 'slow',
      'some/model': 'hang',
      '*': 'outage:12',
    });
    expect(env.compatibleEndpoints).toEqual([
      {
        name: 'lmstudio',
        baseUrl: 'http://127.0.0.1:1234/v1',
        key: null,
        models: [
          { remoteId: 'llama3.3', model: 'llama3.3' },
          { remoteId: 'qwen3', model: 'qwen-3' },
        ],
        concurrency: null,
      },
      {
        name: 'router',
        baseUrl: 'https://r.example/v1',
        key: 'k-1',
        models: [{ remoteId: 'a/b', model: 'a/b' }],
        concurrency: 16,
      },
    ]);
    expect(env.ollamaUrl).toBe('http://127.0.0.1:11434');
    expect(env.stripe?.webhookSecrets).toEqual(['whsec_1', 'whsec_2']);
    expect(env.providerKeys).toEqual({ anthropic: 'key' });
    expect(readEnv({ RATE_LIMITS: 'off' }).rateLimits).toBe('off');
  });

  test('the settings require both halves of a pair', () => {
    expect(linesOf({ MIGRATE_DATABASE_URL: 'postgres://owner@db/app' })).toEqual([
      'DATABASE_URL must be set when MIGRATE_DATABASE_URL is',
    ]);
    expect(linesOf({ STRIPE_SECRET_KEY: 'sk_live' })).toEqual([
      'STRIPE_WEBHOOK_SECRET must be set when STRIPE_SECRET_KEY is',
    ]);
  });
});

describe('production mode', () => {
  test('production mode is implied by NODE_ENV', () => {
    const { MODE: _mode, ...rest } = production;
    expect(readEnv({ ...rest, NODE_ENV: 'production' }).mode).toBe('production');
    expect(linesOf({ MODE: 'local', NODE_ENV: 'production' })).toEqual([
      'MODE must not be local while NODE_ENV is production',
    ]);
  });

  test('production mode names each missing variable', () => {
    expect(linesOf({ MODE: 'production' })).toEqual([
      'DATA_KEY must be set in production mode',
      'JWT_KEYS must be set in production mode',
      'MAIL_FROM must be set in production mode',
      'CONTACT_EMAIL must be set in production mode',
      'PUBLIC_URL must be set in production mode',
      'ERASURE_LOG must be set in production mode',
    ]);
    expect(linesOf(production)).toEqual([]);
  });

  test('production mode may listen on any network, over https', () => {
    expect(linesOf({ ...production, HOST: '0.0.0.0' })).toEqual([]);
    expect(linesOf({ ...production, PUBLIC_URL: 'http://127.0.0.1:8080' })).toEqual([]);
    expect(linesOf({ ...production, PUBLIC_URL: 'http://example.com' })).toEqual([
      'PUBLIC_URL must be https in production mode, unless it is a loopback address',
    ]);
  });

  test('production mode has no sandbox', () => {
    expect(linesOf({ ...production, SANDBOX_URL: 'http://127.0.0.1:4000' })).toEqual([
      'SANDBOX_URL must not be set in production mode',
    ]);
    expect(linesOf({ ...production, STRIPE_URL: 'http://127.0.0.1:4001' })).toEqual([
      'STRIPE_URL must not be set in production mode',
    ]);
  });

  test('production mode sells nothing without a key', () => {
    expect(readEnv(production).stripe).toBe(null);
  });
});

describe('local mode', () => {
  test('local mode pays at the sandbox, where there is one, with keys that work nowhere else', () => {
    expect(readEnv({}).stripe).toBe(null);
    expect(readEnv({ STRIPE_URL: 'http://127.0.0.1:4001' }).stripe).toEqual({
      secretKey: sandboxStripeKey,
      webhookSecrets: [sandboxWebhookSecret],
      automaticTax: false,
      url: 'http://127.0.0.1:4001',
    });
  });

  test('a Stripe key of one’s own is used at Stripe and never sent to the sandbox', () => {
    const own = { STRIPE_SECRET_KEY: 'sk_test_own', STRIPE_WEBHOOK_SECRET: 'whsec_own' };
    expect(readEnv({ ...own, STRIPE_URL: 'http://127.0.0.1:4001' }).stripe).toMatchObject({
      secretKey: 'sk_test_own',
      url: null,
    });
  });

  test.each(['127.0.0.1', '127.8.0.1', '::1', 'localhost'])(
    'local mode may listen on %s',
    (host) => {
      expect(linesOf({ HOST: host })).toEqual([]);
    },
  );

  test('local mode does not listen on a network without ALLOW_PUBLIC_SANDBOX', () => {
    const open = { HOST: '0.0.0.0', PUBLIC_URL: 'https://demo.example' };
    expect(linesOf(open)).toEqual([
      'HOST must be a loopback address in local mode, unless ALLOW_PUBLIC_SANDBOX is true',
      'PUBLIC_URL must not be https in local mode, unless ALLOW_PUBLIC_SANDBOX is true',
    ]);
    expect(linesOf({ ...open, ALLOW_PUBLIC_SANDBOX: 'true' })).toEqual([]);
  });
});

test('.env.example lists every variable of the schema and of Docker Compose and every key of a provider, and no other', () => {
  const listed = Object.keys(parseEnv(readFileSync('.env.example', 'utf8')));
  const keys = providerDefinitions
    .map(({ keyVariable }) => keyVariable)
    .filter((name) => name.endsWith('_API_KEY'));
  const compose = readFileSync('docker-compose.yml', 'utf8').matchAll(/\$\{(\w+)/g);
  const used = [...compose].map(([, name = '']) => name);
  expect(listed.toSorted()).toEqual(
    [...new Set([...knownVariables(), ...keys, ...used])].toSorted(),
  );
  expect(new Set(listed).size).toBe(listed.length);
});

test('every setting is read somewhere', () => {
  const source = globSync('services/**/*.{ts,mjs}', {
    exclude: ['services/platform/process/env.ts'],
  })
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
  const unread = Object.keys(readEnv({})).filter(
    (name) => !new RegExp(`\\b${name}\\b`).test(source),
  );
  expect(unread).toEqual([]);
});

test('.env.example as it stands is a valid .env', () => {
  expect(linesOf(parseEnv(readFileSync('.env.example', 'utf8')))).toEqual([]);
});

describe('the settings of a process', () => {
  let folder = '';

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sevenfold-env-'));
    for (const name of [...knownVariables(), 'OPENAI_API_KEY']) vi.stubEnv(name, undefined);
    vi.stubEnv('DATA_DIR', join(folder, 'data'));
  });

  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true, force: true });
  });

  test('settings come from .env where the shell has none', () => {
    writeFileSync(join(folder, '.env'), 'PORT=4001\nPRODUCT_NAME="From a file"\n');
    vi.stubEnv('PORT', '4002');
    expect(loadEnv(folder)).toMatchObject({ port: 4002, productName: 'From a file' });
  });

  test('local mode creates its own keys once, readable by their owner alone', () => {
    const first = loadEnv(folder);
    expect(first.dataKeys).toHaveLength(1);
    expect(first.dataKeys[0]).toHaveLength(32);
    expect(loadEnv(folder)).toEqual(first);
    expect(statSync(join(folder, 'data/keys/data.key')).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'data/keys')).mode & 0o777).toBe(0o700);
  });

  test('given keys take precedence over created ones', () => {
    vi.stubEnv('DATA_KEY', key);
    expect(loadEnv(folder).dataKeys).toEqual([Buffer.alloc(32, 7)]);
  });

  test('the error names DATA_DIR when its folder cannot be created or a key in it is broken', () => {
    writeFileSync(join(folder, 'file'), '');
    vi.stubEnv('DATA_DIR', join(folder, 'file/data'));
    expect(() => loadEnv(folder)).toThrow(/^DATA_DIR: .*file/);
    vi.stubEnv('DATA_DIR', join(folder, 'data'));
    loadEnv(folder);
    writeFileSync(join(folder, 'data/keys/jwt.key'), 'too short');
    expect(() => loadEnv(folder)).toThrow(/^DATA_DIR: .*jwt\.key must hold 32 bytes/);
  });
});
