import type pg from 'pg';
import type { Queryable } from '#db/connect.ts';
import { inTransaction } from '#db/transaction.ts';
import { countedOutcomes } from '#projections/run-outcome.ts';
import type { CountedOutcome } from '#projections/run-outcome.ts';
import * as v from 'valibot';
import { CommunityFigures, dashboardLimits } from '#services/optimizations/contract/dashboard.ts';
import type { Community, Group } from '#services/optimizations/contract/dashboard.ts';
import { challengeTypes } from '#services/optimizations/run/events.ts';
import { countBands } from '#services/optimizations/outcomes/bands.ts';
import {
  percentileRank,
  decilesOf,
  impossibilityIndex,
  roundDownTo,
  middleMean,
} from './formulas.ts';

/**
 * Figures of customers who chose to share (`docs/decisions/0049-shared-results.md`). They are computed
 * once a week and kept, a group holds its longest members in tens, and each person counts once.
 */

/** What one person adds to a group. */
export type Contribution = {
  userId: string;
  challengeType: string;
  completed: number;
  failed: number;
  /** The sum of the agreement scores, and how many there are. */
  agreement: number;
  scored: number;
};

/** A person's contributions, and the different models that answered in these runs. */
export type Contributor = { userId: string; models: number; of: readonly Contribution[] };

/** `contributors`: those who joined first stand first. */
export function figuresOf(
  contributors: readonly Contributor[],
): Omit<CommunityFigures, 'outcomes'> {
  const { groupStep, standingLeast } = dashboardLimits;
  const active = contributors.filter(({ of }) => completedOf(of) > 0);
  const ranked = active.slice(0, roundDownTo(active.length, groupStep));
  return {
    everyone: groupOf(active.map(({ of }) => of)),
    groups: challengeTypes.flatMap((type) => {
      const group = groupOf(
        active.map(({ of }) => of.filter(({ challengeType }) => challengeType === type)),
      );
      return group === null ? [] : [{ challenge_type: type, ...group }];
    }),
    deciles:
      ranked.length < standingLeast
        ? []
        : decilesOf(ranked.flatMap(({ of, models }) => indexOf(of, models) ?? [])),
  };
}

function groupOf(all: readonly (readonly Contribution[])[]): Group | null {
  const { groupLeast, groupStep } = dashboardLimits;
  const active = all.filter((of) => completedOf(of) > 0);
  if (active.length < groupLeast) return null;
  const members = active.slice(0, roundDownTo(active.length, groupStep));
  const agreement = middleMean(
    members.flatMap((of) => {
      const scored = sum(of, ({ scored: count }) => count);
      return scored === 0 ? [] : [sum(of, ({ agreement: score }) => score) / scored];
    }),
  );
  const success = middleMean(members.flatMap((of) => successOf(of) ?? []));
  return {
    contributors: members.length,
    agreement: agreement === null ? null : Math.round(agreement / 5) * 5,
    success_rate: success === null ? null : Math.round(success * 20) / 20,
  };
}

const sum = (of: readonly Contribution[], value: (one: Contribution) => number): number =>
  of.reduce((all, one) => all + value(one), 0);
const completedOf = (of: readonly Contribution[]): number => sum(of, ({ completed }) => completed);

function successOf(of: readonly Contribution[]): number | null {
  const ended = completedOf(of) + sum(of, ({ failed }) => failed);
  return ended === 0 ? null : completedOf(of) / ended;
}

function indexOf(of: readonly Contribution[], models: number): number | null {
  return impossibilityIndex({ success_rate: successOf(of), models_total: models });
}

/** The Monday of a moment's week, 00:00 UTC. */
export function weekOf(now: number): Date {
  const day = new Date(now);
  const sinceMonday = (day.getUTCDay() + 6) % 7;
  return new Date(
    Date.UTC(day.getUTCFullYear(), day.getUTCMonth(), day.getUTCDate() - sinceMonday),
  );
}

/** `own`: the caller's figures of today. */
export async function readCommunity(
  pool: pg.Pool,
  userId: string,
  now: number,
  own: { success_rate: number | null; models_total: number },
): Promise<Community> {
  const week = weekOf(now);
  const { rows } = await pool.query<{ shares: boolean }>(
    'select shares_statistics_since is not null as shares from users where id = $1',
    [userId],
  );
  const shares = rows[0]?.shares ?? false;
  const { everyone, groups, deciles } = await figuresOfWeek(pool, week);
  const index = impossibilityIndex(own);
  return {
    shares,
    as_of: week.toISOString(),
    everyone,
    groups,
    standing:
      !shares || index === null || everyone === null || deciles.length === 0
        ? null
        : { above_percent: percentileRank(index, deciles), contributors: everyone.contributors },
  };
}

