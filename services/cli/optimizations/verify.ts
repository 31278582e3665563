import { open as openFile } from 'node:fs/promises';
import { verifyEvents } from '#db/verify-events.ts';
import { auditOf } from '#services/optimizations/audit/audit.ts';
import { compare, lineOf } from '#services/optimizations/audit/check.ts';
import type { Check } from '#services/optimizations/audit/check.ts';
import { auditedRun } from '#services/optimizations/audit/evidence.ts';
import { gatherEvidence } from '#services/optimizations/audit/gather.ts';
import { closingOf } from '#services/optimizations/audit/money-checks.ts';
import { auditPack } from '#services/optimizations/audit/pack/pack-checks.ts';
import type { PackFindings } from '#services/optimizations/audit/pack/pack-checks.ts';
import { packLimits, readPack } from '#services/optimizations/audit/pack/read.ts';
import { streamOf } from '#services/optimizations/run/events.ts';
import { idPattern } from '#services/platform/ids.ts';
import { recordOpening } from './export.ts';
import { rootsOf } from '#services/cli/credits/anchors.ts';
import {
  counted,
  printable,
  printResult,
  required,
  say,
  UsageError,
} from '#services/cli/command.ts';
import type { CliCall, CliCommand } from '#services/cli/command.ts';
import type { Reading } from '#services/cli/database.ts';
import { sourceOf } from './sealed-source.ts';

export const verify: CliCommand = {
  noun: 'optimizations',
  verb: 'verify',
  arguments: '<run id or evidence file>',
  summary:
    "Recomputes a run's ranking, agreement, cost, charge and prompts. A file needs no database.",
  options: {
    root: {
      type: 'string',
      help: 'Every run of the file must be proved by this root, kept elsewhere; several: a,b',
    },
  },
  async runAlone(call) {
    const named = required(call, 0, 'run id or evidence file');
    if (isRunId(named)) return null;
    const roots = rootsOf(call) ?? [];
    const pack = readPack(await readBounded(named));
    if (!pack.ok) {
      printResult(call, { verified: false, problem: pack.problem }, [
        printable(`NOT  ${pack.problem}`),
        'This is not a file of evidence as it was exported.',
      ]);
      return 1;
    }
    const findings = await auditPack(pack, roots);
    const { runId, events } = auditedRun(pack.evidence);
    return report(call, { runId, events: events.length, ...findings });
  },
  reads: true,
  async run(call) {
    const runId = required(call, 0, 'run id or evidence file');
    if (call.options['root'] !== undefined)
      throw new UsageError('--root is for evidence files; for the database use credits verify');
    const { database } = call;
    const isOperator = database.ownerPool !== null;
    if (isOperator) await recordOpening(database, runId);
    const evidence = await gatherEvidence(sourceOf(database), runId, { open: isOperator });
    if (evidence === null) {
      say('Run not found');
      return 1;
    }
    const { checks, notes } = await auditOf(evidence);
    const { events } = auditedRun(evidence);
    return report(call, {
      runId,
      events: events.length,
      checks: [
        ...(await streamChecks(database, evidence.runs)),
        ...checks,
        ...(await historyChecks(database, runId, events)),
      ],
      notes,
      // These were opened with their key, which opens no text that was changed.
      unproven: [],
    });
  },
};

function isRunId(named: string): boolean {
  return idPattern('opt').test(named);
}

/** @throws UsageError for a file that cannot be read */
async function readBounded(path: string): Promise<Uint8Array> {
  try {
    await using file = await openFile(path);
    const { size } = await file.stat();
    // One byte too many is enough to be refused.
    const bytes = Buffer.alloc(Math.min(size, packLimits.bytes + 1));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
    return bytes.subarray(0, bytesRead);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`Neither a run id nor a file that can be read: ${reason}`);
  }
}

function report(
  call: Pick<CliCall, 'options'>,
  {
    runId,
    events,
    checks,
    notes,
    unproven,
  }: PackFindings & {
    runId: string;
    events: number;
  },
): number {
  const verified = checks.every(({ equal }) => equal);
  printResult(
    call,
    { run_id: runId, events, verified, checks, notes, unproven_texts: unproven },
    [
      ...checks.map(lineOf),
      ...notes.map((note) => `     ${note}`),
      ...unproven.map(
        ({ line, run, event, field }) =>
          `     line ${line}, ${event} of ${run}, text "${field}": nothing in the file proves its words`,
      ),
      verified
        ? verifiedSentence(unproven.length, `${events} events of ${runId}`)
        : 'Differences were found.',
    ].map(printable),
  );
  return verified ? 0 : 1;
}

/** Never a bare "Verified" where a text could have other words. */
function verifiedSentence(unproven: number, subject: string): string {
  if (unproven === 0) return `Verified: ${subject}.`;
  return `Verified, except the words of ${counted(unproven, 'text')}, which nothing in the file proves: ${subject}.`;
}

/** What only the database can show: its rows beside the chain. */
async function streamChecks(
  { pool }: Reading,
  runs: readonly { runId: string }[],
): Promise<Check[]> {
  const checks: Check[] = [];
  for (const { runId } of runs) {
    const { faults } = await verifyEvents(pool, { streamId: streamOf(runId) });
    // The chain is checked for the file, too.
    const others = faults.filter(({ kind }) => kind !== 'chain');
    checks.push(compare(`stored stream of ${runId}`, others, []));
  }
  return checks;
}

async function historyChecks(
  { pool }: Reading,
  runId: string,
  events: Parameters<typeof closingOf>[0],
): Promise<Check[]> {
  const { closed } = closingOf(events);
  if (closed === null) return [];
  const { rows } = await pool.query<{ charged: number }>(
    `select coalesce(-sum(amount), 0)::float8 as charged from credit_history where run_id = $1`,
    [runId],
  );
  return [
    compare('charge in the history', rows[0]?.charged ?? 0, closed.captured - closed.refunded),
  ];
}
