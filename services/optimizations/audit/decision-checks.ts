import { currentMetric, metricOf } from '#services/optimizations/council/metric.ts';
import type { OptimizationEvent } from '#services/optimizations/run/events.ts';
import { claimsSlot, draftSlot, modelOf } from '#services/optimizations/run/slots.ts';
import {
  closeOpinions,
  conclude,
  countReviews,
  fallBack,
  fallbackLedger,
  later,
  progress,
  publishedHeading,
} from '#services/optimizations/run/stages.ts';
import { evolve, initialState, isOpen } from '#services/optimizations/run/state.ts';
import type { OpenState, RunState } from '#services/optimizations/run/state.ts';
import { runEventOf } from '#services/optimizations/reading/read-run.ts';
import { all, compare, failed } from './check.ts';
import type { Check } from './check.ts';
import type { AuditedRun, StoredEvent } from './evidence.ts';
import { plannedSlots } from './plan.ts';

/**
 * Everything that code decided in a run, decided again from the events before it: who reads which
 * answer under which label, the claims, the count of the ballots, and what the run ends with.
 */
export function decisionChecks(run: AuditedRun): Check[] {
  const planned = plannedSlots(run);
  const checks: Check[] = [];
  const models: Check[] = [];
  let state = initialState();
  let previous: OptimizationEvent | null = null;
  for (const stored of run.events) {
    const event = runEventOf(stored);
    if (event.type === 'CallStarted') models.push(modelCheck(state, event, stored, planned));
    checks.push(...checksOf({ state, previous }, event, stored));
    state = evolve(state, event);
    previous = event;
  }
  return [...all('models that were called', models), ...checks];
}

type Before = { state: RunState; previous: OptimizationEvent | null };
type EventOf<Type extends OptimizationEvent['type']> = Extract<OptimizationEvent, { type: Type }>;

function modelCheck(
  state: RunState,
  { data }: EventOf<'CallStarted'>,
  at: StoredEvent,
  planned: ReadonlySet<string>,
): Check {
  const name = 'model that was called';
  if (!isOpen(state)) return failed(name, 'the run was not in progress', at);
  if (!planned.has(data.slot)) return failed(name, 'the run has no such slot', at);
  return compare(name, identity(data), identity(modelOf(data.slot, state)), at);
}

function identity(of: { model: string; provider: string; simulated: boolean; remoteId?: string }) {
  return [of.model, of.provider, of.simulated, of.remoteId ?? of.model];
}

function checksOf(before: Before, event: OptimizationEvent, at: StoredEvent): Check[] {
  const { state } = before;
  switch (event.type) {
    case 'OpinionsClosed':
      return [orderCheck(state, event, at)];
    case 'ClaimsFixed':
      return [claimsCheck(state, event, at)];
    case 'ReviewsClosed':
      return [votersCheck(state, event, at)];
    case 'ScoresComputed':
      return scoreChecks(before, event, at);
    case 'DraftChecked':
      return [draftCheck(state, event, at)];
    case 'SynthesisJudged':
      return [judgmentCheck(state, event, at)];
    case 'RunConcluded':
      return [conclusionCheck(before, event, at)];
    default:
      return [];
  }
}

/** Everything random in a run follows from its seed. */
function orderCheck(state: RunState, { data }: EventOf<'OpinionsClosed'>, at: StoredEvent): Check {
  const name = 'answers, their shuffled order, and the labels of each reviewer';
  if (state.stage !== 'opinions') return outOfStage(name, at);
  const now = later(data.claimsHardAt, -state.schedule.deadlinesMs.claims);
  return compare(name, data, closeOpinions(state, data.reason, now).data, at);
}

function claimsCheck(state: RunState, { data }: EventOf<'ClaimsFixed'>, at: StoredEvent): Check {
  const name = 'claims and options';
  if (state.stage !== 'claims') return outOfStage(name, at);
  const { claims, options, notes, source } = data;
  const fixed = { claims, options, notes };
  if (source === 'fallback') {
    const { data: own } = fallbackLedger(state, data.reviewsSoftAt) as EventOf<'ClaimsFixed'>;
    // Runs of 0.1 had no option that says that the question cannot be decided.
    const known = own.options.slice(0, options.length);
    return compare(name, fixed, { claims: own.claims, options: known, notes: own.notes }, at);
  }
  const outcome = state.calls[claimsSlot(source === 'extractor' ? 1 : 2)]?.outcome;
  if (outcome?.kind !== 'claims') return failed(name, 'no model has merged the claims', at);
  return compare(
    name,
    fixed,
    { claims: outcome.claims, options: outcome.options, notes: outcome.notes },
    at,
  );
}

