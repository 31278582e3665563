import type { QueryKey } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useSyncExternalStore } from 'react';
import type { Balance } from '#services/credits/contract.ts';
import type { Fact, Snapshot } from '#services/live/contract.ts';
import type { ListedRun } from '#services/optimizations/contract/run.ts';
import type { OptimizationSummary, RunStatus } from '#services/optimizations/contract/summary.ts';
import { type RunView } from '#services/optimizations/reading/view.ts';
import { ApiProblem, currentAccessToken, type Page } from '#web/api/api.ts';
import { analyticsQuery, balanceQuery } from '#web/features/credits/queries.ts';
import { statsQuery, usageQuery } from '#web/features/dashboard/queries.ts';
import {
  onSessionEnd,
  restoreSession,
  useSession,
} from '#web/features/identity/sessions/session.ts';
import { accountQuery } from '#web/api/account.ts';
import { type RunChoice, runQuery, runsKey } from '#web/features/runs/queries.ts';
import { type Connection, createConnection, type StreamMessage } from './connection.ts';
import { createPace } from './pace.ts';
import { isTorn, type RunState, withCopy, withDelta, withFact } from './run-state.ts';
import { type ProblemAction, problemAction, problemSentence } from '#web/api/problem-words.ts';
import { queryClient } from '#web/api/query-client.ts';
import { isMotionReduced } from '#web/ui/display.ts';
import { createSignal } from '#web/ui/signal.ts';
import { dueOutcomesQuery } from '#web/run/outcomes/calls.ts';
import { withTicksOf } from '#web/run/ticks.ts';

/**
 * The live part of the page: one stream per tab, a store for each run on screen, and the query
 * cache. A run's store is outside React and drawn at a steady rate. The cache changes only for rare
 * facts: a balance, a list, the end of a run.
 */
export type RunPhase =
  | { readonly status: 'loading' }
  | { readonly status: 'ready' }
  | { readonly status: 'missing' }
  /** Retried automatically at `retryAt` (ms). */
  | {
      readonly status: 'failed';
      readonly message: string;
      readonly action: ProblemAction;
      readonly retryAt: number;
    };

type Run = {
  readonly id: string;
  phase: RunPhase;
  arrived: RunState | null;
  drawn: RunState | null;
  readonly listeners: Set<() => void>;
  loading: Promise<void> | null;
  failures: number;
  retry: ReturnType<typeof setTimeout> | undefined;
  watchers: number;
};

const loadBackoffMs = [1_000, 2_000, 5_000, 10_000] as const;
/** Polling starts after this long without a stream. */
const pollAfterMs = 20_000;
const pollEveryMs = 5_000;
/** A run stays watched briefly after its page is left, because users come back. */
const releaseAfterMs = 15_000;
/** Unwatched runs are forgotten beyond this number. */
const keptRuns = 4;

const runs = new Map<string, Run>();
const connectionChanges = createSignal();
let connection: Connection = { status: 'idle' };
let serverAheadMs = 0;
let updatedAt: number | null = null;
let watched: string | null = null;
/** After the first snapshot, another one means the stream was down too long to resume. */
let hadSnapshot = false;
let users = 0;

const stream = createConnection({
  token: currentAccessToken,
  renew: restoreSession,
  isOnline: () => navigator.onLine,
  onMessage: receive,
  onStatus: setConnection,
  onServerTime: (serverMs) => {
    serverAheadMs = serverMs - Date.now();
  },
  onMissing: (runId) => {
    const run = runs.get(runId);
    if (run) setPhase(run, { status: 'missing' });
    if (watched === runId) watched = null;
  },
  random: Math.random,
});

const pace = createPace(draw, () => ({
  hidden: document.hidden,
  reducedMotion: isMotionReduced(),
}));

// ── incoming messages ───────────────────────────────────────────────────────────────────────────

function receive(message: StreamMessage): void {
  updatedAt = Date.now();
  switch (message.kind) {
    case 'snapshot':
      return receiveSnapshot(message.snapshot);
    case 'fact':
      return receiveFact(message.fact);
    case 'delta': {
      const run = runs.get(message.delta.run);
      if (run?.arrived) setArrived(run, withDelta(run.arrived, message.delta));
      return undefined;
    }
    case 'stale':
      for (const { queryKey } of figuresOf[message.name] ?? [])
        void queryClient.invalidateQueries({ queryKey });
  }
}

