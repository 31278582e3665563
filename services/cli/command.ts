import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import type { ParseArgsOptionsConfig } from 'node:util';
import type { Env } from '#services/platform/process/env.ts';
import type { Database, Reading } from './database.ts';

/** One verb of the command line. Data goes to stdout, progress and messages to stderr. */
type Verb = {
  noun: string;
  /** Empty for a noun that is its own verb, such as `run`. */
  verb: string;
  arguments: string;
  summary: string;
  options: Readonly<Record<string, { type: 'string' | 'boolean'; help: string }>>;
};

/** Exit code of all kinds: 0 fine, 1 found a difference or failed. */
export type CliCommand = Verb & {
  /** Tried first, without settings and database; null: these arguments need them. */
  runAlone?: (call: Arguments) => Promise<number | null>;
} & (
    | { reads?: never; run: (call: CliCall) => Promise<number> }
    /** Only reads, so that an auditor's role in DATABASE_URL is enough, without other settings. */
    | { reads: true; run: (call: ReadingCall) => Promise<number> }
  );

/** Needs the settings alone: no database is opened, or started. */
export type SettingsCommand = Verb & {
  runOnSettings: (call: SettingsCall) => Promise<number>;
};

export type Arguments = {
  positionals: readonly string[];
  options: Readonly<Record<string, string | boolean | undefined>>;
};

export type CliCall = Arguments & { database: Database };
export type ReadingCall = Arguments & { database: Reading };
export type SettingsCall = Arguments & { env: Env };

/** Wrong usage: exit 2, with the usage of the command. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function parseCall(command: Verb, args: readonly string[]): Arguments {
  const config: ParseArgsOptionsConfig = { json: { type: 'boolean' }, help: { type: 'boolean' } };
  for (const [name, { type }] of Object.entries(command.options)) config[name] = { type };
  try {
    const parsed = parseArgs({
      args: args.map((given) => (isBelowZero(given) ? `${mark}${given}` : given)),
      options: config,
      allowPositionals: true,
    });
    const names = namesOf(command);
    const positionals = parsed.positionals.map((given, index) => {
      const value = unmarked(given);
      const mayBePath = /file|folder/.test(names[index] ?? '');
      return mayBePath && (value.includes('/') || existsSync(pathOf(value)))
        ? pathOf(value)
        : value;
    });
    const options = Object.fromEntries(
      Object.entries(parsed.values)
        .filter(([, value]) => !Array.isArray(value))
        .map(([name, given]) => {
          if (typeof given !== 'string') return [name, given];
          const value = unmarked(given);
          return [name, pathOptions.has(name) ? pathOf(value) : value];
        }),
    ) as Arguments['options'];
    if (options['help'] !== true) requireCount(command, positionals.length);
    return { positionals, options };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(error instanceof Error ? error.message : 'These options are unknown');
  }
}

/**
 * No option begins with a digit, so `-5` is a number for the command to check; the parser would take it for
 * an option. No argument of a process can hold the mark.
 */
const mark = '\0';

function isBelowZero(given: string): boolean {
  return /^-[\d.]/.test(given);
}

function unmarked(value: string): string {
  return value.startsWith(mark) ? value.slice(mark.length) : value;
}

/** Options that name a file or a folder. */
const pathOptions = new Set(['out', 'into', 'erasures', 'from']);

/** `npm run` changes into the folder of package.json; its caller means a path of their own folder. */
function pathOf(given: string): string {
  const { npm_lifecycle_event: script, INIT_CWD: folder } = process.env;
  return script !== 'cli' || folder === undefined || given === '-' ? given : resolve(folder, given);
}

function namesOf(command: Verb): string[] {
  return command.arguments.match(/\[?"?<[^>]+>"?(\]|\|--all)?/g) ?? [];
}

