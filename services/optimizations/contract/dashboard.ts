import * as v from 'valibot';
import { Format, Time } from '#services/platform/contract.ts';
import { BiasAnalysis } from './result.ts';
import { ChallengeType, RunId } from './summary.ts';

/** What the dashboards read: the brief, competitive intelligence and the figures of those who share. */

export const dashboardLimits = {
  /** Days of 24 hours of the brief. */
  briefDays: 30,
  /** Decisions in the brief, the newest ones. */
  briefRuns: 20,
  /** Points of agreement and of disagreement that a decision lists. */
  briefPoints: 3,
  /** Completed runs that are searched for one about competitors. */
  searchedRuns: 50,
  /** Days since a contributor's first purchase, at least. */
  customerDays: 28,
  /** Fewer contributors of a group would reveal single people, so it has no figures. */
  groupLeast: 20,
  /** A group grows by so many contributors at a time. */
  groupStep: 10,
  /** Fewer contributors give no standing. */
  standingLeast: 100,
  /** Outcomes of a band of agreement, of as many contributors, before it has a share. */
  outcomesLeast: 30,
} as const;

const Points = (words: string) =>
  v.pipe(v.number(), v.description(`${words}, those that are not listed included`));

export const BriefRun = v.object({
  id: RunId,
  title: v.string(),
  ended_at: Time,
  outcome: v.pipe(v.string(), v.description('The vote in words, such as `No majority`')),
  decision: v.pipe(v.string(), v.description('The one sentence to act on')),
  agreement_score: BiasAnalysis.entries.agreement_score,
  agreement_band: BiasAnalysis.entries.agreement_band,
  simulated: v.pipe(v.boolean(), v.description('Whether at least one seat is simulated')),
  consensus: v.pipe(v.array(v.string()), v.description('What the models agree on; three at most')),
  consensus_total: Points('Points of agreement'),
  open: v.pipe(
    v.array(
      v.object({
        text: v.string(),
        settled_by: v.pipe(
          v.nullable(v.string()),
          v.description('In words, what would settle it; null when no reviewer said so'),
        ),
      }),
    ),
    v.description('What the models disagree on; three at most'),
  ),
  open_total: Points('Disagreements'),
  next_steps: v.pipe(
    v.array(
      v.object({
        action: v.string(),
        facts: v.pipe(
          v.array(v.object({ label: v.string(), text: v.string() })),
          v.description('Who does it, by when, how it is measured, and when to stop, in words'),
        ),
      }),
    ),
    v.description('Those that are not ticked off'),
  ),
  credits: v.pipe(v.nullable(v.number()), v.description('Credits charged in the end')),
});
export type BriefRun = v.InferOutput<typeof BriefRun>;

/** `GET /optimizations/brief`. */
export const BriefQuery = v.strictObject({ format: Format('markdown') });

/** The reply to it. */
export const Brief = v.object({
  from: Time,
  to: Time,
  runs: v.pipe(
    v.array(BriefRun),
    v.description(
      'Decisions of these 30 days, newest first, 20 at most. A run with refinements appears once, with the newest one',
    ),
  ),
  left_out: v.pipe(
    v.number(),
    v.description(
      'Decisions of these days that are not listed: older than the 20 newest, or unreadable',
    ),
  ),
  completed: v.pipe(v.number(), v.description('Runs and refinements that completed')),
  failed: v.pipe(v.number(), v.description('Runs and refinements that failed')),
  cancelled: v.pipe(v.number(), v.description('Runs and refinements that were canceled')),
  credits: v.pipe(
    v.number(),
    v.description('Credits charged for all of these, deleted ones included'),
  ),
});
export type Brief = v.InferOutput<typeof Brief>;

/** `GET /optimizations/competitive`. */
export const CompetitiveReply = v.object({
  run: v.pipe(
    v.nullable(BriefRun),
    v.description('The newest completed run about competitors; null without one'),
  ),
});
export type CompetitiveReply = v.InferOutput<typeof CompetitiveReply>;

const Group = v.object({
  contributors: v.pipe(v.number(), v.description('Contributors in it: 20 or more, in tens')),
  agreement: v.pipe(
    v.nullable(v.number()),
    v.description(
      'Their average agreement, 0–100: the mean of the middle half, in fives; null when none has any',
    ),
  ),
  success_rate: v.pipe(
    v.nullable(v.number()),
    v.description('Their success rates, 0–1: the mean of the middle half, in steps of 0.05'),
  ),
});
export type Group = v.InferOutput<typeof Group>;

export const outcomeBands = ['strong', 'majority', 'contested', 'split', 'none'] as const;

/** What came of results of one band of agreement. */
export const CountedBand = v.object({
  band: v.pipe(
    v.picklist(outcomeBands),
    v.description('The agreement of the results; `none` where it could not be scored'),
  ),
  outcomes: v.pipe(
    v.number(),
    v.description('Outcomes that count, in tens: one of each contributor'),
  ),
  favorable: v.pipe(v.number(), v.description('Those that were better or as expected')),
});
export type CountedBand = v.InferOutput<typeof CountedBand>;

/** What a week's row holds; `deciles` of the impossibility index, empty below 100 contributors. */
export const CommunityFigures = v.object({
  everyone: v.nullable(Group),
  groups: v.array(v.object({ challenge_type: ChallengeType, ...Group.entries })),
  deciles: v.array(v.number()),
  /** Every band, in order. */
  outcomes: v.array(CountedBand),
});
export type CommunityFigures = v.InferOutput<typeof CommunityFigures>;

/** `GET /community`. */
export const Community = v.object({
  shares: v.pipe(v.boolean(), v.description('Whether the caller contributes')),
  as_of: v.pipe(
    Time,
    v.description('The Monday, 00:00, up to which runs and contributors count; ISO 8601 in UTC'),
  ),
  everyone: v.pipe(v.nullable(Group), v.description('All contributors; null below 20')),
  groups: v.pipe(
    CommunityFigures.entries.groups,
    v.description('By type of challenge, those with 20 contributors or more'),
  ),
  standing: v.pipe(
    v.nullable(
      v.object({
        above_percent: v.pipe(
          v.number(),
          v.description(
            "Contributors whose impossibility index is below the caller's: 0–90, in tens",
          ),
        ),
        contributors: v.pipe(v.number(), v.description('100 or more, in tens')),
      }),
    ),
    v.description(
      'Null unless the caller contributes, below 100 contributors, and before a first run has ended',
    ),
  ),
});
export type Community = v.InferOutput<typeof Community>;
