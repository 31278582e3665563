import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import * as v from 'valibot';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** A file, an import in it, and what the linter has to say. */
const cases = [
  ['services/credits/tasks.ts', 'value', '../platform/command.ts', 'refused'],
  ['services/credits/tasks.ts', 'value', '#services/platform/command.ts', 'allowed'],
  ['services/credits/tasks.ts', 'value', './account.ts', 'allowed'],
  ['services/credits/tasks.ts', 'value', '#projections/credit-account.ts', 'allowed'],
  ['services/credits/tasks.ts', 'value', '#services/optimizations/tasks.ts', 'refused'],
  ['services/credits/tasks.ts', 'type', '#services/optimizations/e.ts', 'allowed'],
  ['services/credits/tasks.ts', 'value', '#db/connect.ts', 'refused'],
  ['services/credits/tasks.ts', 'value', '#services/sandbox/server.ts', 'refused'],
  ['services/credits/tasks.ts', 'value', '#services/api.ts', 'refused'],
  ['services/credits/tasks.ts', 'value', '@event-driven-io/emmett-postgresql', 'refused'],
  ['services/credits/tasks.ts', 'type', '@event-driven-io/emmett', 'allowed'],
  ['services/credits/tasks.ts', 'value', '#services/payments/refunds/refunds.ts', 'refused'],
  [
    'services/payments/refunds/refunds.ts',
    'value',
    '#services/credits/account/cash-refunds.ts',
    'refused',
  ],
  [
    'services/payments/refunds/refunds.ts',
    'type',
    '#services/credits/account/cash-refunds.ts',
    'allowed',
  ],
  ['services/payments/contract.ts', 'value', '#services/credits/contract.ts', 'allowed'],
  ['services/credits/account/account.ts', 'value', '#services/platform/problem.ts', 'allowed'],
  ['services/credits/account/account.ts', 'value', '#services/platform/ids.ts', 'refused'],
  ['services/credits/account/account.ts', 'value', 'node:crypto', 'refused'],
  ['services/credits/account/account.ts', 'type', '@event-driven-io/emmett', 'allowed'],
  ['services/credits/account/state.ts', 'value', 'node:crypto', 'refused'],
  ['services/credits/contract.ts', 'value', 'valibot', 'allowed'],
  ['services/credits/contract.ts', 'value', '#services/platform/process/log.ts', 'refused'],
  ['projections/credit-account.ts', 'type', '#services/credits/e.ts', 'allowed'],
  ['projections/credit-account.ts', 'value', '#services/credits/account/account.ts', 'refused'],
  ['db/streams.ts', 'value', '@event-driven-io/emmett-postgresql', 'allowed'],
  ['db/streams.ts', 'type', '#services/credits/account/account.ts', 'refused'],
  ['db/migrate.ts', 'value', '#projections/index.ts', 'refused'],
  ['services/platform/process/log.ts', 'value', '#services/credits/account/account.ts', 'refused'],
  ['services/models/registry.ts', 'value', '#db/connect.ts', 'refused'],
  ['services/sandbox/server.ts', 'value', '#services/optimizations/p.ts', 'refused'],
  ['services/evaluation/run.ts', 'value', '#services/sandbox/server.ts', 'allowed'],
  ['services/evaluation/run.ts', 'value', '#services/api.ts', 'refused'],
  ['services/worker.ts', 'value', '#services/evaluation/main.ts', 'refused'],
  ['services/api.ts', 'value', '#services/credits/routes.ts', 'allowed'],
  ['services/api.ts', 'value', '#tests/support/app.ts', 'refused'],
  ['web/src/api/api.ts', 'value', '#services/credits/contract.ts', 'allowed'],
  ['web/src/api/api.ts', 'value', '#services/credits/account/account.ts', 'refused'],
  ['web/src/api/api.ts', 'type', '#db/connect.ts', 'refused'],
  ['web/src/api/api.ts', 'value', 'node:fs', 'refused'],
  ['web/src/features/runs/a.ts', 'value', '#web/features/credits/q.ts', 'refused'],
  ['web/src/features/credits/q.ts', 'value', '#web/features/runs/a.ts', 'refused'],
  ['web/src/features/credits/history/h.ts', 'value', '#web/features/credits/q.ts', 'allowed'],
  ['web/src/features/runs/a.ts', 'value', '#web/ui/form/button.tsx', 'allowed'],
  ['web/src/ui/button.ts', 'value', '#services/credits/contract.ts', 'refused'],
  ['web/src/ui/text/figures.ts', 'value', '#services/platform/numbers.ts', 'allowed'],
  ['web/src/ui/text/figures.ts', 'value', '#web/features/runs/a.ts', 'refused'],
  ['tests/credits/account.test.ts', 'value', '#services/credits/account/account.ts', 'allowed'],
] as const;

const files = [...new Set(cases.map(([file]) => file))];

let tree = '';
let refused: ReadonlySet<string> = new Set();

/** All cases of a file are lines of it, in a tree that holds nothing else; one run lints them all. */
beforeAll(async () => {
  tree = mkdtempSync(join(tmpdir(), 'sevenfold-imports-'));
  cpSync('oxlint.config.ts', join(tree, 'oxlint.config.ts'));
  symlinkSync(join(process.cwd(), 'node_modules'), join(tree, 'node_modules'));
  for (const file of files) {
    mkdirSync(join(tree, dirname(file)), { recursive: true });
    writeFileSync(join(tree, file), importsOf(file).join('\n'));
  }
  refused = await refusedLines();
}, 60_000);

afterAll(() => {
  rmSync(tree, { recursive: true, force: true });
});

test.each(cases)('in %s an import as %s of %s is %s', (file, kind, specifier, verdict) => {
  const index = casesOf(file).findIndex((other) => other[1] === kind && other[2] === specifier);
  expect(refused.has(`${file}:${index + 1}`) ? 'refused' : 'allowed').toBe(verdict);
});

const casesOf = (file: string) => cases.filter((each) => each[0] === file);

function importsOf(file: string): string[] {
  return casesOf(file).map(([, kind, specifier], index) =>
    kind === 'type'
      ? `import type * as thing${index} from '${specifier}';`
      : `import * as thing${index} from '${specifier}';`,
  );
}

const Report = v.object({
  diagnostics: v.array(
    v.object({
      code: v.string(),
      filename: v.string(),
      labels: v.array(v.object({ span: v.object({ line: v.number() }) })),
    }),
  ),
});

async function refusedLines(): Promise<ReadonlySet<string>> {
  const { diagnostics } = v.parse(Report, JSON.parse(await lint()));
  const places = diagnostics
    .filter(({ code }) => code === 'eslint(no-restricted-imports)')
    .map(({ filename, labels }) => `${filename}:${labels[0]?.span.line}`);
  return new Set(places);
}

/** The linter's report; it exits with 1 when it found something, which is what we are here for. */
async function lint(): Promise<string> {
  const oxlint = join(process.cwd(), 'node_modules/.bin/oxlint');
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  execFile(oxlint, ['--format', 'json', ...files], { cwd: tree }, (error, stdout) => {
    if (stdout === '' && error !== null) reject(error);
    else resolve(stdout);
  });
  return promise;
}
