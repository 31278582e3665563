import { setTimeout as sleep } from 'node:timers/promises';
import type { Env } from '#services/platform/process/env.ts';
import { counted, printResult, say } from '#services/cli/command.ts';
import type { SettingsCommand } from '#services/cli/command.ts';
import { databaseChecks } from './database-checks.ts';
import { wrong } from './finding.ts';
import type { Check, CheckedDatabase, Finding } from './finding.ts';
import { keyChecks } from './key-checks.ts';
import { machineChecks } from './machine-checks.ts';
import { openDatabase } from './open.ts';
import { answers, outsideChecks } from './outside-checks.ts';
import { rightChecks } from './right-checks.ts';
import { workChecks } from './work-checks.ts';

const checks: readonly Check[] = [
  ...databaseChecks,
  ...rightChecks,
  ...workChecks,
  ...keyChecks,
  ...outsideChecks,
  ...machineChecks,
];

/** A check that takes longer has found something; models take longer to answer. */
const limitMs = 10_000;
const answersMs = 120_000;

type Checked = Finding & { check: string };

const doctor: SettingsCommand = {
  noun: 'doctor',
  verb: '',
  arguments: '',
  summary: 'Checks the whole installation and says what to do. Warnings alone exit with 0.',
  options: {
    providers: {
      type: 'boolean',
      help: 'Also ask each seated model, which costs fractions of a cent',
    },
  },
  async runOnSettings(call) {
    const asks = call.options['providers'] === true;
    await using resources = new AsyncDisposableStack();
    const findings = await examine(call.env, resources, asks ? [...checks, answers] : checks);
    const problems = findings.filter(({ state }) => state === 'wrong').length;
    const warnings = findings.filter(({ state }) => state === 'warning').length;
    const healthy = problems === 0;
    printResult(call, { healthy, problems, warnings, findings }, [
      ...findings.map(lineOf),
      `${counted(problems, 'problem')}, ${counted(warnings, 'warning')}.`,
    ]);
    return healthy ? 0 : 1;
  },
};

export async function examine(
  env: Env,
  resources: AsyncDisposableStack,
  wanted: readonly Check[] = checks,
): Promise<Checked[]> {
  const opened = await openDatabase(env, resources);
  const database = 'database' in opened ? opened.database : null;
  const first = 'finding' in opened ? [{ check: 'database', ...opened.finding }] : [];
  if (database === null)
    say(
      `Not checked without the database: ${wanted
        .flatMap((check) => ('runOnDatabase' in check ? [check.name] : []))
        .join(', ')}`,
    );
  const found = await Promise.all(wanted.map(async (check) => runOne(check, env, database)));
  return [...first, ...found.flat()];
}

/** One check that fails or hangs does not keep the others from ending. */
async function runOne(
  check: Check,
  env: Env,
  database: CheckedDatabase | null,
): Promise<Checked[]> {
  if ('runOnDatabase' in check && database === null) return [];
  const limit = check === answers ? answersMs : limitMs;
  const stop = new AbortController();
  const late = sleep(limit, undefined, { signal: stop.signal, ref: false }).then(
    () => [wrong(`no answer within ${limit / 1000} s`, 'try again; then look at this part')],
    () => [],
  );
  try {
    const found = await Promise.race([findingsOf(check, env, database), late]);
    return found.map((finding) => ({ check: check.name, ...finding }));
  } catch (error) {
    const what = `could not be checked: ${reasonOf(error)}`;
    return [{ check: check.name, ...wrong(what, 'see the other lines') }];
  } finally {
    stop.abort();
  }
}

async function findingsOf(
  check: Check,
  env: Env,
  database: CheckedDatabase | null,
): Promise<Finding[]> {
  if ('run' in check) return check.run({ env });
  return database === null ? [] : check.runOnDatabase({ env, database });
}

/** The database's own words name tables; those of other errors may repeat an address with a password. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return 'severity' in error ? error.message : error.name;
}

const words = { ok: 'ok  ', warning: 'warn', wrong: 'NOT ' } as const;

function lineOf({ check, state, what, remedy }: Checked): string {
  return `${words[state]} ${check}: ${what}${remedy === null ? '' : `; ${remedy}`}`;
}

export const doctorCommands: readonly SettingsCommand[] = [doctor];
