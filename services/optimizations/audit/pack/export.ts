import { softwareVersion } from '#services/platform/process/software.ts';
import { auditedRun } from '#services/optimizations/audit/evidence.ts';
import type { Evidence } from '#services/optimizations/audit/evidence.ts';
import { gatherEvidence } from '#services/optimizations/audit/gather.ts';
import type { GatherDependencies } from '#services/optimizations/audit/gather.ts';
import { closingOf } from '#services/optimizations/audit/money-checks.ts';
import { packLines } from './write.ts';

/** `unended`: a run in progress has no settlement to check. */
export type ExportedPack =
  | { outcome: 'unknown' | 'unended' }
  | { outcome: 'written'; file: string; texts: Evidence['texts'] };

export async function exportPack(
  dependencies: GatherDependencies & { clock: () => number },
  runId: string,
  texts: { open: boolean },
): Promise<ExportedPack> {
  const evidence = await gatherEvidence(dependencies, runId, texts);
  if (evidence === null) return { outcome: 'unknown' };
  if (closingOf(auditedRun(evidence).events).closed === null) return { outcome: 'unended' };
  const exportedAt = new Date(dependencies.clock()).toISOString();
  const lines = packLines(evidence, { exportedAt, software: softwareVersion });
  return { outcome: 'written', file: `${lines.join('\n')}\n`, texts: evidence.texts };
}
