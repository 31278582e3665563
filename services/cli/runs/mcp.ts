import { softwareVersion } from '#services/platform/process/software.ts';
import process from 'node:process';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Account } from '#services/identity/accounts/users.ts';
import { createActions } from '#services/mcp/actions.ts';
import type { McpActions } from '#services/mcp/actions.ts';
import { createMcpServer } from '#services/mcp/server.ts';
import { nextStopRequest } from '#services/platform/process/lifecycle.ts';
import { limitsFor, startRun, whoAsks } from './start-run.ts';
import { say, text } from '#services/cli/command.ts';
import type { CliCommand } from '#services/cli/command.ts';
import type { Database } from '#services/cli/database.ts';
import { workersFor } from './workers.ts';

/** stdout carries the protocol and nothing else. */
const mcp: CliCommand = {
  noun: 'mcp',
  verb: '',
  arguments: '',
  summary: 'Serves agents on this machine over stdin and stdout (Model Context Protocol).',
  options: { as: { type: 'string', help: 'The owner of the runs (default: the demo account)' } },
  async run(call) {
    const { database } = call;
    const { productName, log } = database;
    const stopped = nextStopRequest();
    const person = await whoAsks(database, text(call, 'as'));
    await using workers = workersWhenNeeded(database);
    const actions = actionsOf(database, person, workers.ensure);
    const connection = serveStdio(
      () => createMcpServer(actions, { productName, version: softwareVersion, log }),
      { onerror: (error) => log.warn({ err: error }, 'A message could not be handled') },
    );
    say(`Serving ${person.email}.`);
    await Promise.race([inputEnded(), stopped]);
    await connection.close();
    return 0;
  },
};

/** The client ends the connection by closing its end of the pipe. */
async function inputEnded(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  process.stdin.once('end', resolve).once('close', resolve);
  return promise;
}

function actionsOf(
  database: Database,
  person: Account,
  ensureWorkers: () => Promise<void>,
): McpActions {
  const never = new AbortController();
  const limits = limitsFor(database, person.subscription_tier);
  const actions = createActions(
    { ...database, ...limits, sandboxSeed: database.env.sandboxSeed },
    {
      userId: person.id,
      apiKey: null,
      // The operator of the machine may do everything, as with `run`.
      requireScope: () => undefined,
      takeTurn: async () => undefined,
      ask: async (request) => startRun(database, person, request),
      async refineOnce({ newId }, begin) {
        await begin(newId);
        return newId;
      },
      wait: () => ({ signal: never.signal, end: () => undefined }),
    },
  );
  return {
    ...actions,
    async ask(request) {
      await ensureWorkers();
      return actions.ask(request);
    },
    async refine(runId, request) {
      await ensureWorkers();
      return actions.refine(runId, request);
    },
    async *follow(runId, signal) {
      await ensureWorkers();
      yield* actions.follow(runId, signal);
    },
  };
}

/**
 * A client stays connected for hours, and the application may end meanwhile: each call that needs workers
 * looks for running ones, and starts some where there are none.
 */
function workersWhenNeeded(database: Database): AsyncDisposable & { ensure: () => Promise<void> } {
  const stack = new AsyncDisposableStack();
  let starting: Promise<void> | null = null;
  let own = false;
  const ensure = async () => {
    const workers = stack.use(await workersFor(database));
    own = workers.own;
  };
  return {
    async ensure() {
      if (own) return;
      starting ??= ensure().finally(() => (starting = null));
      await starting;
    },
    [Symbol.asyncDispose]: async () => stack.disposeAsync(),
  };
}

export const mcpCommands: readonly CliCommand[] = [mcp];
