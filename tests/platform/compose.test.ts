import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { logSettings } from '#db/embedded/cluster.ts';
import { providerDefinitions } from '#services/models/provider-list.ts';
import { withNodeSettings } from '#services/platform/process/supervise.ts';

/** What docker-compose.yml and the Dockerfile promise, read from the files themselves. */
type Service = {
  image: string;
  build?: unknown;
  user?: string;
  logging?: { driver: string; options: Record<string, string> };
  healthcheck?: { test: string[]; interval: string; timeout: string; retries: number };
  stop_grace_period?: string;
  command?: string[];
  profiles?: string[];
  environment?: Record<string, string>;
  cap_drop?: string[];
  cap_add?: string[];
  security_opt?: string[];
  read_only?: boolean;
  tmpfs?: string[];
  mem_limit?: string;
  pids_limit?: number;
  networks?: string[];
  ports?: string[];
  volumes?: string[];
};
type Network = { internal?: boolean } | null;

const compose = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as {
  services: Record<string, Service>;
  networks?: Record<string, Network>;
  configs?: unknown;
};
const { services } = compose;
const networksOf = (name: string) => services[name]?.networks ?? ['default'];
const on = (network: string) =>
  Object.keys(services).filter((name) => networksOf(name).includes(network));

/** All that a process may do beyond its user's rights. */
const capabilities: Readonly<Record<string, string[]>> = {
  proxy: ['NET_BIND_SERVICE'],
};

/** What each image brings to check its health. */
const checkers: Readonly<Record<string, string>> = {
  sevenfold: 'node',
  postgres: 'pg_isready',
  caddy: 'wget',
  'axllent/mailpit': '/mailpit',
};

describe.each(Object.entries(services))('the service %s', (name, service) => {
  test('the service runs an image of one exact version', () => {
    // Versions of Postgres have two numbers, all others three.
    const exact = name === 'postgres' ? /:\d+\.\d+-\w+$/ : /:v?\d+\.\d+\.\d+(?:-[\w-]+)?$/;
    const isOurs = service.build !== undefined && service.image === 'sevenfold';
    expect(isOurs || exact.test(service.image)).toBe(true);
  });

  test('the service has only the privileges and the writable paths that it needs', () => {
    expect(service.cap_drop).toEqual(['ALL']);
    expect(service.cap_add ?? []).toEqual(capabilities[name] ?? []);
    expect(service.security_opt).toEqual(['no-new-privileges:true']);
    expect(service.read_only).toBe(true);
    expect(service.tmpfs).toContain('/tmp');
    expect(service.user).toMatch(/^(?:node|[1-9]\d*:[1-9]\d*)$/);
  });

  test('the service has limits of memory and processes', () => {
    expect(service.mem_limit).toMatch(/^\d+[mg]$/);
    expect(service.pids_limit).toBeGreaterThan(0);
  });

  test('the log of the service takes a limited part of the disk', () => {
    const { driver, options } = service.logging ?? {};
    expect([driver, options]).toEqual(['json-file', { 'max-size': '10m', 'max-file': '5' }]);
  });

  test('the service is checked with a program of its own image', () => {
    // These run once; for the end of the migration the others wait.
    if (name === 'migrate' || name === 'cli') return;
    const [how, program] = service.healthcheck?.test ?? [];
    // The images of Node and Mailpit have neither curl nor wget.
    expect([how, program]).toEqual(['CMD', checkers[service.image.replace(/:.*$/, '')]]);
  });

  test('the service mounts existing files, read-only', () => {
    for (const mount of (service.volumes ?? []).filter((one) => one.startsWith('./'))) {
      const [from = '', , access] = mount.split(':');
      expect([existsSync(from), access]).toEqual([true, 'ro']);
    }
  });
});

test('only services that use the database share a network with it, without a way out', () => {
  const [network = '', ...others] = networksOf('postgres');
  expect(others).toEqual([]);
  expect(on(network)).toEqual(['postgres', 'migrate', 'cli', 'api', 'worker']);
  expect(compose.networks?.[network]).toEqual({ internal: true });
});

