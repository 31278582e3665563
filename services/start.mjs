/**
 * The launcher of every npm script: `node services/start.mjs <file or command> [arguments]`. It runs on any
 * Node from 20.19, so it is plain JavaScript without dependencies. When the installed packages differ from
 * the lockfile it runs `npm ci`. Then it runs the file, or the package's command of that name, on the
 * installed Node 24.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const root = resolve(fileURLToPath(import.meta.url), '../..');
const bin = join(root, 'node_modules/.bin');
const lockPollMs = 500;
const npmPollMs = 500;
/** The pid of npm, if it started us: the scripts of package.json leave no shell in between. */
const npm = process.env.npm_lifecycle_event === undefined ? null : process.ppid;

const [target, ...args] = process.argv.slice(2);
if (target === undefined) {
  console.error('usage: node services/start.mjs <file or command> [arguments]');
  process.exit(2);
}
await install();
run(target, args);

/** One install at a time: two at once would break each other. */
async function install() {
  if (isInstalled()) return;
  const release = await lock();
  try {
    if (isInstalled()) return;
    console.error('Installing the packages of package-lock.json (once)…');
    const { status, error } = spawnSync(
      'npm',
      ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'],
      {
        cwd: root,
        // stdout belongs to the command.
        stdio: ['ignore', process.stderr, process.stderr],
        env: { ...process.env, PATH: pathWithoutBin() },
        shell: process.platform === 'win32',
      },
    );
    if (error !== undefined) console.error(`npm could not be started: ${error.message}`);
    if (status !== 0) process.exit(1);
  } finally {
    release();
  }
}

/**
 * npm writes node_modules/.package-lock.json at the end of an install, so a comparison with the lockfile
 * finds unfinished and outdated installs.
 */
function isInstalled() {
  const installed = packagesOf(join(root, 'node_modules/.package-lock.json'));
  const wanted = packagesOf(join(root, 'package-lock.json'));
  if (installed === null || wanted === null || !existsSync(join(bin, 'node'))) return false;
  const isThere = ([path, { version, optional }]) =>
    path === '' || (path in installed ? installed[path].version === version : optional === true);
  return (
    Object.entries(wanted).every(isThere) && Object.keys(installed).every((path) => path in wanted)
  );
}

function packagesOf(lockfile) {
  try {
    return JSON.parse(readFileSync(lockfile, 'utf8')).packages;
  } catch {
    return null;
  }
}

/** A folder with the pid of its owner; a dead owner's lock is taken over. */
async function lock() {
  const name = createHash('sha256').update(root).digest('hex').slice(0, 16);
  const folder = join(tmpdir(), `npm-ci-${name}.lock`);
  for (;;) {
    try {
      mkdirSync(folder);
      writeFileSync(join(folder, 'pid'), String(process.pid));
      return () => rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    await new Promise((wake) => setTimeout(wake, lockPollMs));
    if (!isAlive(ownerOf(folder))) rmSync(folder, { recursive: true, force: true });
  }
}

function ownerOf(folder) {
  try {
    return Number(readFileSync(join(folder, 'pid'), 'utf8'));
  } catch {
    return 0;
  }
}

function isAlive(pid) {
  if (pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** npm must not run on the Node that it is about to replace. */
function pathWithoutBin() {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.filter((folder) => !folder.endsWith('node_modules/.bin')).join(delimiter);
}

/**
 * A file gets a channel to us, so that it ends when we are killed. Node's compile cache beside the packages
 * halves the start of later processes; it may be missing.
 */
function run(name, rest) {
  const isFile = /\.(ts|mjs|js)$/.test(name);
  const child = spawn(join(bin, isFile ? 'node' : name), isFile ? [name, ...rest] : rest, {
    stdio: isFile ? ['inherit', 'inherit', 'inherit', 'ipc'] : 'inherit',
    env: {
      NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled'),
      ...process.env,
      PATH: [bin, pathWithoutBin()].join(delimiter),
    },
  });
  child.on('error', (error) => {
    console.error(`${name} could not be started: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    process.exit(signal === null ? (code ?? 1) : 128 + constants.signals[signal]);
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    // Ctrl-C on a terminal reaches the whole process group, the child included.
    const reachesChild = signal === 'SIGINT' && process.stdin.isTTY;
    process.on(signal, () => reachesChild || child.kill(signal));
  }
  endWithNpm(child);
}

/** npm forwards signals, except SIGKILL: after that our parent is another process. */
function endWithNpm(child) {
  if (npm === null) return;
  const timer = setInterval(() => {
    if (process.ppid === npm) return;
    clearInterval(timer);
    child.kill('SIGTERM');
  }, npmPollMs);
}
