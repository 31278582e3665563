import { readAnchorAge } from '#db/anchors.ts';
import type { Queryable } from '#db/connect.ts';
import { readOpenTransactions } from '#db/reader.ts';
import { projectionLags } from '#projections/engine/checkpoint.ts';
import type { Projection } from '#projections/engine/define.ts';
import { readOpenHolds } from '#projections/optimization-list.ts';
import { readWebhookBacklog } from '#services/payments/webhooks.ts';
import { readJobBacklog } from '#services/platform/jobs/backlog.ts';
import { readMailBacklog } from '#services/platform/mail/backlog.ts';
import type { Reading } from '#services/platform/telemetry/readings.ts';
import type { Definition, Metrics } from '#services/platform/telemetry/registry.ts';

/**
 * Figures of the whole database. Every worker shows the same ones, so a query takes their maximum and never
 * their sum.
 */
export function databaseReadings(
  metrics: Metrics,
  client: Queryable,
  projections: readonly Projection[],
): Reading[] {
  return [
    projectionReading(metrics, client, projections),
    transactionReading(metrics, client),
    holdReading(metrics, client),
    jobReading(metrics, client),
    mailReading(metrics, client),
    webhookReading(metrics, client),
    anchorReading(metrics, client),
  ];
}

function projectionReading(
  metrics: Metrics,
  client: Queryable,
  projections: readonly Projection[],
): Reading {
  const labels = ['projection'] as const;
  const events = metrics.gauge({
    name: 'sevenfold_projection_lag_events',
    help: 'Events that a read model has not read yet, among the next 20,000 of the log',
    labels,
  });
  const seconds = metrics.gauge({
    name: 'sevenfold_projection_lag_seconds',
    help: 'Age of the oldest event that a read model has not read yet; 0 without one',
    labels,
  });
  const setAside = metrics.gauge({
    name: 'sevenfold_set_aside_streams',
    help: 'Streams that a read model has set aside because it could not process an event',
    labels,
  });
  const asynchronous = projections.filter(({ kind }) => kind === 'async');
  return {
    name: 'projections',
    gauges: [events, seconds, setAside],
    async read() {
      const lags = await projectionLags(client, asynchronous);
      return () => {
        for (const { name, pending, lagSeconds, setAside: streams } of lags) {
          const label = { projection: name };
          events.set(label, pending);
          seconds.set(label, lagSeconds);
          setAside.set(label, streams);
        }
      };
    },
  };
}

function transactionReading(metrics: Metrics, client: Queryable): Reading {
  const age = metrics.gauge({
    name: 'sevenfold_xmin_age_transactions',
    help: 'Transactions begun since the oldest that is open (xmin), in any database of the server',
  });
  const still = metrics.gauge({
    name: 'sevenfold_xmin_age_seconds',
    help: 'Seconds for which this process has seen the same transaction as the oldest open one',
  });
  const oldest = metrics.gauge({
    name: 'sevenfold_oldest_transaction_seconds',
    help: 'Age of the oldest open transaction among those that the application may see',
  });
  let seen = { xmin: '', at: 0 };
  return {
    name: 'transactions',
    gauges: [age, still, oldest],
    async read() {
      const open = await readOpenTransactions(client);
      const now = performance.now();
      if (open.age === 0 || open.xmin !== seen.xmin) seen = { xmin: open.xmin, at: now };
      return () => {
        age.set(open.age);
        still.set((now - seen.at) / 1_000);
        oldest.set(open.oldestSeconds);
      };
    },
  };
}

const jobStates = ['due', 'queued', 'running', 'scheduled', 'failed'] as const;

function jobReading(metrics: Metrics, client: Queryable): Reading {
  const jobs = metrics.gauge({
    name: 'sevenfold_jobs',
    help: 'Jobs by task and state: due, queued (waits for another of its queue), running, scheduled, failed for good',
    labels: ['task', 'state'],
  });
  const oldest = metrics.gauge({
    name: 'sevenfold_oldest_due_job_seconds',
    help: 'Seconds for which the oldest due job of a task has waited',
    labels: ['task'],
  });
  return {
    name: 'jobs',
    gauges: [jobs, oldest],
    async read() {
      const tasks = await readJobBacklog(client);
      return () => {
        for (const { task, oldestDueSeconds, ...counts } of tasks) {
          for (const state of jobStates) jobs.set({ task, state }, counts[state]);
          oldest.set({ task }, oldestDueSeconds);
        }
      };
    },
  };
}

/** Rows that wait, and the age of the oldest; 0 without one. */
function backlogReading(
  metrics: Metrics,
  name: string,
  [waiting, age]: readonly [Definition<never>, Definition<never>],
  read: () => Promise<{ count: number; oldestSeconds: number }>,
): Reading {
  const count = metrics.gauge(waiting);
  const oldest = metrics.gauge(age);
  return {
    name,
    gauges: [count, oldest],
    async read() {
      const backlog = await read();
      return () => {
        count.set(backlog.count);
        oldest.set(Math.max(0, backlog.oldestSeconds));
      };
    },
  };
}

function holdReading(metrics: Metrics, client: Queryable): Reading {
  const definitions = [
    { name: 'sevenfold_holds_open', help: 'Started runs whose credits are held' },
    {
      name: 'sevenfold_oldest_hold_seconds',
      help: 'Seconds since the oldest run with held credits started; 0 without one',
    },
  ] as const;
  return backlogReading(metrics, 'holds', definitions, async () => readOpenHolds(client));
}

function mailReading(metrics: Metrics, client: Queryable): Reading {
  const definitions = [
    { name: 'sevenfold_mails_queued', help: 'Emails that wait to be sent' },
    {
      name: 'sevenfold_oldest_mail_seconds',
      help: 'Age of the oldest email that waits to be sent; 0 without one',
    },
  ] as const;
  return backlogReading(metrics, 'mails', definitions, async () => readMailBacklog(client));
}

function webhookReading(metrics: Metrics, client: Queryable): Reading {
  const definitions = [
    {
      name: 'sevenfold_webhook_events_waiting',
      help: 'Webhook events of the payment provider that are stored and not processed',
    },
    {
      name: 'sevenfold_oldest_webhook_event_seconds',
      help: 'Age of the oldest webhook event that is not processed; 0 without one',
    },
  ] as const;
  return backlogReading(metrics, 'webhooks', definitions, async () => readWebhookBacklog(client));
}

function anchorReading(metrics: Metrics, client: Queryable): Reading {
  const age = metrics.gauge({
    name: 'sevenfold_anchor_age_seconds',
    help: 'Seconds since the newest anchor of the hash chains was made; 0 without one',
  });
  return {
    name: 'anchors',
    gauges: [age],
    async read() {
      const seconds = await readAnchorAge(client);
      return () => age.set(seconds);
    },
  };
}