test('the proxy reaches the API alone, and only services that call others reach the outside', () => {
  const isOpen = (network: string) => compose.networks?.[network]?.internal !== true;
  const shared = networksOf('proxy').filter((network) => on(network).length > 1);
  expect(shared.flatMap(on)).toEqual(['api', 'proxy']);
  const withOutside = Object.keys(services).filter((name) => networksOf(name).some(isOpen));
  expect(withOutside).toEqual(['cli', 'api', 'worker', 'mail', 'proxy']);
});

test('no mail catcher runs by default, and email has no silent destination', () => {
  const optional = Object.entries(services).filter(([, { profiles }]) => profiles !== undefined);
  expect(optional.map(([name, { profiles }]) => [name, profiles])).toEqual([
    ['cli', ['cli']],
    ['mail', ['mail-catcher']],
  ]);
  for (const name of ['migrate', 'cli', 'api', 'worker'])
    expect(services[name]?.environment?.['SMTP_URL']).toMatch(/^\$\{SMTP_URL:\?/);
});

test('the API, the workers and the command line get the key of every provider', () => {
  const keys = providerDefinitions.map(({ keyVariable }) => keyVariable);
  for (const name of ['cli', 'api', 'worker'])
    expect(Object.keys(services[name]?.environment ?? {})).toEqual(expect.arrayContaining(keys));
});

test('the log of Postgres holds no value of a statement, as in local mode', () => {
  const settings = services['postgres']?.command?.filter((word) => word !== '-c');
  expect(settings).toEqual(['postgres', ...logSettings]);
});

// Compose copies such a text into the container, which a read-only one refuses.
test('no configuration file is written inside docker-compose.yml', () => {
  expect(compose.configs).toBeUndefined();
});

test('the data of Postgres 18 and of the proxy are in volumes, at the paths of their images, and the erasures outside the database', () => {
  const kept = Object.values(services).flatMap(({ volumes = [] }) =>
    volumes.filter((one) => !one.startsWith('./')),
  );
  expect([...new Set(kept)]).toEqual([
    'postgres:/var/lib/postgresql',
    'erasures:/erasures',
    'proxy:/data',
  ]);
});

test('a stopping service has longer than it gives itself to close', () => {
  const seconds = (text = '10s') => Number.parseInt(text, 10) * (text.endsWith('m') ? 60 : 1);
  expect(seconds(services['postgres']?.stop_grace_period)).toBeGreaterThanOrEqual(90);
  for (const name of ['api', 'worker', 'proxy'])
    expect(seconds(services[name]?.stop_grace_period)).toBeGreaterThanOrEqual(15);
});

test('every file that a health check or a command names exists', () => {
  const words = Object.values(services).flatMap(({ command = [], healthcheck }) => [
    ...command,
    ...(healthcheck?.test ?? []),
  ]);
  const files = words.filter((word) => /^services\/.*\.ts$/.test(word));
  expect(files).toContain('services/worker-health.ts');
  expect(files.filter((file) => !existsSync(file))).toEqual([]);
});

test('the image gives Node the settings that the supervisor gives it', () => {
  const [, environment = ''] = /^ENV (.*)$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
  const pairs = environment.split(' ').map((pair) => pair.split(/=(.*)/s).slice(0, 2));
  expect(Object.fromEntries(pairs)).toMatchObject(withNodeSettings({}));
});

test('the image has the Node of package.json and does not run as root', () => {
  const lines = readFileSync('Dockerfile', 'utf8').split('\n');
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const bases = lines.flatMap((line) => /^FROM (\S+)/.exec(line)?.[1] ?? []);
  expect([...new Set(bases)]).toEqual([`node:${dependencies['node']}-bookworm-slim`]);
  expect(lines.filter((line) => line.startsWith('USER '))).toEqual(['USER node']);
  expect(lines.findIndex((line) => line === 'USER node')).toBeGreaterThan(
    lines.findLastIndex((line) => line.startsWith('RUN ')),
  );
});