/** The first call of a week computes them; other first calls wait for it. */
export async function figuresOfWeek(pool: pg.Pool, week: Date): Promise<CommunityFigures> {
  const day = week.toISOString().slice(0, 10);
  const stored = await storedFigures(pool, day);
  if (stored !== null) return stored;
  return inTransaction(pool, async (client) => {
    await client.query(`select pg_advisory_xact_lock(hashtextextended('community figures', 0))`);
    const computed = await storedFigures(client, day);
    if (computed !== null) return computed;
    const figures = {
      ...figuresOf(await readContributors(client, week)),
      outcomes: countBands(await readOutcomes(client, week)),
    };
    await client.query(
      `insert into community_figures (week, figures) values ($1, $2)
       on conflict (week) do update set figures = excluded.figures, computed_at = now()`,
      [day, JSON.stringify(figures)],
    );
    await client.query('delete from community_figures where week < $1', [day]);
    return figures;
  });
}

/** Null too for figures of another release, which are computed again. */
async function storedFigures(client: Queryable, day: string): Promise<CommunityFigures | null> {
  const { rows } = await client.query<{ figures: unknown }>(
    'select figures from community_figures where week = $1',
    [day],
  );
  const figures = v.safeParse(CommunityFigures, rows[0]?.figures);
  return figures.success ? figures.output : null;
}

/**
 * The customers who shared before a moment, those who joined first. Free accounts cost nothing to make up, so
 * they do not count; nor do purchases that went back.
 */
const sharing = `sharing as (
  select id, shares_statistics_since as since from users
  where shares_statistics_since < $1 and erasing_at is null
    and (select sum(lot.credits) from paid_lot lot where lot.user_id = users.id
        and lot.paid_minor > 0 and lot.granted_at < $3)
      > coalesce((select refund_pending + refunded + revoked + debt from credit_account account
        where account.user_id = users.id), 0)
  order by shares_statistics_since, id limit $2)`;

const sharingBefore = (before: Date): readonly [before: Date, most: number, customers: Date] => [
  before,
  mostContributors,
  new Date(before.getTime() - dashboardLimits.customerDays * 86_400_000),
];

/** What they said came of their results. */
async function readOutcomes(client: Queryable, before: Date): Promise<CountedOutcome[]> {
  const { rows } = await client.query<{ id: string }>(`with ${sharing} select id from sharing`, [
    ...sharingBefore(before),
  ]);
  const ids = rows.map(({ id }) => id);
  return countedOutcomes(client, ids, before.toISOString());
}

/** They, with their runs up to that moment. Runs on bonus credits do not count, either. */
export async function readContributors(client: Queryable, before: Date): Promise<Contributor[]> {
  const { rows } = await client.query<Contribution & { models: number }>(
    `with ${sharing},
     counted as (
       select sharing.id, sharing.since, run.run_id, run.challenge_type, run.status,
         run.agreement_score
       from sharing
       join optimization_list run on run.user_id = sharing.id
         and run.root_id is null and run.ended_at < $4
       join run_usage usage on usage.user_id = sharing.id and usage.run_id = run.run_id
         and not usage.by_bonus
       where run.status in ('completed', 'failed')),
     answered as (
       select counted.id, count(distinct seat.model)::integer as models
       from counted
       join credit_analytics seat on seat.user_id = counted.id and seat.run_id = counted.run_id
         and seat.answers > 0
       group by counted.id)
     select id as "userId", challenge_type as "challengeType",
       (count(*) filter (where status = 'completed'))::integer as completed,
       (count(*) filter (where status = 'failed'))::integer as failed,
       coalesce(sum(agreement_score) filter (where status = 'completed'), 0)::integer as agreement,
       (count(agreement_score) filter (where status = 'completed'))::integer as scored,
       coalesce(max(answered.models), 0) as models
     from counted left join answered using (id)
     group by id, since, challenge_type
     order by since, id`,
    [...sharingBefore(before), before.toISOString()],
  );
  return [...Map.groupBy(rows, ({ userId }) => userId)].map(([userId, of]) => ({
    userId,
    models: of[0]?.models ?? 0,
    of,
  }));
}

/** More would make the first call of a week slow. */
const mostContributors = 10_000;