function receiveSnapshot({ balance, runs: rows, run: copy }: Snapshot): void {
  // Whatever happened without a stream moved the ledger, too.
  if (balance) {
    if (!isKnownBalance(balance)) refreshCredits();
    setBalance(balance);
  }
  const known = cachedRows();
  for (const row of rows) {
    patchRow(row.id, row);
    report({ id: row.id, status: row.status, isFirstSight: !hadSnapshot });
  }
  // A snapshot lacks runs deleted meanwhile, and older rows may have gone.
  if (hadSnapshot || rows.some((row) => !known.has(row.id))) void refreshLists();
  hadSnapshot = true;
  const run = copy && runs.get(copy.id);
  if (run) receiveCopy(run, copy.council);
}

function receiveFact(fact: Fact): void {
  const status = statusAfter[fact.type];
  if (status !== undefined) report({ id: fact.entity.id, status, isFirstSight: false });
  switch (fact.entity.kind) {
    case 'account':
      // An account's patch is a whole balance; the fact's contract leaves the shape to its kind.
      setBalance(fact.patch as Balance);
      refreshCredits();
      return undefined;
    case 'run_row':
      if (hidesRow(fact.type)) followHiding(fact);
      // The fact names what moved; the row itself is read with its list.
      else void refreshLists();
      followRefinement(fact.entity.id);
      return undefined;
    case 'run': {
      const run = runs.get(fact.entity.id);
      if (run?.arrived) {
        setArrived(run, withFact(run.arrived, fact));
        if (isTorn(run.arrived)) void load(run);
        if (changesRow(fact.type)) void followInCache(run.arrived.view);
        // Whether it can be refined, and at what price, only the server knows.
        if (fact.type === 'OptimizationCompleted') void load(run);
      }
      if (hidesRow(fact.type)) followHiding(fact);
      return undefined;
    }
  }
}

function receiveCopy(run: Run, view: RunView): void {
  run.failures = 0;
  setArrived(run, withCopy(run.arrived, view));
  if (run.phase.status !== 'ready') {
    run.drawn = run.arrived;
    setPhase(run, { status: 'ready' });
    followWatch();
  }
}

function setArrived(run: Run, next: RunState): void {
  if (next === run.arrived) return;
  run.arrived = next;
  pace.request();
}

function draw(): void {
  for (const run of runs.values()) {
    if (run.drawn === run.arrived) continue;
    run.drawn = run.arrived;
    for (const listener of run.listeners) listener();
  }
}

function setPhase(run: Run, phase: RunPhase): void {
  run.phase = phase;
  for (const listener of run.listeners) listener();
}

function setConnection(next: Connection): void {
  if (sameFields(next, connection)) return;
  connection = next;
  followPolling();
  connectionChanges.emit();
}

/** Queries that depend on each read model of the server; those trail the events slightly. */
const figuresOf: Readonly<Record<string, readonly { queryKey: QueryKey }[]>> = {
  credit_analytics: [analyticsQuery, statsQuery],
  run_usage: [usageQuery, statsQuery, accountQuery],
};

// ── the query cache ─────────────────────────────────────────────────────────────────────────────

function setBalance(balance: Balance): void {
  queryClient.setQueryData(balanceQuery.queryKey, balance);
}

function isKnownBalance(balance: Balance): boolean {
  const known = queryClient.getQueryData<Balance>(balanceQuery.queryKey);
  return known === undefined || sameFields(known, balance);
}

/** Queries of the ledger. The stream reports computed figures as stale once they have moved. */
function refreshCredits(): void {
  void queryClient.invalidateQueries({ queryKey: ['credits'] });
}

function cachedPages(): Page<ListedRun>[] {
  return queryClient
    .getQueriesData<Page<ListedRun>>({ queryKey: runsKey })
    .flatMap(([, page]) => (page ? [page] : []));
}

