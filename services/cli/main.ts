import { BackupError } from '#db/backup/base-backup.ts';
import { MigrationError } from '#db/migrate.ts';
import { isAuditor } from '#db/rights/auditor.ts';
import { EmbeddedPostgresError } from '#db/embedded/cluster.ts';
import { ListUnavailable } from '#services/models/catalogue/openrouter-list.ts';
import { readAlone, SettingsError } from '#services/platform/process/env.ts';
import type { Env } from '#services/platform/process/env.ts';
import { endProcess, settingsOrExit } from '#services/platform/process/lifecycle.ts';
import { createLog } from '#services/platform/process/log.ts';
import type { Log } from '#services/platform/process/log.ts';
import { Problem } from '#services/platform/problem.ts';
import { softwareVersion } from '#services/platform/process/software.ts';
import { IntegrityError } from '#services/platform/seal.ts';
import { parseCall, say, usageOf, UsageError } from './command.ts';
import type { CliCommand, SettingsCommand } from './command.ts';
import { backupCommands } from './backup.ts';
import { RestoreRefused } from './backup/after-restore.ts';
import { apiKeyCommands } from './access/api-keys.ts';
import { anchorCommands } from './credits/anchors.ts';
import { grantCommands } from './credits/grants.ts';
import { creditRefundCommands } from './credits/refunds.ts';
import { creditCommands } from './credits.ts';
import { reconcileCommands } from './credits/reconcile.ts';
import { dataCommands, ResetRefused } from './data.ts';
import { NoSuchPerson, openDatabase, openForAuditor } from './database.ts';
import { doctorCommands } from './doctor/doctor.ts';
import { eventCommands } from './events.ts';
import { keyCommands, RotationRefused } from './keys.ts';
import { mcpCommands } from './runs/mcp.ts';
import { messageCommands } from './site/messages.ts';
import { modelCommands } from './models.ts';
import { optimizationCommands } from './optimizations.ts';
import { policyCommands } from './site/policies.ts';
import { projectionCommands } from './projections.ts';
import { runCommands } from './runs/run.ts';
import { stripeCommands } from './stripe.ts';
import { jobCommands } from './queue/jobs.ts';
import { sweepCommands } from './queue/sweeps.ts';
import { tokenCommands } from './access/tokens.ts';
import { userCommands } from './users.ts';

/**
 * The command line for operators and auditors: `npm run cli -- <noun> <verb> …`. It exits with 0 when
 * all is fine, 1 when it found a difference or failed, 2 on wrong usage.
 */
const commands: readonly (CliCommand | SettingsCommand)[] = [
  ...doctorCommands,
  ...runCommands,
  ...mcpCommands,
  ...creditCommands,
  ...grantCommands,
  ...anchorCommands,
  ...creditRefundCommands,
  ...reconcileCommands,
  ...userCommands,
  ...apiKeyCommands,
  ...optimizationCommands,
  ...projectionCommands,
  ...eventCommands,
  ...jobCommands,
  ...sweepCommands,
  ...keyCommands,
  ...dataCommands,
  ...backupCommands,
  ...messageCommands,
  ...policyCommands,
  ...tokenCommands,
  ...stripeCommands,
  ...modelCommands,
];

await endProcess(await main(process.argv.slice(2)));

async function main(words: readonly string[]): Promise<number> {
  if (words[0] === '--version') {
    console.log(softwareVersion);
    return 0;
  }
  const args = words[0] === 'help' ? [...words.slice(1), '--help'] : words;
  const found = findCommand(args);
  const wantsHelp = args.includes('--help') || args.length === 0;
  if (!found) {
    const isAsked = wantsHelp && (args.length === 0 || args[0] === '--help' || isNoun(args[0]));
    say(isAsked ? overview(args[0]) : `${unknown(args)}\n\n${overview(args[0])}`);
    return isAsked ? 0 : 2;
  }
  const { command, rest } = found;
  try {
    const call = parseCall(command, rest);
    if (call.options['help'] === true) {
      say(usageOf(command));
      return 0;
    }
    return await runCommand(command, call);
  } catch (error) {
    if (error instanceof UsageError) {
      say(`${error.message}\n\n${usageOf(command)}`);
      return 2;
    }
    say(lineOf(error));
    return error instanceof SettingsError ? 2 : 1;
  }
}