/** Checked before a database is opened, which may have to be started or created. */
function requireCount(command: Verb, given: number): void {
  const names = namesOf(command);
  const needed = names.filter((name) => !/^\[|--all$/.test(name));
  const missing = needed[given];
  if (missing !== undefined) throw new UsageError(`Missing: ${missing}`);
  if (given > names.length)
    throw new UsageError(
      names.length === 0
        ? 'This command takes no arguments'
        : `Too many arguments. Expected: ${names.join(' ')}`,
    );
}

export function usageOf(command: Verb): string {
  const words = [command.noun, command.verb, command.arguments].filter((word) => word !== '');
  const options: [string, Verb['options'][string]][] = [
    ...Object.entries(command.options),
    ['json', { type: 'boolean', help: 'Print one JSON document' }],
  ];
  const lines = options.map(([name, { type, help }]) => {
    const flag = `--${name}${type === 'string' ? ' <value>' : ''}`;
    return `  ${flag.padEnd(22)} ${help}`;
  });
  return [`npm run cli -- ${words.join(' ')}`, `  ${command.summary}`, '', ...lines].join('\n');
}

export function required(call: Pick<CliCall, 'positionals'>, index: number, what: string): string {
  const value = call.positionals[index];
  if (value === undefined || value === '') throw new UsageError(`Missing: ${what}`);
  return value;
}

/** The actor for audit entries: the operator's name on this machine. */
export function operatorName(): string {
  return `operator:${named('SUDO_USER') ?? named('USER') ?? machineUser()}`;
}

function named(variable: string): string | undefined {
  const name = process.env[variable];
  return name === '' ? undefined : name;
}

/** Jobs and containers set no variables, and their user id may have no name. */
function machineUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}

export function text(call: Pick<CliCall, 'options'>, name: string): string | undefined {
  const value = call.options[name];
  return typeof value === 'string' ? value : undefined;
}

/** The whole number of an option. @throws UsageError */
export function numberOf(
  call: Pick<CliCall, 'options'>,
  name: string,
  { usual, most }: { usual: number; most: number },
): number {
  const given = text(call, name);
  const count = given === undefined ? usual : Number(given);
  if (!Number.isSafeInteger(count) || count < 1 || count > most)
    throw new UsageError(`--${name} must be a whole number from 1 to ${most}`);
  return count;
}

/** Words of others must not write lines of their own, or give the terminal commands. */
export function printable(line: string): string {
  return line.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '\uFFFD');
}

export function print(line: string): void {
  if (process.stdout.listenerCount('error') === 0) process.stdout.on('error', ignoreClosedPipe);
  process.stdout.write(`${line}\n`);
}

/** A reader such as `head` may close the pipe early; the command still ends in order. */
function ignoreClosedPipe(error: Error): void {
  if (!('code' in error) || error.code !== 'EPIPE') throw error;
}

export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** For commands with `--yes`. Says so when nothing is to change. */
export async function confirmed(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Without a terminal the input may end before an answer, which means no.
  const ended = new Promise<string>((done) => terminal.once('close', () => done('')));
  const given = await Promise.race([terminal.question(`${question} Type yes to confirm: `), ended]);
  terminal.close();
  if (given.trim().toLowerCase() === 'yes') return true;
  say(
    process.stdin.isTTY ? 'Nothing changed' : '\nNothing changed. Without a terminal, pass --yes',
  );
  return false;
}

/** For `--out`. What it holds is private, and a file that exists may be open to others. @throws UsageError */
export async function newFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const reasons: Readonly<Record<string, string>> = {
      EEXIST: 'it exists',
      ENOENT: 'its folder does not exist',
    };
    throw new UsageError(`--out must be a new file; ${path}: ${reasons[code] ?? code}`);
  }
}

/** JSON with --json, otherwise lines. */
export function printResult(
  call: Pick<CliCall, 'options'>,
  document: unknown,
  lines: readonly string[],
): void {
  if (call.options['json'] === true) print(JSON.stringify(document, null, 2));
  else for (const line of lines) print(line);
}

/** Columns as wide as their widest cell; numbers to the right. */
export function table(rows: readonly (readonly (string | number)[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [column, cell] of row.entries())
      widths[column] = Math.max(widths[column] ?? 0, String(cell).length);
  return rows.map((row) =>
    row
      .map((cell, column) =>
        typeof cell === 'number'
          ? String(cell).padStart(widths[column] ?? 0)
          : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
}

/** Such as `1 event` and `2 events`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