function cachedRows(): Set<string> {
  return new Set(cachedPages().flatMap((page) => page.data.map((row) => row.id)));
}

/**
 * Changes one run's row in every list; its `credits` merge by key. A list that is filtered or
 * sorted by a changed field may now hold other rows, so it is fetched again.
 */
function patchRow(id: string, patch: Partial<OptimizationSummary>): void {
  const before = cachedPages()
    .flatMap((page) => page.data)
    .find((row) => row.id === id);
  const isNotice = ({ title, status }: Partial<OptimizationSummary>): boolean =>
    (title !== undefined && title !== before?.title) ||
    (status !== undefined && status !== before?.status);
  if (isNotice(patch)) void refreshLists(isChosen);
  queryClient.setQueriesData<Page<ListedRun>>({ queryKey: runsKey }, (page) =>
    page?.data.some((row) => row.id === id)
      ? {
          ...page,
          data: page.data.map((row) =>
            row.id === id
              ? { ...row, ...patch, credits: { ...row.credits, ...patch.credits } }
              : row,
          ),
        }
      : page,
  );
}

async function refreshLists(which: (key: QueryKey) => boolean = () => true): Promise<void> {
  await queryClient.invalidateQueries({
    queryKey: runsKey,
    predicate: ({ queryKey }) => which(queryKey),
  });
}

/** Whether a list is filtered or sorted by anything but age. */
function isChosen(queryKey: QueryKey): boolean {
  const choice: RunChoice = queryKey[1] ?? {};
  return choice.q !== undefined || choice.status !== undefined || choice.sort === 'credits';
}

/** A run was deleted or restored, here or elsewhere. */
function followHiding({ type, entity: { id } }: Fact): void {
  if (type === 'OptimizationHidden') dropRow(id);
  // Other runs move up or down.
  void refreshLists();
  void queryClient.invalidateQueries({ queryKey: dueOutcomesQuery.queryKey });
  const run = runs.get(id);
  if (!run) return;
  if (type === 'OptimizationHidden') setPhase(run, { status: 'missing' });
  else void load(run);
}

/** Removes a run's row from every list before the lists are fetched again. */
function dropRow(id: string): void {
  queryClient.setQueriesData<Page<ListedRun>>({ queryKey: runsKey }, (page) =>
    page?.data.some((row) => row.id === id)
      ? {
          data: page.data.filter((row) => row.id !== id),
          pagination: { ...page.pagination, total: page.pagination.total - 1 },
        }
      : page,
  );
}

/** A run on screen lists its refinements, of which one has moved. */
function followRefinement(id: string): void {
  for (const run of runs.values()) {
    const listed = run.arrived?.view.refinements ?? [];
    if (run.watchers > 0 && listed.some((one) => one.id === id)) void load(run);
  }
}

const hidesRow = (type: Fact['type']): boolean =>
  type === 'OptimizationHidden' || type === 'OptimizationRestored';

const rowChanges: ReadonlySet<Fact['type']> = new Set<Fact['type']>([
  'ProcessingStarted',
  'ScoresComputed',
  'OptimizationCompleted',
  'OptimizationFailed',
  'OptimizationCancelled',
  'OptimizationRenamed',
]);

const changesRow = (type: Fact['type']): boolean => rowChanges.has(type);

/**
 * The watched run's facts arrive without a row; its row follows from its view. Its words are loaded with
 * the first run that is watched, because most pages describe none.
 */
async function followInCache(view: RunView): Promise<void> {
  const { describeRun, summarize } = await import('#services/optimizations/reading/describe.ts');
  // Its root's row names it while it runs.
  if (view.refines !== null) void refreshLists();
  patchRow(view.id, summarize(view));
  if (view.stage === 'closed')
    queryClient.setQueryData(runQuery(view.id).queryKey, (known) =>
      withTicksOf(known, describeRun(view, serverNow())),
    );
}

// ── runs ────────────────────────────────────────────────────────────────────────────────────────

function runOf(id: string): Run {
  const known = runs.get(id);
  if (known) return known;
  const run: Run = {
    id,
    phase: { status: 'loading' },
    arrived: null,
    drawn: null,
    listeners: new Set(),
    loading: null,
    failures: 0,
    retry: undefined,
    watchers: 0,
  };
  runs.set(id, run);
  forgetOldRuns();
  return run;
}

