import { readFileSync } from 'node:fs';
import { computeScores } from '#services/optimizations/council/council.ts';
import { metricOf } from '#services/optimizations/council/metric.ts';
import type { CouncilInput } from '#services/optimizations/council/council.ts';
import type { Scores } from '#services/optimizations/run/events.ts';
import { randomOf } from '#tests/support/chance.ts';
import { drawDecision } from './panels/decisions.ts';
import { drawPanel, scenarios } from './panels/scenarios.ts';
import type { Scenario } from './panels/scenarios.ts';

const fullStudy = 4000;
const seed = 7;

/**
 * The council's figures over simulated panels, where the truth is known. The seed is fixed, and every way
 * of ordering reads the same ballots. Prints the tables of `docs/method.md`; a missed promise, or other
 * figures on that page, end the process with 1.
 */
export function benchPanels({ panels = fullStudy }: { panels?: number } = {}): void {
  const studies = scenarios.map((scenario) => studyOf(scenario, panels));
  const decisions = [decide('each on its own', false, panels), decide('shared', true, panels)];
  const tables = [orderTable(studies), bandTable(decisions), conflictTable(decisions)];
  console.log(`\n${panels} panels of each kind\n\n${tables.join('\n\n')}\n`);
  const page = readFileSync(new URL('../../docs/method.md', import.meta.url), 'utf8');
  const faults = [
    ...studies.flatMap(({ missed }) => missed),
    ...(panels !== fullStudy || tables.every((table) => page.includes(table))
      ? []
      : ['docs/method.md has other tables']),
  ];
  for (const fault of faults) console.log(`MISSED  ${fault}`);
  if (faults.length > 0) process.exitCode = 1;
}

// ── which answer is best ────────────────────────────────────────────────────────────────────────

type Study = { row: readonly string[]; missed: readonly string[] };

function studyOf(scenario: Scenario, panels: number): Study {
  const next = randomOf(seed);
  const metric = scenario.metric === undefined ? undefined : metricOf(scenario.metric)!;
  const found = Array.from({ length: panels }, () => {
    const { input, best } = drawPanel(scenario, next);
    const scores = computeScores(input, metric);
    return {
      order: scores.order[0] === best,
      borda: firstOf(bordaPoints(input), scores) === best,
      mark: firstOf(scores.rubricMeans, scores) === best,
      clear: scores.clearWinner === true,
      ordering: scores.ordering,
      isByRate: isSortedBy(scores.q, scores.order),
    };
  });
  const percent = (count: number) => (100 * count) / panels;
  const share = (holds: (one: (typeof found)[number]) => boolean) =>
    percent(found.filter(holds).length);
  const over = share(({ order }) => order) - share(({ borda }) => borda);
  const differing = found.filter(({ order, borda }) => order !== borda).length;
  const clear = share((one) => one.clear);
  const clearAndBest = share((one) => one.clear && one.order);
  const { name, promises } = scenario;
  const missed = [
    ...(promises.overBorda !== undefined && over < promises.overBorda
      ? [`${name}: ${rounded(over)} points over Borda, at least ${promises.overBorda} promised`]
      : []),
    ...(promises.clearWinner !== undefined && clear > promises.clearWinner
      ? [`${name}: ${rounded(clear)} % clear winners, at most ${promises.clearWinner} promised`]
      : []),
    ...(promises.ordering === 'win_rate' &&
    !found.every(({ ordering, isByRate }) => ordering === 'win_rate' && isByRate)
      ? [`${name}: not every order is that of the win rates`]
      : []),
  ];
  return {
    row: [
      name,
      rounded(share(({ order }) => order)),
      rounded(share(({ borda }) => borda)),
      rounded(share(({ mark }) => mark)),
      // Two standard errors of the paired difference.
      `${signed(over)}\u00A0±\u00A0${rounded((200 * Math.sqrt(differing)) / panels)}`,
      promiseOf(promises),
      rounded(clear),
      // Of what rounds to nothing there is no share to speak of.
      Number(rounded(clear)) === 0 ? '–' : rounded((100 * clearAndBest) / clear),
    ],
    missed,
  };
}

