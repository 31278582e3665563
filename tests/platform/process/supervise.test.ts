import { freePort } from '#services/platform/process/listen.ts';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createLog } from '#services/platform/process/log.ts';
import {
  createSupervisor,
  processService,
  restartDelay,
  type RestartPolicy,
  type Service,
  type Supervisor,
} from '#services/platform/process/supervise.ts';

const childFile = join(import.meta.dirname, 'child-process.ts');
const supervisorFile = join(import.meta.dirname, 'supervisor-process.ts');
const log = createLog({ level: 'silent', process: 'test' });
const quick: RestartPolicy = { firstDelayMs: 5, windowMs: 60_000, endsInWindow: 5 };

describe('the delay after an end', () => {
  test('the delay doubles with each end of the last minute, and the fifth gives up', () => {
    const ends: number[] = [];
    const waits: (number | null)[] = [];
    for (let nowMs = 1_000_000; ends.length < 5; nowMs += 10_000) {
      ends.push(nowMs);
      waits.push(restartDelay(ends, nowMs));
    }
    expect(waits).toEqual([1000, 2000, 4000, 8000, null]);
  });

  test('the delay ignores ends that are older than a minute', () => {
    expect(restartDelay([0, 1, 2, 3, 70_000], 70_000)).toBe(1000);
  });
});