function forgetOldRuns(): void {
  for (const run of runs.values()) {
    if (runs.size <= keptRuns) return;
    if (run.watchers > 0 || run.id === watched || run.listeners.size > 0) continue;
    clearTimeout(run.retry);
    runs.delete(run.id);
  }
}

/** Fetches a fresh copy; concurrent calls share one. A failed fetch is retried automatically. */
function load(run: Run): Promise<void> {
  clearTimeout(run.retry);
  run.loading ??= ask(run).finally(() => {
    run.loading = null;
  });
  return run.loading;
}

async function ask(run: Run): Promise<void> {
  try {
    const copy = await queryClient.fetchQuery({ ...runQuery(run.id), staleTime: 0 });
    updatedAt = Date.now();
    receiveCopy(run, copy.council);
  } catch (error) {
    if (runs.get(run.id) !== run) return;
    console.warn('Failed to get optimization status', error);
    if (error instanceof ApiProblem && error.status === 404) {
      setPhase(run, { status: 'missing' });
      return;
    }
    // What is on screen stays, with its age beside it.
    if (run.phase.status === 'ready') return;
    const delayMs = loadBackoffMs[Math.min(run.failures, loadBackoffMs.length - 1)] ?? 0;
    run.failures += 1;
    run.retry = setTimeout(() => void load(run), delayMs);
    setPhase(run, {
      status: 'failed',
      message: problemSentence(error),
      action: problemAction(error),
      retryAt: Date.now() + delayMs,
    });
  }
}

const isUnderway = (run: Run | undefined): boolean =>
  run?.phase.status === 'ready' && run.arrived?.view.stage !== 'closed';

/**
 * Points the stream at the run that is on screen and unfinished. An ended run stays watched until
 * another replaces it: reopening the stream would bring nothing.
 */
function followWatch(): void {
  const next = [...runs.values()].findLast((run) => run.watchers > 0 && isUnderway(run));
  if (!next || next.id === watched) return;
  watched = next.id;
  stream.watch(next.id);
}

function watchRun(id: string): () => void {
  const run = runOf(id);
  run.watchers += 1;
  // The newest is the one to watch: a page shows one run.
  runs.delete(id);
  runs.set(id, run);
  followWatch();
  return () => {
    run.watchers -= 1;
    setTimeout(() => {
      if (run.watchers > 0 || watched !== id) return;
      watched = null;
      stream.watch(null);
      followWatch();
    }, releaseAfterMs);
  };
}

// ── when the stream is open ─────────────────────────────────────────────────────────────────────

/** A hidden tab whose run has ended needs no stream: browsers open only six per host. */
function followPage(): void {
  if (users === 0) return;
  if (!document.hidden || isUnderway(runs.get(watched ?? ''))) stream.start();
  else stream.pause();
  if (!document.hidden) stream.hurry();
}

let polling: ReturnType<typeof setTimeout> | undefined;

function followPolling(): void {
  clearTimeout(polling);
  const isUnavailable = connection.status !== 'connected' && connection.status !== 'idle';
  if (isUnavailable) polling = setTimeout(() => void poll(), pollAfterMs);
}

async function poll(): Promise<void> {
  if (!document.hidden) {
    await Promise.all([
      ...[...runs.values()].filter((run) => run.watchers > 0).map((run) => load(run)),
      queryClient.invalidateQueries({ queryKey: balanceQuery.queryKey }),
      refreshLists(),
    ]);
  }
  if (connection.status !== 'connected' && connection.status !== 'idle')
    polling = setTimeout(() => void poll(), pollEveryMs);
}

function connect(): () => void {
  users += 1;
  if (users === 1) {
    document.addEventListener('visibilitychange', followPage);
    addEventListener('online', stream.hurry);
    addEventListener('pageshow', stream.hurry);
  }
  followPage();
  return () => {
    users -= 1;
    if (users > 0) return;
    document.removeEventListener('visibilitychange', followPage);
    removeEventListener('online', stream.hurry);
    removeEventListener('pageshow', stream.hurry);
    stream.pause();
  };
}

