import * as v from 'valibot';
import { Time, visible } from '#services/platform/contract.ts';
import type { Wire } from '#services/platform/contract.ts';
import { askedDays, happenings } from '#services/optimizations/run/events.ts';
import type { AskedDay } from '#services/optimizations/run/events.ts';
import { BriefRun, CountedBand } from './dashboard.ts';
import { RunId } from './summary.ts';

/** What came of results, as their owners said 30 and 90 days later, and the figures over all of them. */

export const outcomeLimits = {
  did: 1000,
  /** Open questions that one reply lists. */
  listed: 5,
  /** Days after a result after which its last question is no longer listed. */
  lastDay: 180,
} as const;

const Asked = v.pipe(v.picklist(askedDays), v.description('Days after the result'));
const Happened = v.pipe(
  v.picklist(happenings, 'Choose what happened'),
  v.description('`too_early`: nothing can be said yet'),
);
const missingAct = 'Write what you did, or choose that it is too early to say';

/** The day in the address. */
export const AskedText = v.pipe(
  v.string(),
  v.regex(new RegExp(`^(?:${askedDays.join('|')})$`), `The day must be ${askedDays.join(' or ')}`),
  v.transform((day) => Number(day) as AskedDay),
  v.metadata({ wire: { type: 'integer', enum: [...askedDays] } } satisfies Wire),
  v.description('Days after the result'),
);

/** `PUT /optimizations/{id}/outcomes/{day}`. */
export const OutcomeRequest = v.pipe(
  v.strictObject({
    did: v.pipe(
      v.string(missingAct),
      v.trim(),
      v.maxLength(
        outcomeLimits.did,
        `At most ${outcomeLimits.did.toLocaleString('en-US')} characters`,
      ),
      visible,
      v.description('What the user did; it may be empty while it is too early'),
    ),
    happened: Happened,
  }),
  v.forward(
    v.partialCheck(
      [['did'], ['happened']],
      ({ did, happened }) => did !== '' || happened === 'too_early',
      missingAct,
    ),
    ['did'],
  ),
);
export type OutcomeRequest = v.InferOutput<typeof OutcomeRequest>;

export const Outcome = v.object({
  asked: Asked,
  happened: Happened,
  did: v.pipe(v.string(), v.description('What the user did; may be empty')),
  at: Time,
  result_id: v.pipe(
    RunId,
    v.description('The run whose result it is about: the run itself, or a refinement of it'),
  ),
});
export type Outcome = v.InferOutput<typeof Outcome>;

/** A question that can be answered now. */
export const OutcomeQuestion = v.object({
  asked: Asked,
  since: v.pipe(Time, v.description('Since when it is asked, ISO 8601 in UTC')),
});
export type OutcomeQuestion = v.InferOutput<typeof OutcomeQuestion>;

export const OutcomeReply = v.object({
  outcomes: v.array(Outcome),
  outcome_question: v.pipe(
    v.nullable(OutcomeQuestion),
    v.description('The question that is still open; null without one'),
  ),
});

/** `GET /optimizations/outcomes/due`. */
export const DueOutcomes = v.object({
  due: v.pipe(
    v.array(
      v.object({
        ...OutcomeQuestion.entries,
        id: v.pipe(RunId, v.description('The run, under whose id the answer is recorded')),
        result_id: v.pipe(RunId, v.description('Its newest result, which the question is about')),
        title: BriefRun.entries.title,
        decision: BriefRun.entries.decision,
        agreement_score: BriefRun.entries.agreement_score,
        agreement_band: BriefRun.entries.agreement_band,
        simulated: BriefRun.entries.simulated,
      }),
    ),
    v.description(`Those that came last, first; ${outcomeLimits.listed} at most`),
  ),
  total: v.pipe(v.number(), v.description('Open questions, those that are not listed included')),
});
export type DueOutcomes = v.InferOutput<typeof DueOutcomes>;
export type DueOutcome = DueOutcomes['due'][number];

/** `POST /optimizations/{id}/outcomes/{day}/dismiss`. */
export const DismissedReply = v.object({ id: RunId, asked: Asked, dismissed: v.literal(true) });

/** `GET /optimizations/outcomes`. */
export const OutcomeFigures = v.object({
  as_of: v.pipe(
    Time,
    v.description('The Monday, 00:00, up to which outcomes count; ISO 8601 in UTC'),
  ),
  least: v.pipe(v.number(), v.description('Outcomes of a band before it has a share')),
  bands: v.array(
    v.object({
      band: CountedBand.entries.band,
      outcomes: CountedBand.entries.outcomes,
      share: v.pipe(
        v.nullable(v.number()),
        v.description(
          '0–1: those that were better or as expected; null below the least number of outcomes',
        ),
      ),
      interval: v.pipe(
        v.nullable(
          v.object({
            low: v.pipe(v.number(), v.description('Its lower end, 0–1')),
            high: v.pipe(v.number(), v.description('Its upper end, 0–1')),
          }),
        ),
        v.description('The Wilson interval of the share at 95%, 0–1; null without a share'),
      ),
    }),
  ),
});
export type OutcomeFigures = v.InferOutput<typeof OutcomeFigures>;
