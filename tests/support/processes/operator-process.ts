import { creditCommands } from '#services/cli/credits.ts';
import { grantCommands } from '#services/cli/credits/grants.ts';
import { parseCall } from '#services/cli/command.ts';
import { openDatabase } from '#services/cli/database.ts';
import { eventCommands } from '#services/cli/events.ts';
import { keyCommands } from '#services/cli/keys.ts';
import { optimizationCommands } from '#services/cli/optimizations.ts';
import { projectionCommands } from '#services/cli/projections.ts';
import { tokenCommands } from '#services/cli/access/tokens.ts';
import { loadEnv } from '#services/platform/process/env.ts';
import { createLog } from '#services/platform/process/log.ts';
import type { Asked, Outcome, Replied } from './operator.ts';

/**
 * A process that runs one command of the command line after the other, each with settings, a database
 * connection and an output of its own. It ends with its parent.
 */
const commands = [
  ...creditCommands,
  ...grantCommands,
  ...eventCommands,
  ...keyCommands,
  ...optimizationCommands,
  ...projectionCommands,
  ...tokenCommands,
];

let last: Promise<void> = Promise.resolve();
process.on('message', (asked: Asked) => {
  last = answer(asked, last);
});
process.on('disconnect', () => process.exit(0));

async function answer(asked: Asked, before: Promise<void>): Promise<void> {
  await before;
  const reply: Replied = { id: asked.id, outcome: await outcomeOf(asked) };
  process.send?.(reply);
}

/** What the present command says; this process has nothing else to say. */
let said = { stdout: '', stderr: '' };
process.stdout.write = (text) => (said.stdout += String(text)) !== '';
process.stderr.write = (text) => (said.stderr += String(text)) !== '';

async function outcomeOf({ variables, args }: Asked): Promise<Outcome> {
  process.env = { ...variables };
  said = { stdout: '', stderr: '' };
  try {
    return { code: await run(args), ...said };
  } catch (error) {
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { code: 1, stdout: said.stdout, stderr: `${said.stderr}${reason}` };
  }
}

async function run([noun, verb, ...rest]: readonly string[]): Promise<number> {
  const command = commands.find((one) => one.noun === noun && one.verb === verb);
  if (!command) throw new Error(`There is no command ${noun} ${verb} here`);
  const call = parseCall(command, rest);
  const log = createLog({ level: 'error', process: 'cli', destination: process.stderr });
  await using resources = new AsyncDisposableStack();
  const database = await openDatabase(loadEnv(), log, resources);
  return await command.run({ ...call, database });
}
