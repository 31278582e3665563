import { loadCatalogue } from '#services/models/catalogue.ts';
import { SettingsError } from '#services/platform/process/env.ts';
import { endProcess, settingsOrExit } from '#services/platform/process/lifecycle.ts';
import { Problem } from '#services/platform/problem.ts';
import { ArgumentError, readArguments, usage } from './arguments.ts';
import { EvaluationError } from './evaluation-error.ts';
import { runEvaluation } from './run.ts';

/**
 * `npm run eval`. Exits with 0 when the evaluation is complete, 1 when it is partial, and 2 when it
 * could not begin.
 */
await endProcess(await main(process.argv.slice(2)));

async function main(args: readonly string[]): Promise<number> {
  const stop = new AbortController();
  // The second signal ends the process at once.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  try {
    const given = readArguments(args);
    if (given.help) {
      say(usage);
      return 0;
    }
    const env = settingsOrExit();
    const catalogue = loadCatalogue(env.modelsFile);
    return await runEvaluation(given, {
      env,
      catalogue,
      signal: stop.signal,
      clock: Date.now,
      say,
    });
  } catch (error) {
    if (error instanceof ArgumentError) say(`${error.message}\n\n${usage}`);
    else if (isExpected(error)) say(error.message);
    else throw error;
    return 2;
  }
}

/** Written for the operator; the trace of any other error is shown. */
function isExpected(error: unknown): error is Error {
  return [EvaluationError, Problem, SettingsError].some((kind) => error instanceof kind);
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
