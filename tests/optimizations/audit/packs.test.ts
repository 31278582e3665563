import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { optimizationCommands } from '#services/cli/optimizations.ts';
import { runHere } from '#tests/cli/in-process.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { give } from '#tests/support/processes/service.ts';

let council: TestCouncil;
let person: Person;
let folder: string;
const question = { challenge: 'Should I lease the van, or buy it?', strategy: 'balanced' };

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sevenfold-evidence-'));
  council = await createTestCouncil();
  person = await council.signUp();
  await give(council, person.userId, 1000);
});
afterAll(async () => {
  await council.close();
  rmSync(folder, { recursive: true });
});

test('scratch', async () => {
  const { id } = await council.ask(person, question);
  const v1 = await runHere(council, optimizationCommands, ['optimizations', 'verify', id]);
  console.log(v1.out, v1.code);
  const file = join(folder, `${id}.ndjson`);
  console.log(
    await runHere(council, optimizationCommands, [
      'optimizations',
      'export',
      id,
      '--evidence',
      '--open',
      '--out',
      file,
    ]),
  );
  console.log(readFileSync(file).length);
  const v2 = await runHere(council, optimizationCommands, ['optimizations', 'verify', file]);
  console.log(v2.out, v2.code);
  writeFileSync('/tmp/sample.ndjson', readFileSync(file));
});
