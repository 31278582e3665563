import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { knownVariables } from '#services/platform/process/env.ts';

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sevenfold-start-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

type Outcome = { code: number | null; stdout: string; stderr: string };

function run(command: string, args: string[], options: { cwd?: string; env?: Variables } = {}) {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: options.cwd ?? process.cwd(),
    env: { ...withoutSettings(), ...options.env },
    encoding: 'utf8',
    timeout: 60_000,
  });
  return { code: status, stdout, stderr } satisfies Outcome;
}

type Variables = Record<string, string>;

/** Our variables without those that the shell of the tests may set for the app. */
function withoutSettings(): Variables {
  const known = new Set(knownVariables());
  const entries = Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined || known.has(name) ? [] : [[name, value] as const],
  );
  return Object.fromEntries(entries);
}

describe('npm start ends at once with one line and exit code 2', () => {
  let taken: Server;
  let takenPort = 0;

  beforeEach(async () => {
    taken = createServer();
    taken.listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const address = taken.address();
    takenPort = typeof address === 'object' && address !== null ? address.port : 0;
  });

  afterEach(async () => {
    taken.close();
    await once(taken, 'close');
  });

  function start(variables: Variables): Outcome {
    return run(process.execPath, ['services/start.ts'], {
      env: { DATA_DIR: join(folder, 'data'), PORT: '0', ...variables },
    });
  }

  test('a bad variable ends the start', () => {
    expect(start({ PORT: 'many' })).toEqual({
      code: 2,
      stdout: '',
      stderr: 'PORT must be a whole number from 0 to 65535\n',
    });
  });

  test('a taken port ends the start', () => {
    expect(start({ PORT: String(takenPort) })).toEqual({
      code: 2,
      stdout: '',
      stderr: `PORT: ${takenPort} on 127.0.0.1 is already in use\n`,
    });
  });

  test('a host that is not of this machine ends the start', () => {
    expect(start({ HOST: '127.0.0.1.invalid', ALLOW_PUBLIC_SANDBOX: 'true' })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^HOST: cannot listen on 127\.0\.0\.1\.invalid \(E\w+\)\n$/),
    });
  });

  test('a folder that cannot be written ends the start', () => {
    writeFileSync(join(folder, 'file'), '');
    expect(start({ DATA_DIR: join(folder, 'file/data') })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^DATA_DIR: .*file\/data.*\n$/),
    });
  });

  test('a database that does not answer ends the start', () => {
    const variables = { DATABASE_URL: 'postgres://me:canary@127.0.0.1:1/app' };
    expect(start(variables)).toEqual({
      code: 2,
      stdout: '',
      stderr: 'DATABASE_URL: no connection to 127.0.0.1:1 (ECONNREFUSED)\n',
    });
  });
});

// A shell in between would keep the signals that npm passes on.
test('every npm script of one command through the launcher replaces its shell', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Variables };
  const alone = Object.values(scripts).filter(
    (script) => script.includes('services/start.mjs') && !script.includes('&&'),
  );
  expect(alone.length).toBeGreaterThan(5);
  for (const script of alone)
    expect(script).toMatch(/^(?:[A-Z_]+=\w+ )?exec node services\/start\.mjs /);
});

