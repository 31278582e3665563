import { exportPack } from '#services/optimizations/audit/pack/export.ts';
import {
  newFile,
  operatorName,
  print,
  required,
  say,
  text,
  UsageError,
} from '#services/cli/command.ts';
import type { CliCommand } from '#services/cli/command.ts';
import { asOperator } from '#services/cli/people/operator.ts';
import type { Database } from '#services/cli/database.ts';
import { sourceOf } from './sealed-source.ts';

export const exportEvidence: CliCommand = {
  noun: 'optimizations',
  verb: 'export',
  arguments: '<run id>',
  summary: 'Writes the evidence of an ended run as one file, for optimizations verify.',
  options: {
    evidence: { type: 'boolean', help: 'Every event, with credits and anchors (required)' },
    open: { type: 'boolean', help: 'With decrypted text and prompts (recorded in the audit log)' },
    out: { type: 'string', help: 'The file to write, instead of standard output' },
  },
  reads: true,
  async run(call) {
    const { database } = call;
    const runId = required(call, 0, 'run id');
    if (call.options['evidence'] !== true) throw new UsageError('Missing: --evidence');
    const open = call.options['open'] === true;
    if (open) await recordOpening(asOperator(database), runId);
    const pack = await exportPack(sourceOf(database), runId, { open });
    if (pack.outcome !== 'written') {
      say(pack.outcome === 'unknown' ? 'Run not found' : 'The run has not ended.');
      return 1;
    }
    const out = text(call, 'out');
    if (out === undefined) {
      print(pack.file.trimEnd());
      return 0;
    }
    await using file = await newFile(out);
    await file.writeFile(pack.file);
    say(`Wrote ${out}. Its texts are ${pack.texts}.`);
    return 0;
  },
};

/** Before any text is opened. */
export async function recordOpening({ audit }: Database, runId: string): Promise<void> {
  await audit({ actor: operatorName(), action: 'optimizations.open', subject: runId });
}
