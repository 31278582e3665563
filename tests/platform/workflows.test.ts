import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { softwareVersion } from '#services/platform/process/software.ts';

/** What the workflows of GitHub and the files of a release promise, read from the files themselves. */
type Step = { uses?: string; run?: string };
type Job = { 'runs-on'?: string; 'timeout-minutes'?: number; steps: Step[]; uses?: string };
type Workflow = {
  permissions?: Record<string, string>;
  jobs: Record<string, Job & { permissions?: Record<string, string> }>;
};

const folder = '.github/workflows';
const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
const jobs = texts
  .flatMap((text) => Object.entries((parse(text) as Workflow).jobs))
  // Without a workflow that another one calls.
  .filter(([, { uses }]) => uses === undefined);
const steps = jobs.flatMap(([, job]) => job.steps);
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
  version: string;
  license: string;
  scripts: Record<string, string>;
};

test('every action of a workflow is pinned to a commit, with its version beside it', () => {
  const used = texts.flatMap((text) => text.match(/uses: [^.].*$/gm) ?? []);
  expect(used.length).toBe(steps.filter(({ uses }) => uses !== undefined).length);
  for (const line of used)
    expect(line).toMatch(/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
});

test('a workflow may read the repository and no more, except to publish the image', () => {
  for (const text of texts)
    expect((parse(text) as Workflow).permissions).toEqual({ contents: 'read' });
  const more = jobs.flatMap(([name, { permissions }]) =>
    permissions ? [[name, permissions]] : [],
  );
  expect(more).toEqual([['publish', { contents: 'read', packages: 'write' }]]);
});

test('every job names its runner and ends before GitHub ends it', () => {
  for (const [name, job] of jobs) {
    expect([name, job['runs-on']]).toEqual([name, 'ubuntu-24.04']);
    expect([name, job['timeout-minutes']]).toEqual([name, expect.any(Number)]);
    expect(job['timeout-minutes']).toBeLessThan(360);
  }
});

test('the workflows run scripts that exist, and every check of the gate', () => {
  const run = steps.flatMap(({ run: text = '' }) =>
    [...text.matchAll(/npm (?:run (?:--silent )?(?!-)([\w-]+)|(test))/g)].map(
      ([, script, other]) => script ?? other,
    ),
  );
  for (const script of run) expect(Object.keys(manifest.scripts)).toContain(script);
  expect(run).toEqual(expect.arrayContaining(['check', 'test', 'proof', 'sbom', 'audit']));
});

test('no image is published before every check has passed', () => {
  const { jobs: all } = parse(readFileSync(join(folder, 'image.yml'), 'utf8')) as {
    jobs: Record<string, { needs?: string[]; uses?: string }>;
  };
  expect(all['publish']?.needs).toEqual(['sbom', 'compose', 'check']);
  expect(all['check']?.uses).toBe('./.github/workflows/check.yml');
});

test.each([
  ['check.yml', 'test', 'npm test'],
  ['proof.yml', 'proof', 'npm run proof'],
])('the parts of the tests in %s are all of them', (file, name, command) => {
  const { jobs: all } = parse(readFileSync(join(folder, file), 'utf8')) as {
    jobs: Record<string, Job & { strategy: { matrix: { part: number[] } } }>;
  };
  const { part } = all[name]!.strategy.matrix;
  expect(part).toEqual(part.map((_, index) => index + 1));
  const last = all[name]!.steps.at(-1)?.run;
  expect(last).toBe(`${command} -- --shard=\${{ matrix.part }}/${part.length}`);
});

test('the version of the package is in the changelog, or marked as one in development', () => {
  expect(softwareVersion).toMatch(/^\d+\.\d+\.\d+(?:-dev)?$/);
  const headings = readFileSync('CHANGELOG.md', 'utf8').match(/^## .*$/gm) ?? [];
  expect(headings[0]).toBe('## [Unreleased]');
  const released = /^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d{2}-\d{2}$/.exec(headings[1] ?? '')?.[1];
  expect(released).toBeDefined();
  const isInDevelopment = softwareVersion.endsWith('-dev');
  expect(softwareVersion.replace('-dev', '') === released).toBe(!isInDevelopment);
});

test('package.json grants no right that the file LICENSE does not', () => {
  expect(manifest.license).toBe('UNLICENSED');
  expect(readFileSync('LICENSE', 'utf8')).toMatch(/no rights are granted/);
});
