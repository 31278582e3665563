import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { knownVariables, readEnv, SettingsError } from '#services/platform/process/env.ts';
import { buildPages } from '#tests/web/support/site.ts';

const root = join(import.meta.dirname, '../..');

/** The patterns of keys, tokens and passwords. */
const secretShapes: Readonly<Record<string, RegExp>> = {
  'a private key': /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----/,
  'a key of a model provider': /\bsk-(?:ant-|proj-|live-)?[A-Za-z0-9_-]{24,}/,
  'a key of Google': /\bAIza[\w-]{35}\b/,
  'a key of Stripe': /\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}/,
  'a secret of a webhook': /\bwhsec_[A-Za-z0-9+/=]{24,}/,
  'a key of AWS': /\bAKIA[0-9A-Z]{16}\b/,
  'a token of GitHub': /\bgh[pousr]_[A-Za-z0-9]{36}/,
  'a token of npm': /\bnpm_[A-Za-z0-9]{36}/,
  'a token of Slack': /\bxox[abprs]-[A-Za-z0-9-]{10,}/,
  'a signed token': /\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}/,
  "a service's token": /\bsvct_[A-Za-z0-9_-]{43}\b/,
  'an address with a password':
    /\b(?:postgres(?:ql)?|smtps?|https?|redis|amqp):\/\/[\w%.-]+:(?!\$)[^\s@/'"`]{6,}@(?!localhost|127\.|0\.0\.0\.0|postgres\b|mail\b|host\b|[\w.-]*example\.com)/,
  '32 bytes in base64 as a value': /^[A-Z_]*(?:KEY|SECRET|TOKEN)S?=[A-Za-z0-9+/]{43}=$/m,
};

function shapesIn(text: string): string[] {
  return Object.entries(secretShapes).flatMap(([name, shape]) => {
    const found = shape.exec(text)?.[0];
    return found === undefined ? [] : [`${name}: ${found.slice(0, 12)}…`];
  });
}

describe('the repository', () => {
  test('the repository holds no secret', () => {
    const files = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' })
      .split('\0')
      .filter((file) => file !== '' && !binary.has(extname(file)));
    expect(files.length).toBeGreaterThan(300);
    const found = files.flatMap((file) =>
      shapesIn(contentOf(file)).map((shape) => `${file}: ${shape}`),
    );
    expect(found).toEqual([]);
  });

  test('the repository holds no file of settings or keys', () => {
    const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n');
    const named =
      /(?:^|\/)(?:\.env(?:\..+)?|.*\.(?:pem|key|p12|pfx|jks)|id_rsa.*|\.netrc|\.data\/.*)$/;
    expect(files.filter((file) => named.test(file))).toEqual(['.env.example']);
  });

  test('the repository holds no value of a secret variable', () => {
    const example = readFileSync(join(root, '.env.example'), 'utf8');
    const secret = example
      .split('\n')
      .filter((line) => /^[A-Z_]*(?:KEY|SECRET|PASSWORD|TOKEN|URL)S?=/.test(line));
    expect(secret.length).toBeGreaterThan(5);
    expect(secret.filter((line) => !line.endsWith('='))).toEqual([]);
  });
});

/** A deleted file that git still lists counts as empty. */
function contentOf(file: string): string {
  try {
    return readFileSync(join(root, file), 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}

const binary = new Set(['.png', '.jpg', '.webp', '.woff2', '.ico', '.gz', '.pdf']);

describe('the built pages', () => {
  let sent: { file: string; text: string }[];
  beforeAll(async () => {
    const dist = await buildPages();
    sent = readdirSync(dist, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(?:js|css|html|json|svg|txt)$/.test(file))
      .map((file) => ({ file, text: readFileSync(join(dist, file), 'utf8') }));
  }, 120_000);

  test('the built pages hold no secret', () => {
    expect(sent.length).toBeGreaterThan(20);
    expect(
      sent.flatMap(({ file, text }) => shapesIn(text).map((shape) => `${file}: ${shape}`)),
    ).toEqual([]);
  });

  test('the built pages hold no name of a server variable and no source map', () => {
    // These are shown, so the build puts their values in.
    const shown = new Set(['PRODUCT_NAME', 'CONTACT_EMAIL', 'NODE_ENV', 'MODE', 'HOST', 'PORT']);
    const hidden = knownVariables().filter((name) => !shown.has(name));
    const named = sent.flatMap(({ file, text }) =>
      hidden
        .filter((name) => new RegExp(`\\b${name}\\b`).test(text))
        .map((name) => `${file}: ${name}`),
    );
    expect(named).toEqual([]);
    const maps = sent.filter(({ text }) => /sourceMappingURL/.test(text)).map(({ file }) => file);
    expect(maps).toEqual([]);
  });

  test('the built pages hold nothing of the server: no driver, no query, no path of this machine', () => {
    const found = sent.flatMap(({ file, text }) =>
      [
        /\bpostgres(?:ql)?:\/\//,
        /\bprocess\.env\b(?!\.NODE_ENV)/,
        /argon2/i,
        /\bselect [\w, ]+ from \w+ where\b/,
        root,
      ]
        .filter((sign) => (typeof sign === 'string' ? text.includes(sign) : sign.test(text)))
        .map((sign) => `${file}: ${String(sign)}`),
    );
    expect(found).toEqual([]);
  });
});

test('the secret patterns match examples of each kind', () => {
  const planted = [
    ['-----BEGIN', 'PRIVATE KEY-----'].join(' '),
    `sk-ant-${'a'.repeat(30)}`,
    `sk_live_${'a'.repeat(24)}`,
    `postgres://owner:${'x'.repeat(8)}@db.internal/x`,
    `DATA_KEY=${'a'.repeat(43)}=`,
  ];
  for (const text of planted) expect(shapesIn(text)).toHaveLength(1);
});

describe('secrets in the environment', () => {
  test('production refuses to start while a secret is missing', () => {
    const linesOf = (): readonly string[] => {
      try {
        readEnv({ NODE_ENV: 'production' });
      } catch (error) {
        if (error instanceof SettingsError) return error.lines;
        throw error;
      }
      return [];
    };
    expect(linesOf()).toEqual([
      'DATA_KEY must be set in production mode',
      'JWT_KEYS must be set in production mode',
      'MAIL_FROM must be set in production mode',
      'CONTACT_EMAIL must be set in production mode',
      'PUBLIC_URL must be set in production mode',
      'ERASURE_LOG must be set in production mode',
    ]);
  });

  test.each([
    ['DATA_KEY', 'hunter2'],
    ['JWT_KEYS', `${'A'.repeat(43)}=,canary`],
    ['DATABASE_URL', 'mysql://canary:canary@db/x'],
    ['OPENAI_API_KEY', 'a key with canary spaces'],
    ['STRIPE_SECRET_KEY', 'canary key'],
    ['SMTP_URL', 'canary'],
  ])('an invalid value of %s is refused by name and not echoed', (name, value) => {
    expect(() => readEnv({ [name]: value })).toThrow(SettingsError);
    expect(() => readEnv({ [name]: value })).toThrow(new RegExp(`^${name} `));
    expect(() => readEnv({ [name]: value })).not.toThrow(/canary|hunter2/);
  });
});
