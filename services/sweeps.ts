import { anchorDaily } from '#db/anchors.ts';
import { sweepOutcomes } from '#services/optimizations/outcomes/sweep.ts';
import { sweepHidden, sweepRuns } from '#services/optimizations/sweep.ts';
import { purgeMessages } from './contact/messages.ts';
import { paymentsOf } from './core.ts';
import type { Core } from './core.ts';
import { sweepUnconfirmed } from './identity/accounts/unconfirmed.ts';
import { sweepErasures } from './identity/erasure/erasure.ts';
import { purgeLinks } from './identity/links/links.ts';
import { purgeSessions } from './identity/sessions/sessions.ts';
import { sweepPlans } from './payments/plans/sweep.ts';
import { reconcileDaily } from './payments/settle/reconcile/daily.ts';
import { sweepPayments } from './payments/settle/sweep.ts';
import type { Sweep } from './platform/jobs/sweeps.ts';
import { purgeMails } from './platform/mail/mail.ts';
import type { Env } from './platform/process/env.ts';
import { sweepAnnouncements } from './policies/changes.ts';

export type Sweeps = Readonly<Record<string, Sweep>>;

/** Every periodic sweep, for a worker's cron and for `sweeps run`. */
export function sweepsOf(
  core: Core,
  env: Pick<Env, 'requireEmailConfirmation' | 'stripe'>,
): { control: Sweeps; money: Sweeps } {
  const { pool, bus, clock, log } = core;
  const now = () => new Date(clock());
  const payments = paymentsOf(core);
  const queueName = 'payment sweeps';
  return {
    control: {
      'sweep-runs': {
        sweep: async () => sweepRuns({ pool, bus, readState: core.readState, clock, log }),
      },
      'sweep-hidden-runs': {
        every: 'hour',
        sweep: async () => sweepHidden({ pool, readState: core.readState, log }),
      },
      'ask-outcomes': { every: 'hour', sweep: async () => sweepOutcomes(core) },
      'sweep-erasures': { sweep: async () => sweepErasures(pool) },
      'purge-sessions': { sweep: async () => purgeSessions(pool, now()) },
      'purge-links': { sweep: async () => purgeLinks(pool, now()) },
      'announce-policies': { sweep: async () => sweepAnnouncements(core) },
      'purge-messages': { every: 'hour', sweep: async () => purgeMessages(core) },
      'purge-mails': { sweep: async () => purgeMails(core) },
      ...(env.requireEmailConfirmation
        ? { 'sweep-unconfirmed': { sweep: async () => sweepUnconfirmed(core) } }
        : {}),
      // Finds in one row that the day has its anchor.
      'anchor-chains': { daily: true, sweep: async () => anchorDaily({ pool, clock, log }) },
    },
    money: {
      'sweep-payments': { queueName, sweep: async () => sweepPayments(payments) },
      'sweep-plans': { queueName, sweep: async () => sweepPlans(payments) },
      // Without payments there are no provider records to compare with.
      ...(env.stripe === null
        ? {}
        : {
            'compare-books': {
              daily: true,
              queueName,
              sweep: async () => reconcileDaily(payments),
            },
          }),
    },
  };
}
