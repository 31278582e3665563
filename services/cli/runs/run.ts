import { modelCost } from '#services/platform/numbers.ts';
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type * as v from 'valibot';
import { findUser } from '#services/identity/accounts/users.ts';
import type { Account } from '#services/identity/accounts/users.ts';
import { createQuestionCheck, describeChecker } from '#services/optimizations/check/check.ts';
import { withAnswers } from '#services/optimizations/check/questions.ts';
import type { Answered } from '#services/optimizations/check/questions.ts';
import { checkOf, CreateOptimizationRequest } from '#services/optimizations/contract/requests.ts';
import { promptCharacters } from '#services/models/seating/characters.ts';
import { RefineRequest } from '#services/optimizations/contract/refinement.ts';
import type { CheckReply } from '#services/optimizations/contract/requests.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { estimate } from '#services/optimizations/create.ts';
import { durationWords } from '#services/optimizations/reading/words/duration.ts';
import { nextRefinementId, refineRun } from '#services/optimizations/refinement/begin.ts';
import { runMarkdown } from '#services/optimizations/reading/markdown/run-markdown.ts';
import { cancelRun } from '#services/optimizations/commands.ts';
import { readDetail } from '#services/optimizations/detail.ts';
import { withProgress } from '#services/optimizations/reading/read-run.ts';
import { describeRun } from '#services/optimizations/reading/describe.ts';
import { simulatedNotice, simulatedPartOf } from '#services/optimizations/reading/simulated.ts';
import { parseInput } from '#services/platform/http/http.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import { limitsFor, startRun, whoAsks } from './start-run.ts';
import { print, required, say, text, UsageError } from '#services/cli/command.ts';
import type { CliCall, CliCommand } from '#services/cli/command.ts';
import type { Database } from '#services/cli/database.ts';
import { workersFor } from './workers.ts';

const ask: CliCommand = {
  noun: 'run',
  verb: '',
  arguments: '"<question>"',
  summary:
    'Runs a question end to end: asks the models, shows progress, prints the recommendation.',
  options: {
    as: { type: 'string', help: 'The owner of the run (default: the demo account)' },
    strategy: { type: 'string', help: 'balanced (default), economy, fast, …' },
    type: { type: 'string', help: 'business_strategy (default), marketing, finance, …' },
    context: { type: 'string', help: 'What the models should know' },
  },
  async run(call) {
    const { database } = call;
    const asked = requestOf(call);
    const person = await whoAsks(database, text(call, 'as'));
    const request = await checkFirst(database, person, asked);
    if (request === null) {
      say('Not started. No credits were charged.');
      return 1;
    }
    await using resources = new AsyncDisposableStack();
    resources.use(await workersFor(database));
    await sayEstimate(database, request);
    return await show(call, await startRun(database, person, request));
  },
};

const refine: CliCommand = {
  noun: 'optimizations',
  verb: 'refine',
  arguments: '<run id>',
  summary: 'Refines a result: the models vote again, with or without new information.',
  options: {
    fact: { type: 'string', help: 'A fact that differs from what the models assumed' },
    claim: { type: 'string', help: 'The claim the fact is about, such as c3' },
    instruction: { type: 'string', help: 'What the models should consider' },
  },
  async run(call) {
    const { database } = call;
    const request = parsed(RefineRequest, {
      ...given(call, 'fact', 'changed_fact'),
      ...given(call, 'claim', 'claim_id'),
      ...given(call, 'instruction', 'instruction'),
    });
    const runId = required(call, 0, 'run id');
    const state = await database.readState(runId);
    if (state.stage === 'none') {
      say('Run not found');
      return 1;
    }
    const { userId } = state;
    const id = await nextRefinementId(database.pool, runId, state);
    const person = await findUser(database.pool, userId);
    await using resources = new AsyncDisposableStack();
    resources.use(await workersFor(database));
    const commandId = uuidV5(id, 'create', randomUUID());
    await refineRun(
      { ...database, ...limitsFor(database, person?.subscription_tier ?? 'free') },
      { userId, apiKey: null, runId, id, commandId, fingerprint: commandId },
      request,
    );
    return await show(call, id);
  },
};

function given(call: CliCall, option: string, field: string): Record<string, string> {
  const value = text(call, option);
  return value === undefined ? {} : { [field]: value };
}

/** Watches a run until it ends and prints it, as its page or `GET /optimizations/{id}` shows it. */
async function show(call: CliCall, runId: string): Promise<number> {
  const { database } = call;
  const begun = await database.readRun(runId);
  const notice = begun && simulatedNotice(simulatedPartOf(begun.view));
  if (notice !== null) say(notice);
  await watch(database, runId);
  const ended = await readDetail(database, runId);
  if (ended === null) {
    say('The run was deleted.');
    return 1;
  }
  if (call.options['json'] === true) print(JSON.stringify(ended, null, 2));
  else print(runMarkdown(ended));
  return ended.status === 'completed' ? 0 : 1;
}

function requestOf(call: CliCall): CreateOptimizationRequest {
  return parsed(CreateOptimizationRequest, {
    challenge: required(call, 0, 'question'),
    strategy: text(call, 'strategy') ?? 'balanced',
    ...given(call, 'type', 'challenge_type'),
    ...given(call, 'context', 'context'),
  });
}

/** @throws UsageError with a sentence for each argument that cannot be used */
function parsed<Schema extends v.GenericSchema>(
  schema: Schema,
  fields: Record<string, string>,
): v.InferOutput<Schema> {
  try {
    return parseInput(schema, fields);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const errors = error.extras.errors ?? [];
    throw new UsageError(errors.map(({ message }) => message).join('\n') || error.message);
  }
}

