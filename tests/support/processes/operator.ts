import { fork, type ChildProcess } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { variablesOf, type Settings } from '#tests/support/variables.ts';

/**
 * Commands of the command line without a process for each, which takes longer than what most of them
 * do: one process for a whole test file. That they do the same as processes is shown where the
 * command line itself is tested.
 */
export type Outcome = { code: number | null; stdout: string; stderr: string };

export type Asked = { id: number; variables: NodeJS.ProcessEnv; args: string[] };
export type Replied = { id: number; outcome: Outcome };

let operator: ChildProcess | null = null;
let asked = 0;
const waiting = new Map<number, PromiseWithResolvers<Outcome>>();

/** Runs a command about credits, events, keys, runs, read models or tokens; `settings` name the database. */
export async function operate(settings: Settings, ...args: string[]): Promise<Outcome> {
  operator ??= start();
  const id = (asked += 1);
  const reply = Promise.withResolvers<Outcome>();
  waiting.set(id, reply);
  const question: Asked = { id, variables: variablesOf(settings), args };
  operator.send(question);
  return reply.promise;
}

/** The JSON that a command prints. @throws when it did not end with 0 */
export async function operateJson<Data>(settings: Settings, ...args: string[]): Promise<Data> {
  const { code, stdout, stderr } = await operate(settings, ...args, '--json');
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}:\n${stdout}\n${stderr}`);
  return JSON.parse(stdout) as Data;
}

function start(): ChildProcess {
  const child = fork(join(import.meta.dirname, 'operator-process.ts'), [], {
    cwd: tmpdir(),
    execArgv: [],
    env: variablesOf({}),
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  child.on('message', ({ id, outcome }: Replied) => {
    waiting.get(id)?.resolve(outcome);
    waiting.delete(id);
  });
  child.once('exit', (code) => {
    operator = null;
    for (const reply of waiting.values())
      reply.reject(new Error(`The process of the operator ended with ${code}`));
    waiting.clear();
  });
  // The tests may end while it waits.
  child.unref();
  child.channel?.unref();
  return child;
}