/** The metric is only named later, so the exclusion is checked with the scores. */
function votersCheck(state: RunState, { data }: EventOf<'ReviewsClosed'>, at: StoredEvent): Check {
  const name = 'reviewers whose ballots arrived';
  if (state.stage !== 'reviews') return outOfStage(name, at);
  const { ballots, missing } = countReviews(state);
  return compare(name, [data.reviewers, data.missing], [Object.keys(ballots), missing], at);
}

/** Counts the ballots again. */
function scoreChecks(
  { state, previous }: Before,
  { data }: EventOf<'ScoresComputed'>,
  at: StoredEvent,
): Check[] {
  if (state.stage !== 'reviews') return [compare('stage of the count', state.stage, 'reviews', at)];
  const metric = metricOf(data.metricVersion);
  if (metric === null)
    return [compare('version of the metric', data.metricVersion, currentMetric.version, at)];
  const { scores, inputs, excluded } = countReviews(state, metric);
  const closed = previous?.type === 'ReviewsClosed' ? previous.data.excluded : null;
  const { inputs: counted, synthesisHardAt: _hardAt, ...recorded } = data;
  const { order, agreement, verdict, ...others } = recorded;
  const { order: _order, agreement: _agreement, verdict: _verdict, ...recounted } = scores;
  return [
    compare('ballots that were counted', counted, inputs, at),
    compare('seat left out', closed, excluded, at),
    compare('order', order, scores.order, at),
    compare('agreement', agreement, scores.agreement, at),
    ...(verdict || scores.verdict
      ? [compare('what the vote decided', verdict, scores.verdict, at)]
      : []),
    compare('all other scores', others, recounted, at),
  ];
}

function draftCheck(state: RunState, { data }: EventOf<'DraftChecked'>, at: StoredEvent): Check {
  const name = `checks of draft ${data.round}`;
  const outcome = 'calls' in state ? state.calls[draftSlot(data.round)]?.outcome : null;
  return compare(name, data.checks, outcome?.kind === 'draft' ? outcome.checks : null, at);
}

/** A deadline may also have ended it; when it was due is no part of the events. */
function judgmentCheck(
  state: RunState,
  { data }: EventOf<'SynthesisJudged'>,
  at: StoredEvent,
): Check {
  const name = `judgment of draft ${data.round}`;
  if (state.stage !== 'synthesis') return outOfStage(name, at);
  // Runs of 0.1 had verifiers also where the panel agreed on nothing.
  const comparable = ({ verified, ...rest }: typeof data) =>
    state.verdict === null ? rest : { ...rest, verified };
  const judged = [
    progress(state, '')[0],
    fallBack(state, ['deadline'])[0],
    fallBack(state, ['run_deadline'])[0],
  ].flatMap((event) =>
    event?.type === 'SynthesisJudged'
      ? [compare(name, comparable(data), comparable(event.data), at)]
      : [],
  );
  return judged.find(({ equal }) => equal) ?? judged[0] ?? outOfStage(name, at);
}

function conclusionCheck(
  { state, previous }: Before,
  { data }: EventOf<'RunConcluded'>,
  at: StoredEvent,
): Check {
  const name = 'conclusion and heading';
  if (state.stage !== 'draft' && !isOpen(state)) return outOfStage(name, at);
  if (data.outcome === 'completed' && !isReached(previous, data.reason))
    return outOfStage(name, at);
  const heading = headingFor(state, data);
  const { data: own } = conclude(
    state,
    data.outcome,
    heading,
    data.reason,
  ) as EventOf<'RunConcluded'>;
  const { draftFailed, ...asBefore } = own;
  return compare(
    name,
    data,
    data.draftFailed === undefined ? asBefore : { ...asBefore, draftFailed },
    at,
  );
}

/** A completed run follows from a draft that was accepted, or given up, or that nobody could write. */
function isReached(previous: OptimizationEvent | null, reason: string | null): boolean {
  if (reason === 'no_ledger') return previous?.type === 'ScoresComputed';
  const verdict = previous?.type === 'SynthesisJudged' ? previous.data.verdict : null;
  return verdict === (reason === null ? 'accept' : 'fallback');
}

/** The vote decides it. Without a reason of its own, a completed run has a draft that was accepted. */
function headingFor(
  state: Extract<RunState, { stage: 'draft' }> | OpenState,
  { outcome, reason }: EventOf<'RunConcluded'>['data'],
) {
  if (outcome !== 'completed' || state.stage !== 'synthesis') return null;
  return publishedHeading(state, reason === null);
}

function outOfStage(name: string, at: StoredEvent): Check {
  return failed(name, 'the events before it do not lead here', at);
}