/** Its price and time, for a strategy that can start. */
async function sayEstimate(database: Database, request: CreateOptimizationRequest): Promise<void> {
  const { strategy, challenge: challengeText, context: contextText } = request;
  const workflowType = 'business-optimization';
  const files_characters = promptCharacters(...request.files.map(({ text: read }) => read));
  const asked = { strategy, workflowType, challengeText, contextText, files_characters };
  const found = await estimate(database, asked);
  if (found.available) say(`${found.credits} credits, ${durationWords(found)}.`);
}

/** On a terminal a small model checks the question first. Null when it is not to be started. */
async function checkFirst(
  database: Database,
  person: Account,
  request: CreateOptimizationRequest,
): Promise<CreateOptimizationRequest | null> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return request;
  const { dailyCostLimitUsd } = database.env;
  // Only a worker knows where the simulated models listen.
  const dependencies = { ...database, dailyCostLimitUsd, isLocal: false };
  const checker = await describeChecker(dependencies, false);
  if (checker === null) return request;
  say(`Your question is sent to ${checker.name} to be checked.`);
  const check = createQuestionCheck(dependencies);
  const reply = await check(person.id, checkOf(request), async () => undefined);
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await completeRequest(request, reply, async (prompt) => lines.question(prompt));
  } finally {
    lines.close();
  }
}

/** The request with the answers to what its check asks; null when it is not to be started. */
export async function completeRequest(
  request: CreateOptimizationRequest,
  { verdict, questions, why }: CheckReply,
  answerTo: (prompt: string) => Promise<string>,
): Promise<CreateOptimizationRequest | null> {
  switch (verdict) {
    case 'ready':
      return request;
    case 'undecidable':
      return isYes(await answerTo(`${why ?? ''}\nStart anyway? [y/N] `)) ? request : null;
    case 'ask': {
      const answered: Answered[] = [];
      for (const question of questions)
        answered.push({ question, answer: await answerTo(`${question} (Enter skips it)\n> `) });
      const context = withAnswers(request.context, answered);
      return parseInput(CreateOptimizationRequest, { ...request, context });
    }
  }
}

function isYes(answer: string): boolean {
  return /^y(es)?$/i.test(answer.trim());
}

// ── watching ────────────────────────────────────────────────────────────────────────────────────

async function watch(database: Database, runId: string): Promise<void> {
  const screen = createScreen();
  const interrupted = createInterrupt(async () => cancelRun(database, runId));
  try {
    for (;;) {
      const read = await database.readRun(runId);
      if (!read) throw new Error('The run no longer exists');
      const view = await withProgress(database.pool, read.view);
      screen.show(describeRun(view, database.clock()));
      if (view.stage === 'closed') return;
      await sleep(pollMs);
    }
  } finally {
    interrupted.close();
  }
}

const pollMs = 300;

/** A line for each model and one for the run: redrawn on a terminal, else one when a status changes. */
function createScreen(): { show: (run: Optimization) => void } {
  const toTerminal = process.stderr.isTTY;
  const last = new Map<string, string>();
  let drawn = 0;
  return {
    show(run) {
      const lines = [
        ...run.models.map((model) => modelLine(model, toTerminal)),
        runLine(run, toTerminal),
      ];
      if (toTerminal) {
        if (drawn > 0) process.stderr.write(`\u001b[${drawn}A`);
        for (const { line } of lines) process.stderr.write(`\u001b[2K${line}\n`);
        drawn = lines.length;
        return;
      }
      for (const { of, line, status } of lines) {
        if (last.get(of) === status) continue;
        last.set(of, status);
        say(line);
      }
    },
  };
}

/** `of`: a seat, or the run. */
type Shown = { of: string; line: string; status: string };

function modelLine(model: Optimization['models'][number], withPercent: boolean): Shown {
  const cost = modelCost(model.costCents === null ? null : model.costCents / 100, 'en-US');
  const mark = model.simulated ? ' (simulated)' : '';
  const reason = model.reason === null ? '' : `  ${model.reason}`;
  const done = percent(model.progress, withPercent);
  return {
    of: model.seat,
    line: `${model.seat.padEnd(3)} ${(model.name + mark).padEnd(34)} ${done}${model.status.padEnd(10)} ${cost}${reason}`,
    status: model.status + reason,
  };
}

function runLine(run: Optimization, withPercent: boolean): Shown {
  const { step_details: details } = run.evolution;
  const cost = `${run.cost_is_minimum ? '≥ ' : ''}${modelCost(run.cost, 'en-US')}`;
  const line = `    ${details.padEnd(46)} ${percent(run.progress, withPercent)}${cost}`;
  return { of: 'run', line, status: details };
}

function percent(progress: number, isShown: boolean): string {
  return isShown ? `${String(progress).padStart(3)}%  ` : '';
}

/** Ctrl-C asks whether to cancel; a second one leaves the run going and ends the command. */
function createInterrupt(cancel: () => Promise<void>): { close(): void } {
  let asking = false;
  const askToCancel = async () => {
    const lines = createInterface({ input: process.stdin, output: process.stderr });
    try {
      const answer = await lines.question(
        'Cancel the run? If a model has been called, half its price is charged. [y/N] ',
      );
      if (!isYes(answer)) return;
      await cancel();
    } catch (error) {
      say(error instanceof Problem ? error.message : "The run couldn't be canceled");
    } finally {
      lines.close();
      asking = false;
    }
  };
  const onInterrupt = () => {
    if (asking) {
      say('The run continues. This command is done.');
      process.exit(1);
    }
    asking = true;
    void askToCancel();
  };
  process.on('SIGINT', onInterrupt);
  return { close: () => process.off('SIGINT', onInterrupt) };
}

export const runCommands: readonly CliCommand[] = [ask, refine];
