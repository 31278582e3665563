import * as v from 'valibot';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { UsageError } from '#services/cli/command.ts';
import { runCommands } from '#services/cli/runs/run.ts';
import { Optimization } from '#services/optimizations/contract/run.ts';
import { runMarkdown } from '#services/optimizations/reading/markdown/run-markdown.ts';
import type { Persona } from '#services/platform/process/env.ts';
import { runHere } from '#tests/cli/in-process.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { commandLine } from '#tests/support/processes/processes.ts';
import { give } from '#tests/support/processes/service.ts';

/** Models without an entry answer. */
const personas: Record<string, Persona> = {};
let council: TestCouncil;
let person: Person;

beforeAll(async () => {
  council = await createTestCouncil({ personas });
  person = await council.signUp();
  await give(council, person.userId, 100);
  await council.core.pool.query(
    `insert into process_heartbeat (kind, process_id, host, pid, beat_at)
     values ('worker', 'test', '', 0, now() + interval '1 hour')`,
  );
});
afterAll(async () => council.close());
beforeEach(() => {
  for (const model of Object.keys(personas)) delete personas[model];
});

const question = ['run', 'Should I sell my course?', '--strategy', 'fast'];
const asked = () => [...question, '--as', person.email];
const ofApi = async ({ id }: Pick<Optimization, 'id'>) =>
  council.data<Optimization>(`/optimizations/${id}`, { token: person.token });

/** The one document on stdout. */
function documentOf(out: string): Optimization {
  return v.parse(Optimization, JSON.parse(out));
}

test('run --json prints the run as the API gives it, and its progress apart from that', async () => {
  const { code, stdout, stderr } = await commandLine(
    {
      DATABASE_URL: council.database.appUrl,
      MIGRATE_DATABASE_URL: council.database.ownerUrl,
      DATA_KEY: council.context.env.dataKeys[0]!.toString('base64'),
      SANDBOX_SEED: 'test',
    },
    ...asked(),
    '--json',
  );
  const run = documentOf(stdout);
  expect([code, run.status, run.refinable?.allowed]).toEqual([0, 'completed', true]);
  expect(JSON.parse(stdout)).toEqual(await ofApi(run));
  expect(stderr).toContain('credits, ');
  for (const { name } of run.models) expect(stderr).toContain(`${name} (simulated)`);
  const text = await council.call(`/optimizations/${run.id}/markdown`, { token: person.token });
  expect(await text.text()).toBe(runMarkdown(run));
});

test('optimizations refine --json prints the refinement as the API gives it', async () => {
  const root = await council.ask(person, { challenge: 'Rent or buy?', strategy: 'fast' });
  const words = ['optimizations', 'refine', root.id, '--fact', 'Rents fell.', '--json'];
  const { code, out, said } = await runHere(council, runCommands, words);
  const run = documentOf(out);
  expect([code, run.status, run.root_id]).toEqual([0, 'completed', root.id]);
  expect(JSON.parse(out)).toEqual(await ofApi(run));
  expect(said).toContain('completed');
  expect(said).not.toContain('%');
});

test('a run that fails is printed with its reason, and ends with 1', async () => {
  personas['*'] = 'dead';
  const { code, out } = await runHere(council, runCommands, [...asked(), '--json']);
  const run = documentOf(out);
  expect([code, run.status, run.result]).toEqual([1, 'failed', null]);
  expect(run.ended_because).toEqual(expect.any(String));
});

test('a run that is canceled is printed, and ends with 1', async () => {
  personas['*'] = 'hang';
  const ended = runHere(council, runCommands, [...asked(), '--json']);
  const running = async () => {
    const path = '/optimizations?status=processing';
    return (await council.data<{ id: string }[]>(path, { token: person.token }))[0]?.id;
  };
  await expect.poll(running, { timeout: 20_000 }).toBeDefined();
  const path = `/optimizations/${await running()}/cancel`;
  await council.data(path, { method: 'POST', token: person.token });
  const { code, out } = await ended;
  expect([code, documentOf(out).status]).toEqual([1, 'cancelled']);
});

test('a run that cannot start prints no document', async () => {
  const poor = await council.signUp();
  const words = [...question, '--as', poor.email, '--json'];
  await expect(runHere(council, runCommands, words)).rejects.toMatchObject({
    code: 'insufficient-credits',
  });
  const unknown = [...question.slice(0, 2), '--strategy', 'best', '--json'];
  await expect(runHere(council, runCommands, unknown)).rejects.toThrow(UsageError);
});