/** Answer → mean share of the other answers on a ballot that stand below it. */
function bordaPoints({ seats, ballots }: CouncilInput): Record<string, number> {
  return Object.fromEntries(
    seats.map(({ seat }) => {
      const points = Object.values(ballots).flatMap(({ ranking }) => {
        const place = ranking.findIndex((group) => group.includes(seat));
        return place < 0 ? [] : [(ranking.length - 1 - place) / (ranking.length - 1)];
      });
      return [seat, points.reduce((sum, value) => sum + value, 0) / points.length];
    }),
  );
}

/** The answer with the most; what is equal follows the mean mark. */
function firstOf(
  figures: Readonly<Record<string, number | null>>,
  { rubricMeans }: Scores,
): string | undefined {
  const figure = (from: Readonly<Record<string, number | null>>, seat: string) =>
    Math.round((from[seat] ?? 0) * 1e9);
  return Object.keys(figures).toSorted(
    (a, b) =>
      figure(figures, b) - figure(figures, a) || figure(rubricMeans, b) - figure(rubricMeans, a),
  )[0];
}

function isSortedBy(q: Scores['q'], order: readonly string[]): boolean {
  return order.every((seat, place) => place === 0 || q[order[place - 1]!]! >= q[seat]!);
}

function orderTable(studies: readonly Study[]): string {
  return markdown(
    [
      'Reviewers',
      'Our order, %',
      'Borda, %',
      'Mean mark, %',
      'Our order over Borda',
      'Promised',
      'Clear winner named, %',
      'it is the best, %',
    ],
    studies.map(({ row }) => row),
  );
}

function promiseOf({ overBorda, clearWinner, ordering }: Scenario['promises']): string {
  const promised = [
    ...(overBorda === undefined ? [] : [`at least ${signed(overBorda)}`]),
    ...(clearWinner === undefined ? [] : [`a clear winner in at most ${rounded(clearWinner)}%`]),
    ...(ordering === 'win_rate' ? ['the order of the win rates'] : []),
  ];
  return promised.join('; ') || '–';
}

// ── which decision is right ─────────────────────────────────────────────────────────────────────

type Decisions = {
  errors: string;
  found: readonly {
    band: Scores['agreement']['band'];
    isVoteRight: boolean;
    /** The best-placed answer proposes what was voted for. */
    isOneMind: boolean;
    isOrderRight: boolean;
  }[];
};

function decide(errors: string, areShared: boolean, panels: number): Decisions {
  const next = randomOf(seed);
  const found = Array.from({ length: panels }, () => {
    const { input, right, proposals } = drawDecision(areShared, next);
    const { agreement, decision, order } = computeScores(input);
    const proposed = proposals[order[0]!];
    return {
      band: agreement.band,
      isVoteRight: decision.modal === right,
      isOneMind: proposed === decision.modal,
      isOrderRight: proposed === right,
    };
  });
  return { errors, found };
}

function bandTable(decisions: readonly Decisions[]): string {
  const bands = ['split', 'contested', 'majority', 'strong'] as const;
  return markdown(
    ['Errors', ...bands.map((band) => `${band}, % (panels)`)],
    decisions.map(({ errors, found }) => [
      errors,
      ...bands.map((band) => {
        const held = found.filter((one) => one.band === band);
        const right = held.filter(({ isVoteRight }) => isVoteRight).length;
        return held.length === 0 ? '–' : `${rounded((100 * right) / held.length)} (${held.length})`;
      }),
    ]),
  );
}

function conflictTable(decisions: readonly Decisions[]): string {
  return markdown(
    [
      'Errors',
      'Order and vote disagree, %',
      'then the vote is right, %',
      'then the order is right, %',
    ],
    decisions.map(({ errors, found }) => {
      const apart = found.filter(({ isOneMind }) => !isOneMind);
      const percent = (count: number) => rounded((100 * count) / apart.length);
      return [
        errors,
        rounded((100 * apart.length) / found.length),
        percent(apart.filter(({ isVoteRight }) => isVoteRight).length),
        percent(apart.filter(({ isOrderRight }) => isOrderRight).length),
      ];
    }),
  );
}

// ── the tables ──────────────────────────────────────────────────────────────────────────────────

function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}

function rounded(value: number): string {
  return value.toFixed(1);
}

function signed(value: number): string {
  return `${value < 0 ? '−' : '+'}${rounded(Math.abs(value))}`;
}
