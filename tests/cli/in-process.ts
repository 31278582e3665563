import process from 'node:process';
import { vi } from 'vitest';
import { parseCall } from '#services/cli/command.ts';
import type { CliCommand } from '#services/cli/command.ts';
import type { Database } from '#services/cli/database.ts';
import { readEnv } from '#services/platform/process/env.ts';
import type { EnvSource } from '#services/platform/process/env.ts';
import type { TestApp } from '#tests/support/app.ts';

type App = Pick<TestApp, 'core' | 'database'>;

/** The database as a command gets it. */
export function databaseOf({ core, database }: App, source: EnvSource = {}): Database {
  const { ownerPool, ownerUrl } = database;
  return { ...core, env: readEnv(source), ownerPool, ownerUrl };
}

/** Runs a command in this process with the arguments as they are typed. */
export async function runHere(
  app: App,
  commands: readonly CliCommand[],
  [noun, verb, ...rest]: readonly string[],
  source: EnvSource = {},
): Promise<{ code: number; out: string }> {
  const command = commands.find((one) => one.noun === noun && one.verb === verb);
  if (!command) throw new Error(`There is no command ${noun} ${verb}`);
  let out = '';
  const written = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    out += String(chunk);
    return true;
  });
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    const database = databaseOf(app, source);
    return { code: await command.run({ ...parseCall(command, rest), database }), out };
  } finally {
    written.mockRestore();
    said.mockRestore();
  }
}
