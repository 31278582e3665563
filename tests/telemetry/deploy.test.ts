import { globSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { knownMetrics } from './support/known-metrics.ts';

/** The dashboards, the alerts and the runbook, read from the files themselves. */
type Alert = {
  alert: string;
  expr: string;
  for?: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
};
type Panel = {
  id: number;
  type: string;
  title: string;
  description?: string;
  fieldConfig?: { defaults: { unit?: string } };
  targets?: { expr: string; legendFormat: string }[];
};

const rules = parse(readFileSync('deploy/alerts.yml', 'utf8')) as {
  groups: { rules: Alert[] }[];
};
const alerts = rules.groups.flatMap((group) => group.rules);
const dashboards = globSync('deploy/grafana/*.json').map((file) => ({
  file,
  ...(JSON.parse(readFileSync(file, 'utf8')) as { uid: string; panels: Panel[] }),
}));
const panels = dashboards.flatMap((dashboard) => dashboard.panels);
const expressions = [
  ...alerts.map(({ expr }) => expr),
  ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
];

/** Prometheus gives it to every target, and a label of ours besides its own to each series. */
const ofPrometheus = { metric: 'up', labels: ['job', 'instance', 'process', 'le'] };

const keywords = new Set('by without on ignoring and or unless bool offset'.split(' '));
const lists = /\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g;

/** The series of an expression in PromQL, each with the labels that it is selected by. */
function selectorsOf(expr: string): { name: string; labels: string[] }[] {
  const bare = expr.replaceAll(lists, '').replaceAll(/\[[^\]]*\]/g, '');
  const found = bare.matchAll(/([a-zA-Z_:][\w:]*)\s*(\{[^}]*\})?(\s*\()?/g);
  return [...found].flatMap(([, name = '', matchers = '', isCall]) =>
    isCall !== undefined || keywords.has(name)
      ? []
      : [
          {
            name,
            labels: [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, one]) => one!),
          },
        ],
  );
}

/** The labels that the results of an expression are grouped by. */
function groupsOf(expr: string): string[] {
  return [...expr.matchAll(lists)].flatMap(([, list = '']) =>
    list
      .split(',')
      .map((label) => label.trim())
      .filter((label) => label !== ''),
  );
}

let known: Awaited<ReturnType<typeof knownMetrics>>;
beforeAll(async () => {
  known = await knownMetrics();
});

test('the parser finds every series of an expression and its labels', () => {
  const expr =
    'histogram_quantile(0.9, sum by (le, route) (rate(a_bucket{x="y", z!~"b|c"}[5m]))) > 2 * b or up == 0';
  expect(selectorsOf(expr)).toEqual([
    { name: 'a_bucket', labels: ['x', 'z'] },
    { name: 'b', labels: [] },
    { name: 'up', labels: [] },
  ]);
  expect(groupsOf(expr)).toEqual(['le', 'route']);
});

/** What an expression names and no process can show. */
function unknownIn(expr: string): string[] {
  return selectorsOf(expr).flatMap(({ name, labels }) => {
    const own = name === ofPrometheus.metric ? new Set<string>() : known.get(name);
    if (own === undefined) return [name];
    const possible = new Set([...own, ...ofPrometheus.labels]);
    return [...labels, ...groupsOf(expr)].filter((label) => !possible.has(label));
  });
}

test('dashboards and alerts name only metrics and labels that a process can show', () => {
  expect(expressions.length).toBeGreaterThan(60);
  expect(expressions.filter((expr) => selectorsOf(expr).length === 0)).toEqual([]);
  expect(expressions.filter((expr) => unknownIn(expr).length > 0)).toEqual([]);
  expect(unknownIn('sum by (user) (sevenfold_holds{run="1"}) + sevenfold_jobs{run="1"}')).toEqual([
    'sevenfold_holds',
    'run',
    'user',
  ]);
});

test('every metric of the product is on the dashboard or in an alert', () => {
  const named = new Set(expressions.flatMap(selectorsOf).map(({ name }) => name));
  const shown = (metric: string) =>
    ['', '_bucket', '_sum', '_count'].some((part) => named.has(`${metric}${part}`));
  const own = [...known.keys()].filter((name) => name.startsWith('sevenfold_'));
  const families = new Set(own.map((name) => name.replace(/_(?:bucket|sum|count)$/, '')));
  expect([...families].filter((metric) => !shown(metric))).toEqual([]);
});

describe.each(alerts)('the alert $alert', ({ alert, expr, labels, annotations }) => {
  test('the alert has a severity, and a summary with labels of its expression', () => {
    expect(labels['severity']).toMatch(/^(?:warning|critical)$/);
    const used = [...(annotations['summary'] ?? '').matchAll(/\$labels\.(\w+)/g)];
    const grouped = groupsOf(expr);
    for (const [, label] of used)
      expect(grouped.length === 0 ? ofPrometheus.labels : grouped).toContain(label);
    expect(annotations['summary']).toMatch(/^[A-Z{].*\w/);
  });

  test('the alert links to its section of the runbook', () => {
    expect(annotations['runbook_url']).toBe(`docs/runbook.md#${alert.toLowerCase()}`);
  });
});

test('the runbook has a section for each alert and no other, each with its meaning, checks and remedies', () => {
  const runbook = readFileSync('docs/runbook.md', 'utf8');
  const sections = runbook.split(/^## /m).slice(1);
  const titles = sections.map((section) => section.slice(0, section.indexOf('\n')));
  expect(titles).toEqual(alerts.map(({ alert }) => alert));
  const parts = ['**What it means.**', '**How to check.**', '**What to do.**'];
  const incomplete = sections.filter((section) =>
    parts.some((part) => section.split(part).length !== 2),
  );
  expect(incomplete).toEqual([]);
});

test('every panel has a title, a unit, an expression and a legend for each of several lines, and ids are unique', () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const isComplete = ({ type, title, fieldConfig, targets = [] }: Panel) =>
    title !== '' &&
    (type === 'row' ||
      (Boolean(fieldConfig?.defaults.unit) &&
        targets.length > 0 &&
        (type === 'stat' || targets.every(({ legendFormat }) => legendFormat !== ''))));
  expect(panels.filter((panel) => !isComplete(panel))).toEqual([]);
});