describe('a supervisor over real processes', () => {
  let folder = '';
  let supervisor: Supervisor;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sevenfold-supervise-'));
    supervisor = createSupervisor(log, quick);
  });

  afterEach(async () => {
    await supervisor.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  function options(name: string, behaviour: string, more: Record<string, string> = {}) {
    return {
      name,
      file: childFile,
      variables: { FOLDER: folder, NAME: name, BEHAVIOUR: behaviour, ...more },
      sharesPort: behaviour === 'listens',
      stopTimeoutMs: 300,
    };
  }

  function child(...given: Parameters<typeof options>): Service {
    return processService(options(...given));
  }

  function eventsOf(): string[] {
    const path = join(folder, 'events');
    return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
  }

  function pidOf(name: string): number {
    return Number(readFileSync(join(folder, `${name}.pid`), 'utf8'));
  }

  test.each<[string, string | undefined, Record<string, string>, string]>([
    ['16 threads', undefined, {}, '16'],
    ['16 threads where an empty value says nothing', '', {}, '16'],
    ['as many as the shell says', '7', {}, '7'],
    ['as many as the settings say', '7', { UV_THREADPOOL_SIZE: '9' }, '9'],
  ])('a supervisor gives each process %s', async (_what, inShell, settings, threads) => {
    vi.stubEnv('UV_THREADPOOL_SIZE', inShell);
    try {
      const first = child('a', 'reports its threads', settings);
      const sharing = { ...options('b', 'reports its threads', settings), sharesPort: true };
      expect(await supervisor.start(first, processService(sharing))).toEqual([
        { threads },
        { threads },
      ]);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test('a supervisor launches a service again that died, also before it was ready', async () => {
    await supervisor.start(child('a', 'dies once'));
    expect(eventsOf()).toEqual(['a starts', 'a starts']);
  });

  test('a supervisor launches a killed service again', async () => {
    await supervisor.start(child('a', 'works'));
    const firstPid = pidOf('a');
    process.kill(firstPid, 'SIGKILL');
    await vi.waitFor(() => expect(pidOf('a')).not.toBe(firstPid), 30_000);
  });

  test('a supervisor gives up with one line after five launches that ended', async () => {
    const never = supervisor.start(child('a', 'dies')).then(() => 'ready');
    expect(await Promise.race([never, supervisor.givenUp])).toEqual({
      line: 'a ended 5 times within 60 seconds (exit code 1)',
      exitCode: 1,
    });
    expect(eventsOf()).toHaveLength(5);
  });

  test('a supervisor gives up at once on a wrong setting, which the child has named', async () => {
    const never = supervisor.start(child('a', 'has a wrong setting')).then(() => 'ready');
    expect(await Promise.race([never, supervisor.givenUp])).toEqual({ line: null, exitCode: 2 });
    expect(eventsOf()).toEqual(['a starts']);
  });

  test('a supervisor stops the last started service first', async () => {
    for (const name of ['a', 'b', 'c']) await supervisor.start(child(name, 'works'));
    await supervisor.stop();
    expect(eventsOf().filter((event) => event.endsWith('stops'))).toEqual([
      'c stops',
      'b stops',
      'a stops',
    ]);
  });

  test('a supervisor kills a service that ignores the stop request', async () => {
    await supervisor.start(child('a', 'ignores SIGTERM'));
    await supervisor.stop();
    expect(isAlive(pidOf('a'))).toBe(false);
  });

  test('a supervisor leaves nothing of a starting service behind', async () => {
    void supervisor.start(child('a', 'never gets ready'));
    await vi.waitFor(() => expect(eventsOf()).toEqual(['a starts']), 30_000);
    await supervisor.stop();
    expect(isAlive(pidOf('a'))).toBe(false);
  });

  test('a supervisor stops a service that was launched during the stop', async () => {
    const launched = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<{ final: false; how: string }>();
    let stops = 0;
    void supervisor.start({
      name: 'slow',
      async launch() {
        await launched.promise;
        return {
          details: {},
          ended: ended.promise,
          async stop() {
            stops += 1;
            ended.resolve({ final: false, how: 'stopped' });
          },
        };
      },
    });
    const stopped = supervisor.stop();
    launched.resolve();
    await stopped;
    expect(stops).toBe(1);
  });

  test('a supervisor restarts on request without counting it as an end', async () => {
    await supervisor.start(child('a', 'works'));
    for (let round = 1; round <= 6; round += 1) {
      const before = pidOf('a');
      await supervisor.restart('a');
      await vi.waitFor(() => expect(pidOf('a')).not.toBe(before), 30_000);
    }
    const outcome = await Promise.race([supervisor.givenUp, Promise.resolve('still there')]);
    expect(outcome).toBe('still there');
  });

  test('a supervisor launches a waiting service at once on request', async () => {
    const waits = Promise.withResolvers<void>();
    const hearing = createLog({
      level: 'warn',
      process: 'test',
      destination: { write: () => waits.resolve() },
    });
    const slow = createSupervisor(hearing, { ...quick, firstDelayMs: 3_600_000 });
    const ready = slow.start(child('a', 'dies once'));
    await waits.promise;
    await slow.restart('a');
    await ready;
    expect(eventsOf()).toEqual(['a starts', 'a starts']);
    await slow.stop();
  });

  test.each([
    ['api 1', 'api 2'],
    ['api 2', 'api 1'],
  ])('two processes listen on one port: without %s, %s answers', async (victim, other) => {
    const slow = createSupervisor(log, { ...quick, firstDelayMs: 3_600_000 });
    const port = await freePort();
    const variables = { PORT: String(port) };
    await slow.start(child('api 1', 'listens', variables), child('api 2', 'listens', variables));
    process.kill(pidOf(victim), 'SIGKILL');
    await vi.waitFor(() => expect(isAlive(pidOf(victim))).toBe(false), 30_000);
    const answers = await Promise.all(
      Array.from({ length: 8 }, async () => (await fetch(`http://127.0.0.1:${port}`)).text()),
    );
    expect(new Set(answers.map(Number))).toEqual(new Set([pidOf(other)]));
    await slow.stop();
  });

  describe('in a process of its own', () => {
    async function startSupervisor(): Promise<ChildProcess> {
      const started = spawn(process.execPath, [supervisorFile], {
        env: { ...process.env, FOLDER: folder },
        stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      });
      await once(started.stdout ?? started, 'data');
      return started;
    }

    test('what a child prints goes to stderr when stdout is for data', async () => {
      const started = spawn(process.execPath, [supervisorFile], {
        env: { ...process.env, FOLDER: folder, BEHAVIOUR: 'prints' },
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      });
      const printed = { stdout: '', stderr: '' };
      started.stdout?.on('data', (data: Buffer) => (printed.stdout += data.toString()));
      started.stderr?.on('data', (data: Buffer) => (printed.stderr += data.toString()));
      await vi.waitFor(() => expect(printed.stdout).not.toBe(''), 30_000);
      started.kill('SIGTERM');
      await once(started, 'close');
      expect(printed).toEqual({ stdout: 'ready\n', stderr: 'first prints\nsecond prints\n' });
    });

    test('a supervisor that is killed ends its children', async () => {
      const started = await startSupervisor();
      started.kill('SIGKILL');
      await vi.waitFor(
        () => expect(['first', 'second'].map(pidOf).map(isAlive), 'alive').toEqual([false, false]),
        30_000,
      );
      expect(eventsOf().slice(2).toSorted()).toEqual([
        'first was left alone',
        'second was left alone',
      ]);
    });

    test.each(['SIGTERM', 'SIGHUP', 'SIGINT'] as const)(
      '%s to a supervisor ends its children in order',
      async (signal) => {
        const started = await startSupervisor();
        const exit = once(started, 'exit');
        started.kill(signal);
        expect(await exit).toEqual([0, null]);
        expect(eventsOf().slice(2)).toEqual(['second stops', 'first stops']);
      },
    );

    test('a supervisor ends in order when its parent has ended', async () => {
      const started = await startSupervisor();
      const exit = once(started, 'exit');
      started.disconnect();
      expect(await exit).toEqual([0, null]);
      expect(eventsOf().slice(2)).toEqual(['second stops', 'first stops']);
    });
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    // No such process.
    return false;
  }
}
