import process from 'node:process';
import { vi } from 'vitest';
import { parseCall } from '#services/cli/command.ts';
import type { CliCommand, SettingsCommand } from '#services/cli/command.ts';
import { openForAuditor } from '#services/cli/database.ts';
import type { Database } from '#services/cli/database.ts';
import { readEnv } from '#services/platform/process/env.ts';
import type { EnvSource } from '#services/platform/process/env.ts';
import { createLog } from '#services/platform/process/log.ts';
import type { TestApp } from '#tests/support/app.ts';
import type { TestDatabase } from '#tests/support/database.ts';

type App = Pick<TestApp, 'core' | 'database'>;

/** The database as a command gets it. */
export function databaseOf({ core, database }: App, source: EnvSource = {}): Database {
  const { ownerPool, ownerUrl } = database;
  return { ...core, env: readEnv(source), ownerPool, ownerUrl };
}

type Ran = { code: number; out: string; said: string };

/** Runs a command in this process with the arguments as they are typed. */
export async function runHere(
  app: App,
  commands: readonly CliCommand[],
  words: readonly string[],
  source: EnvSource = {},
): Promise<Ran> {
  const { command, rest } = find(commands, words);
  const database = databaseOf(app, source);
  const call = { ...parseCall(command, rest), database };
  return captured(async () => (await command.runAlone?.(call)) ?? (await command.run(call)));
}

/** The same for someone whose DATABASE_URL may only read. */
export async function runAsAuditor(
  { auditorUrl }: Pick<TestDatabase, 'auditorUrl'>,
  commands: readonly CliCommand[],
  words: readonly string[],
): Promise<Ran> {
  const { command, rest } = find(commands, words);
  if (command.reads !== true) throw new Error(`${words.join(' ')} is not for auditors`);
  await using resources = new AsyncDisposableStack();
  const log = createLog({ level: 'silent', process: 'test' });
  const call = parseCall(command, rest);
  return await captured(async () => {
    const alone = await command.runAlone?.(call);
    if (typeof alone === 'number') return alone;
    return command.run({ ...call, database: openForAuditor(auditorUrl, 'Test', log, resources) });
  });
}

/** The same for a command that needs no database. */
export async function runOnSettings(
  commands: readonly SettingsCommand[],
  words: readonly string[],
  source: EnvSource = {},
): Promise<Ran> {
  const { command, rest } = find(commands, words);
  const env = readEnv(source);
  return captured(async () => command.runOnSettings({ ...parseCall(command, rest), env }));
}

function find<Command extends CliCommand | SettingsCommand>(
  commands: readonly Command[],
  words: readonly string[],
): { command: Command; rest: string[] } {
  const [noun, verb] = words;
  const command = commands.find(
    (one) => one.noun === noun && (one.verb === '' || one.verb === verb),
  );
  if (!command) throw new Error(`There is no command ${noun} ${verb}`);
  return { command, rest: words.slice(command.verb === '' ? 1 : 2) };
}

async function captured(run: () => Promise<number>): Promise<Ran> {
  const written = { out: '', said: '' };
  const into = (stream: 'stdout' | 'stderr', name: keyof typeof written) =>
    vi.spyOn(process[stream], 'write').mockImplementation((chunk) => {
      written[name] += String(chunk);
      return true;
    });
  const spies = [into('stdout', 'out'), into('stderr', 'said')];
  try {
    return { code: await run(), ...written };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}