describe('the launcher', () => {
  const npmMarker = 'Installing the packages';
  let fresh = '';
  let installed = '';

  /**
   * A package whose only dependency replaces Node: it prints a line, then runs the real one. Made once,
   * because npm takes seconds; each test gets a copy, before or after the install.
   */
  beforeAll(() => {
    fresh = mkdtempSync(join(tmpdir(), 'sevenfold-launcher-'));
    installed = mkdtempSync(join(tmpdir(), 'sevenfold-launcher-'));
    folder = fresh;
    mkdirSync(join(folder, 'services'));
    mkdirSync(join(folder, 'fake-node'));
    cpSync('services/start.mjs', join(folder, 'services/start.mjs'));
    write('fake-node/package.json', {
      name: 'node',
      version: '1.0.0',
      bin: { node: 'node.sh', greet: 'greet.sh' },
    });
    script('fake-node/node.sh', `echo "our node"; exec ${process.execPath} "$@"`);
    script('fake-node/greet.sh', 'echo "hello $*"');
    write('package.json', {
      name: 'clone',
      version: '1.0.0',
      type: 'module',
      dependencies: { node: 'file:fake-node' },
    });
    writeFileSync(
      join(folder, 'show.ts'),
      `const [, , ...rest]: string[] = process.argv;
       process.on('SIGTERM', () => process.exit(5));
       process.on('disconnect', () => process.exit(0));
       console.log(rest.join(' '));
       if (rest[0] === 'fail') process.exit(7);
       if (rest[0] === 'wait') setInterval(() => undefined, 60_000);
       else process.disconnect();`,
    );
    expect(run('npm', ['install', '--package-lock-only'], { cwd: folder }).code).toBe(0);
    copyInto(installed, fresh);
    expect(run('node', ['services/start.mjs', 'show.ts'], { cwd: installed }).code).toBe(0);
  });

  afterAll(() => {
    for (const path of [fresh, installed]) rmSync(path, { recursive: true, force: true });
  });

  function copyInto(target: string, source: string): void {
    cpSync(source, target, { recursive: true, verbatimSymlinks: true });
  }

  function write(path: string, content: object): void {
    writeFileSync(join(folder, path), JSON.stringify(content));
  }

  function script(path: string, body: string): void {
    writeFileSync(join(folder, path), `#!/bin/sh\n${body}\n`);
    chmodSync(join(folder, path), 0o755);
  }

  function enter(...args: string[]): Outcome {
    return run('node', ['services/start.mjs', ...args], { cwd: folder });
  }

  test('the launcher installs on a fresh clone, then runs the file on the installed Node', () => {
    copyInto(folder, fresh);
    const first = enter('show.ts', 'a', 'b c');
    expect(first).toMatchObject({ code: 0, stdout: 'our node\na b c\n' });
    expect(first.stderr).toContain(npmMarker);

    expect(enter('show.ts', 'again')).toEqual({
      code: 0,
      stdout: 'our node\nagain\n',
      stderr: '',
    });
  });

  test('the launcher installs again when the lockfile has another version', () => {
    copyInto(folder, installed);
    const path = join(folder, 'package-lock.json');
    for (const file of [path, join(folder, 'fake-node/package.json')]) {
      writeFileSync(file, readFileSync(file, 'utf8').replaceAll('"1.0.0"', '"1.0.1"'));
    }
    expect(enter('show.ts').stderr).toContain(npmMarker);
    expect(enter('show.ts').stderr).toBe('');
  });

  test(
    'the launcher installs again after an install that was interrupted',
    { tags: ['long'] },
    () => {
      copyInto(folder, installed);
      rmSync(join(folder, 'node_modules/.package-lock.json'));
      expect(enter('show.ts').stderr).toContain(npmMarker);
    },
  );

  test('two launchers at the same time install once', { tags: ['long'] }, async () => {
    copyInto(folder, fresh);
    const outcomes = await Promise.all(
      ['one', 'two'].map(async (word) => {
        const child = spawn('node', ['services/start.mjs', 'show.ts', word], { cwd: folder });
        let stderr = '';
        child.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
        const [code] = (await once(child, 'close')) as [number];
        return { code, hasInstalled: stderr.includes(npmMarker) };
      }),
    );
    expect(outcomes.map(({ code }) => code)).toEqual([0, 0]);
    expect(outcomes.filter(({ hasInstalled }) => hasInstalled)).toHaveLength(1);
    expect(existsSync(join(folder, 'node_modules/.bin/node'))).toBe(true);
  });

  test("the launcher runs a package's command and returns its exit code", () => {
    copyInto(folder, installed);
    expect(enter('greet', 'you', 'too').stdout).toBe('hello you too\n');
    expect(enter('show.ts', 'fail').code).toBe(7);
    expect(enter().code).toBe(2);
  });

  test('the launcher forwards SIGTERM, and its program ends when the launcher is killed', async () => {
    copyInto(folder, installed);
    const stopped = spawn('node', ['services/start.mjs', 'show.ts', 'wait'], { cwd: folder });
    await saidWait(stopped.stdout);
    stopped.kill('SIGTERM');
    expect(await once(stopped, 'exit')).toEqual([5, null]);

    const killed = spawn('node', ['services/start.mjs', 'show.ts', 'wait'], { cwd: folder });
    await saidWait(killed.stdout);
    const silent = once(killed.stdout, 'close');
    killed.kill('SIGKILL');
    // The pipe closes when the last process that holds it, the file's, is gone.
    await silent;
  });

  async function saidWait(output: Readable): Promise<void> {
    let text = '';
    for await (const chunk of output.iterator({ destroyOnReturn: false })) {
      text += String(chunk);
      if (text.includes('wait\n')) return;
    }
  }
});
