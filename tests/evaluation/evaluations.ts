import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadCatalogue } from '#services/models/catalogue.ts';
import { readEnv } from '#services/platform/process/env.ts';
import type { EnvSource } from '#services/platform/process/env.ts';
import { readArguments } from '#services/evaluation/arguments.ts';
import type { EvaluationPlan } from '#services/evaluation/plan.ts';
import type { Report } from '#services/evaluation/report/report.ts';
import { evaluatedReport, planOf } from '#services/evaluation/run.ts';

const catalogue = loadCatalogue(null);

export type Evaluated = { report: Report; plan: EvaluationPlan; said: string[] };

/** An evaluation in this process, with the options as they are typed. */
export async function evaluateHere(
  words: readonly string[],
  {
    change = (plan) => plan,
    source = {},
    signal = new AbortController().signal,
    onSay = () => undefined,
  }: {
    /** Puts other models in the plan's place. */
    change?: (plan: EvaluationPlan) => EvaluationPlan;
    source?: EnvSource;
    signal?: AbortSignal;
    onSay?: (line: string) => void;
  } = {},
): Promise<Evaluated> {
  const given = readArguments(words);
  const said: string[] = [];
  const around = {
    env: readEnv(source),
    catalogue,
    signal,
    clock: Date.now,
    say: (line: string) => {
      said.push(line);
      onSay(line);
    },
  };
  const plan = change(await planOf(given, around));
  return { report: await evaluatedReport(given, plan, around), plan, said };
}

export async function planHere(
  words: readonly string[],
  source: EnvSource = {},
): Promise<EvaluationPlan> {
  return planOf(readArguments(words), {
    env: readEnv(source),
    catalogue,
    signal: new AbortController().signal,
    clock: Date.now,
    say: () => undefined,
  });
}

/** A folder that is removed at the end of its block. */
export function newFolder(): { path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'sevenfold-eval-'));
  return {
    path,
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}
