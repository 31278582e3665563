import { counted } from '#services/cli/command.ts';
import { countWorkers } from '#services/cli/runs/workers.ts';
import { longestRunMs } from '#services/models/strategies.ts';
import { readWebhookBacklog } from '#services/payments/webhooks.ts';
import { readJobBacklog } from '#services/platform/jobs/backlog.ts';
import { readMailBacklog } from '#services/platform/mail/backlog.ts';
import { elseOk, ok, warning, wrong } from './finding.ts';
import type { Check } from './finding.ts';

/** A worker takes a job within seconds. */
const waitingSeconds = 300;
/** A deadline that no worker noticed in time runs once more; settling takes some minutes. */
const longestHoldMs = 2 * longestRunMs + 300_000;
const mailSeconds = 900;
const webhookSeconds = 600;
/** Holds that are named. */
const namedHolds = 10;

const workers: Check = {
  name: 'workers',
  async runOnDatabase({ database: { pool } }) {
    const count = await countWorkers({ pool });
    return count > 0
      ? [ok(`${counted(count, 'worker')} at work`)]
      : [warning('no worker is running, so jobs and sweeps wait', 'start the app or a worker')];
  },
};

const jobs: Check = {
  name: 'jobs',
  async runOnDatabase({ database: { pool } }) {
    const tasks = await readJobBacklog(pool);
    return elseOk(
      tasks.flatMap(({ task, failed, oldestDueSeconds: waiting }) => [
        ...(failed > 0
          ? [
              wrong(
                `${counted(failed, 'job')} of ${task} failed for good`,
                `run: jobs list --failed --task ${task}; then jobs retry --task ${task}`,
              ),
            ]
          : []),
        ...(waiting > waitingSeconds
          ? [
              warning(
                `a job of ${task} has waited for ${Math.round(waiting / 60)} min`,
                'start a worker, or raise WORKER_PROCESSES or CALL_SLOTS',
              ),
            ]
          : []),
      ]),
      'none has failed for good or waits too long',
    );
  },
};

const holds: Check = {
  name: 'holds',
  async runOnDatabase({ database: { pool } }) {
    const { rows } = await pool.query<{ run_id: string; at: string; total: string }>(
      `select open.run_id, reserved.at, count(*) over () as total from (
         select account.user_id, jsonb_object_keys(snapshot.state -> 'holds') as run_id
         from credit_account account
         join stream_snapshot snapshot on snapshot.stream_id = 'credits-' || account.user_id
         where account.held > 0
       ) open
       join lateral (
         select m.message_metadata ->> 'occurredAt' as at from emt_messages m
         where m.stream_id = 'credits-' || open.user_id and m.message_type = 'CreditsReserved'
           and m.message_data ->> 'runId' = open.run_id
         order by m.stream_position desc limit 1
       ) reserved on true
       where reserved.at < $1
       order by reserved.at limit $2`,
      [new Date(Date.now() - longestHoldMs).toISOString(), namedHolds],
    );
    const more = Number(rows[0]?.total ?? 0) - rows.length;
    return elseOk(
      [
        ...rows.map(({ run_id: runId, at }) =>
          wrong(
            `${runId} has held credits since ${at}, longer than a run lasts`,
            `run: sweeps run sweep-runs; then events show optimization-${runId}`,
          ),
        ),
        ...(more > 0 ? [wrong(`${more} more holds are as old`, 'see the lines above')] : []),
      ],
      'none is older than a run lasts',
    );
  },
};

const backlogs: Check = {
  name: 'emails and webhooks',
  async runOnDatabase({ env, database: { pool } }) {
    const mails = await readMailBacklog(pool);
    const events = await readWebhookBacklog(pool);
    const minutes = (seconds: number) => `${Math.round(seconds / 60)} min`;
    return elseOk(
      [
        ...(mails.oldestSeconds > mailSeconds
          ? [
              warning(
                `${counted(mails.count, 'email')} not sent, the oldest for ${minutes(mails.oldestSeconds)}`,
                env.smtpUrl === null && env.mode === 'production'
                  ? 'set SMTP_URL'
                  : 'run: jobs list --task send-mail',
              ),
            ]
          : []),
        ...(events.oldestSeconds > webhookSeconds
          ? [
              wrong(
                `${counted(events.count, 'webhook event')} not processed, the oldest for ${minutes(events.oldestSeconds)}`,
                'run: jobs list --task process-webhook-event',
              ),
            ]
          : []),
      ],
      `${counted(mails.count, 'email')} and ${counted(events.count, 'webhook event')} waiting, none for long`,
    );
  },
};

export const workChecks: readonly Check[] = [workers, jobs, holds, backlogs];