/** One user's data must not reach the next. */
onSessionEnd(() => {
  stream.pause();
  stream.watch(null);
  watched = null;
  updatedAt = null;
  hadSnapshot = false;
  for (const run of runs.values()) clearTimeout(run.retry);
  runs.clear();
  reported.clear();
});

// ── the bell ────────────────────────────────────────────────────────────────────────────────────

/** Where a run stands, by a fact or by a snapshot after a gap; may be reported again. */
export type RunReport = {
  readonly id: string;
  readonly status: RunStatus;
  /** From the page's first snapshot: it may have been so for long. */
  readonly isFirstSight: boolean;
};
const runReports = createSignal<[RunReport]>();

const statusAfter: Readonly<Partial<Record<Fact['type'], RunStatus>>> = {
  ProcessingStarted: 'processing',
  OptimizationCompleted: 'completed',
  OptimizationFailed: 'failed',
  OptimizationCancelled: 'cancelled',
};

/** For a listener that comes after the first snapshot. */
const reported = new Map<string, RunReport>();

function report(run: RunReport): void {
  reported.set(run.id, { ...run, isFirstSight: true });
  runReports.emit(run);
}

/** Calls back for every run that the stream reports. */
export function onRunReport(listener: (run: RunReport) => void): () => void {
  for (const run of reported.values()) listener(run);
  return runReports.subscribe(listener);
}

// ── for components ──────────────────────────────────────────────────────────────────────────────

/** Keeps the stream open while a user is signed in. Mounted once, by the signed-in shell. */
export function useLiveStream(): void {
  const { status } = useSession();
  useEffect(() => (status === 'authenticated' ? connect() : undefined), [status]);
}

export function useConnection(): Connection {
  return useSyncExternalStore(connectionChanges.subscribe, () => connection);
}

/** Milliseconds since anything arrived from the server; null before that. */
export function sinceUpdate(): number | null {
  const at = Math.max(updatedAt ?? 0, stream.lastHeardAt() ?? 0);
  return at === 0 ? null : Date.now() - at;
}

/** The server's clock, in milliseconds, to within a second. */
export function serverNow(): number {
  return Date.now() + serverAheadMs;
}

/** Loads a run and keeps it current while it runs. */
export function useRun(id: string): RunPhase {
  useEffect(() => {
    const { phase, arrived } = runOf(id);
    // No fact of an ended run says that it has been refined since.
    if (phase.status !== 'ready' || arrived?.view.stage === 'closed') void load(runOf(id));
    return watchRun(id);
  }, [id]);
  return useSyncExternalStore(
    useCallback((listener: () => void) => subscribeRun(id, listener), [id]),
    () => runOf(id).phase,
  );
}

function subscribeRun(id: string, listener: () => void): () => void {
  const run = runOf(id);
  run.listeners.add(listener);
  return () => run.listeners.delete(listener);
}

/**
 * A part of a run on screen. The component renders again only when the result of `select` is not
 * `equal` to the last one. Only for runs that are `ready`.
 */
export function useRunPart<Part>(
  id: string,
  select: (state: RunState) => Part,
  equal: (one: Part, other: Part) => boolean = Object.is,
): Part {
  const last = useRef<{ state: RunState; select: typeof select; part: Part } | null>(null);
  return useSyncExternalStore(
    useCallback((listener: () => void) => subscribeRun(id, listener), [id]),
    () => {
      const state = runs.get(id)?.drawn;
      const known = last.current;
      // Signing out forgets every run a moment before the page is left.
      if (!state && known) return known.part;
      if (!state) throw new Error(`Run ${id} is not loaded`);
      if (known && known.state === state && known.select === select) return known.part;
      const part = select(state);
      const kept = known && equal(known.part, part) ? known.part : part;
      last.current = { state, select, part: kept };
      return kept;
    },
  );
}

export function sameFields<Fields extends object>(one: Fields, other: Fields): boolean {
  const names = Object.keys(one) as (keyof Fields)[];
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.is(one[name], other[name]))
  );
}

export function reloadRun(id: string): Promise<void> {
  return load(runOf(id));
}
