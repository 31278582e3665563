import { councilBefore } from '#services/optimizations/refinement/before.ts';
import { runEventOf } from '#services/optimizations/reading/read-run.ts';
import { claimsToVoteOn } from '#services/optimizations/run/second-round.ts';
import { compare, failed } from './check.ts';
import type { Check } from './check.ts';
import type { AuditedRun } from './evidence.ts';

/** What a refinement starts from, against the run that it names. */
export function refinementChecks({ events }: AuditedRun, runs: readonly AuditedRun[]): Check[] {
  const stored = events[0];
  const created = stored && runEventOf(stored);
  if (created?.type !== 'OptimizationCreated' || !created.data.refines) return [];
  const { previous, previousHead, before: recorded, claims, claimId } = created.data.refines;
  const base = runs.find(({ runId }) => runId === previous);
  if (base === undefined)
    return [failed('the run that it refines', `${previous} is not among the evidence`, stored)];
  const { before, seats, contested } = councilBefore(previous, base.events.map(runEventOf));
  const head = base.events.find(({ streamPosition }) => streamPosition === previousHead?.version);
  return [
    ...(previousHead === undefined
      ? []
      : [
          compare(
            'hash of the run that it starts from',
            previousHead.hash,
            head?.metadata['hash'],
            stored,
          ),
        ]),
    compare('votes, claims and order that it starts from', recorded, before, stored),
    compare('seats that vote again', created.data.seats, seats, stored),
    compare(
      'claims that are voted on again',
      claims,
      claimsToVoteOn(before.ledger, contested, claimId),
      stored,
    ),
  ];
}
