import { auditOf } from '#services/optimizations/audit/audit.ts';
import { all, attempt, compare, failed, nameOf } from '#services/optimizations/audit/check.ts';
import type { Check, Findings } from '#services/optimizations/audit/check.ts';
import { codedCalls, eventAt, promptVersionOf } from '#services/optimizations/audit/evidence.ts';
import type { Evidence } from '#services/optimizations/audit/evidence.ts';
import { closingOf } from '#services/optimizations/audit/money-checks.ts';
import type { PromptFindings } from '#services/optimizations/audit/prompt-checks.ts';
import { promptVersion } from '#services/optimizations/prompts/calls.ts';
import { sizeChecks } from './size-checks.ts';
import { textPlace } from './read.ts';
import type { ReadPack } from './read.ts';
import { manifestOf, promptsLeftOut, textsLeftOut } from './write.ts';

type WholePack = Extract<ReadPack, { ok: true }>;

/** A text in a file whose words nothing in it proves. */
export type UnprovenLine = { line: number; run: string; event: string; field: string };

export type PackFindings = Findings & { unproven: readonly UnprovenLine[] };

/**
 * All checks of a pack. What a manifest says must follow from the lines after it, and nothing that it
 * counts may be missing.
 */
export async function auditPack(pack: WholePack, roots?: readonly string[]): Promise<PackFindings> {
  const oversized = sizeChecks(pack.evidence);
  if (oversized.length > 0) return { checks: oversized, notes: [], unproven: [] };
  const { checks, notes, unproven } = await auditOf(pack.evidence, roots);
  return {
    checks: [
      lengthCheck(pack),
      ...attempt('manifest', () => manifestChecks(pack)),
      ...attempt('end of every run', () => endChecks(pack.evidence)),
      ...attempt('prompts and texts of every event', () => missingChecks(pack)),
      ...checks,
    ],
    notes: [...notes, ...unprovenFacts(pack.evidence)],
    unproven: unproven.flatMap((text) => unprovenLine(pack, text)),
  };
}

/** The file has no whole events of the account, because they hold its balance. A root covers only hashes. */
function unprovenFacts({ credits, anchors, texts }: Evidence): string[] {
  const facts = [
    ...(credits.length > 0 ? ['the times and hashes of the entries of the account'] : []),
    ...(anchors.length > 0 ? ['the number and time of an anchor'] : []),
    ...(texts === 'erased' ? ['that the texts have been erased, and not left out'] : []),
  ];
  return facts.map((fact) => `nothing in the file proves ${fact}`);
}

/** None for a text without an event, which a check has refused. */
function unprovenLine(
  { evidence, textLines }: WholePack,
  { runId, position, field }: PromptFindings['unproven'][number],
): UnprovenLine[] {
  const event = eventAt(evidence.runs, runId, position);
  const line = textLines.get(textPlace(runId, position, field));
  if (event === undefined || line === undefined) return [];
  return [{ line, run: runId, event: nameOf(event), field }];
}

/** Its own check, because nothing else can be computed from a file whose end is missing. */
function lengthCheck({ manifest, lines }: WholePack): Check {
  const name = 'manifest: number of lines';
  if (lines === manifest.lines) return { name, equal: true };
  const counted = `the manifest counts ${manifest.lines} lines, and the file has ${lines}`;
  return failed(name, lines < manifest.lines ? `${counted}: lines are missing` : counted);
}

function manifestChecks({ evidence, manifest }: WholePack): Check[] {
  const own = manifestOf(evidence, manifest);
  return [
    compare('manifest: run', manifest.run, own.run),
    compare('manifest: events and their last hashes', manifest.runs, own.runs),
    compare('manifest: figures', manifest.figures, own.figures),
    compare('manifest: entries of the account', manifest.credits, own.credits),
    compare('manifest: anchors', manifest.anchors, own.anchors),
    versionCheck(evidence),
    compare('manifest: prompts left out', manifest.promptsLeftOut, own.promptsLeftOut),
    ...keyCheck(evidence),
  ];
}

/** Nothing protects the manifest, so it alone must not switch checks off: a call must name the version. */
function versionCheck({ runs, promptVersion: stated }: Evidence): Check {
  const name = 'manifest: version of the prompts';
  const calls = runs.flatMap(codedCalls);
  const isKnown =
    stated === promptVersion ||
    calls.length === 0 ||
    calls.some((event) => promptVersionOf(event) === stated);
  return isKnown
    ? { name, equal: true }
    : failed(
        name,
        `the file was written by another version of this software, with prompts of version ${stated}: this one knows version ${promptVersion}, and no event names another`,
      );
}

/** A pack is only made of ended runs, so one without its end was cut. */
function endChecks({ runs }: Evidence): Check[] {
  const open = runs.filter(({ events }) => closingOf(events).closed === null);
  return all(
    'end of every run',
    open.map(({ runId }) => failed('end of every run', `the events of ${runId} do not end it`)),
  );
}

/** A pack has the key and texts together, or neither. */
function keyCheck({ texts, macKey, opened, prompts }: Evidence): Check[] {
  const name = 'manifest: texts';
  if (texts === 'opened') return [compare(name, texts, macKey === null ? 'sealed' : texts)];
  const isEmpty = macKey === null && opened.length === 0 && prompts.length === 0;
  return [compare(name, texts, isEmpty ? texts : 'opened')];
}

function missingChecks({ evidence, manifest }: WholePack): Check[] {
  const name = 'prompts and texts of every event';
  // The manifest may not choose what is left out: every prompt of this version can be made again.
  const known = new Set(manifest.promptsLeftOut.map(({ run, position }) => `${run} ${position}`));
  const prompts = promptsLeftOut(evidence).filter(({ run, position }) => {
    const event = eventAt(evidence.runs, run, position);
    const isOwn = event === undefined || promptVersionOf(event) === promptVersion;
    return isOwn || !known.has(`${run} ${position}`);
  });
  const missing = [
    ...prompts.map(({ run, position }) =>
      failed(name, 'its prompt is missing', eventAt(evidence.runs, run, position)),
    ),
    ...textsLeftOut(evidence).map(({ event, field }) =>
      failed(name, `its text "${field}" is missing`, event),
    ),
  ];
  if (evidence.texts !== 'opened' || missing.length > 0) return missing;
  return [{ name, equal: true }];
}
