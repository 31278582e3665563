import { parseArgs } from 'node:util';
import { strategyIds } from '#services/models/strategy-list.ts';
import { conditions } from './records/records.ts';
import type { Condition } from './records/records.ts';

/** The options of `npm run eval`. */
export type Arguments = {
  strategy: string;
  conditions: Condition[];
  /** `all`, or ids and types. */
  cases: string;
  /** Null leaves the choice to the rules. */
  judges: string[] | null;
  /** Null: no limit, on the sandbox alone. */
  budgetMicros: number | null;
  out: string;
  seed: number;
  parallel: number;
  sandbox: boolean;
  /** Of the sandbox: which condition is the best; null for none. */
  plant: Condition | null | 'by seed';
  dryRun: boolean;
  retryFailed: boolean;
  help: boolean;
};

export class ArgumentError extends Error {
  override readonly name = 'ArgumentError';
}

export const usage = `npm run eval -- --budget-usd 20 --out <folder> [options]
  Compares one model with the council on the cases of services/evaluation/cases.

  --strategy <id>         ${strategyIds.join(', ')} (default: balanced)
  --conditions <list>     ${conditions.join(', ')} (default: all)
  --cases <list>          all (default), or ids and types, with commas
  --judges <list>         ids of models that take no part in the answers (default: chosen by rule)
  --budget-usd <amount>   the most that all runs into this folder may cost; required with real models
  --out <folder>          where answers, judgments and the report are kept; a rerun continues there
  --seed <number>         draws orders, labels and resamples (default: 1)
  --parallel <number>     cases at a time (default: 2)
  --retry-failed          try failed answers and judgments again
  --dry-run               show who would answer and judge, and about what it would cost; call nothing
  --sandbox               simulated models with a planted truth: checks this program, not the council
  --plant <condition>     with --sandbox: the condition that is best, or none (default: by the seed)`;

/** @throws ArgumentError */
export function readArguments(args: readonly string[]): Arguments {
  const values = valuesOf(args);
  const sandbox = values.sandbox === true;
  const dryRun = values['dry-run'] === true;
  const help = values.help === true;
  if (!help && !dryRun && !values.out) throw new ArgumentError('--out must name a folder');
  if (!help && !dryRun && !sandbox && values['budget-usd'] === undefined)
    throw new ArgumentError('--budget-usd must be given: real models cost money');
  if (values.plant !== undefined && !sandbox)
    throw new ArgumentError('--plant needs --sandbox: real models have no planted truth');
  return {
    strategy: values.strategy ?? 'balanced',
    conditions: conditionsIn(values.conditions),
    cases: values.cases ?? 'all',
    judges: values.judges === undefined ? null : partsOf(values.judges),
    budgetMicros: amountOf(values['budget-usd']),
    out: values.out ?? '',
    seed: wholeOf('--seed', values.seed ?? '1', 0, 2 ** 31),
    parallel: wholeOf('--parallel', values.parallel ?? '2', 1, 16),
    sandbox,
    plant: plantOf(values.plant),
    dryRun,
    retryFailed: values['retry-failed'] === true,
    help,
  };
}

function valuesOf(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  try {
    return parseArgs({
      args: [...args],
      strict: true,
      options: {
        strategy: text,
        conditions: text,
        cases: text,
        judges: text,
        'budget-usd': text,
        out: text,
        seed: text,
        parallel: text,
        plant: text,
        sandbox: flag,
        'dry-run': flag,
        'retry-failed': flag,
        help: flag,
      },
    }).values;
  } catch (error) {
    throw new ArgumentError(error instanceof Error ? error.message : 'These options are unknown');
  }
}

function partsOf(list: string): string[] {
  return list
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** In the order of the list, each once. */
function conditionsIn(list: string | undefined): Condition[] {
  if (list === undefined) return [...conditions];
  const named = partsOf(list).map(conditionNamed);
  if (new Set(named).size < 2) throw new ArgumentError('--conditions needs two or more');
  return conditions.filter((condition) => named.includes(condition));
}

function conditionNamed(word: string): Condition {
  const found = conditions.find((condition) => condition === word);
  if (found === undefined)
    throw new ArgumentError(`"${word}" is no condition. Conditions: ${conditions.join(', ')}`);
  return found;
}

function plantOf(word: string | undefined): Arguments['plant'] {
  if (word === undefined) return 'by seed';
  return word === 'none' ? null : conditionNamed(word);
}

function amountOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (!/^\d{1,6}(\.\d{1,6})?$/.test(text) || Number(text) === 0)
    throw new ArgumentError('--budget-usd must be an amount such as 20 or 2.50');
  return Math.round(Number(text) * 1e6);
}

function wholeOf(name: string, text: string, least: number, most: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= least && value <= most))
    throw new ArgumentError(`${name} must be a whole number from ${least} to ${most}`);
  return value;
}