async function runCommand(
  command: CliCommand | SettingsCommand,
  call: ReturnType<typeof parseCall>,
): Promise<number> {
  const alone = 'run' in command ? await command.runAlone?.(call) : null;
  if (typeof alone === 'number') return alone;
  const resources = new AsyncDisposableStack();
  try {
    const { databaseUrl, productName } = readAlone();
    if (databaseUrl !== null && (await isAuditorAt(databaseUrl))) {
      if (!('run' in command) || command.reads !== true) throw new SettingsError([onlyReads()]);
      const database = openForAuditor(databaseUrl, productName, logAt('error'), resources);
      return await command.run({ ...call, database });
    }
    const env = settingsOrExit();
    if ('runOnSettings' in command) return await command.runOnSettings({ ...call, env });
    const log = logAt(process.env['LOG_LEVEL'] === undefined ? 'error' : env.logLevel);
    const database = await openDatabase(env, log, resources);
    return await command.run({ ...call, database });
  } finally {
    await resources.disposeAsync();
  }
}

function logAt(level: Env['logLevel']): Log {
  return createLog({ level, process: 'cli', destination: process.stderr });
}

/** False without a connection: `openDatabase` then reports what is wrong. */
async function isAuditorAt(url: string): Promise<boolean> {
  return isAuditor(url).catch(() => false);
}

function onlyReads(): string {
  const names = commands.flatMap((one) =>
    'reads' in one && one.reads ? [`${one.noun} ${one.verb}`] : [],
  );
  return `DATABASE_URL is an auditor's, who may only read. These commands do: ${names.join(', ')}`;
}

function findCommand(
  args: readonly string[],
): { command: CliCommand | SettingsCommand; rest: string[] } | null {
  const [noun = '', verb = ''] = args;
  for (const command of commands)
    if (command.noun === noun && (command.verb === '' || command.verb === verb))
      return { command, rest: args.slice(command.verb === '' ? 1 : 2) };
  return null;
}

function unknown(args: readonly string[]): string {
  return `Unknown command: ${args.slice(0, isNoun(args[0]) ? 2 : 1).join(' ')}`;
}

function isNoun(word: string | undefined): boolean {
  return commands.some((command) => command.noun === word);
}

function overview(noun: string | undefined): string {
  const shown = isNoun(noun) ? commands.filter((command) => command.noun === noun) : commands;
  const lines = shown.map((command) => {
    const words = [command.noun, command.verb, command.arguments].filter((word) => word !== '');
    return `  ${words.join(' ').padEnd(52)} ${command.summary}`;
  });
  return ['npm run cli -- <noun> <verb> [arguments] [--option value] [--json]', '', ...lines].join(
    '\n',
  );
}

/** A message where the operator can act on it; else the whole error, because it is internal. */
function lineOf(error: unknown): string {
  if (error instanceof Problem) {
    const fields = error.extras.errors ?? [];
    return fields.length > 0
      ? fields.map(({ field, message }) => `${field}: ${message}`).join('\n')
      : error.message;
  }
  if (!(error instanceof Error)) return String(error);
  const ours = [
    SettingsError,
    NoSuchPerson,
    RotationRefused,
    ResetRefused,
    ListUnavailable,
    IntegrityError,
    MigrationError,
    EmbeddedPostgresError,
    BackupError,
    RestoreRefused,
  ];
  return ours.some((kind) => error instanceof kind)
    ? error.message
    : (error.stack ?? error.message);
}
