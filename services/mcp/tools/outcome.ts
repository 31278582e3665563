import * as v from 'valibot';
import { BiasAnalysis, RunResult } from '#services/optimizations/contract/result.ts';
import { RunId, RunStatus } from '#services/optimizations/contract/summary.ts';

const { agreement_score, agreement_band } = BiasAnalysis.entries;
const { heading } = RunResult.entries;

/** What the tool `result` answers with. Models are named as on the run's page: "Grok 5 (R2)". */
export const Outcome = v.object({
  run_id: RunId,
  status: RunStatus,
  question: v.string(),
  simulated: v.pipe(v.boolean(), v.description('Whether a model of the panel was simulated')),
  simulated_notice: v.pipe(
    v.nullable(v.string()),
    v.description('Show it to the user with the result; null when all models were real'),
  ),
  simulated_question: v.pipe(
    v.nullable(v.string()),
    v.description('The question that simulated answers are about, where it is not the one asked'),
  ),
  missing_models: v.pipe(
    v.nullable(v.string()),
    v.description('Which models of the panel have no answer, and what that means; null for none'),
  ),
  ended_because: v.pipe(
    v.nullable(v.string()),
    v.description('Why the run failed or was canceled; null otherwise'),
  ),
  heading: v.nullable(heading),
  outcome: v.pipe(
    v.nullable(v.string()),
    v.description('The heading in words, such as `Recommended by 5 of 7 models`'),
  ),
  decision: v.pipe(
    v.nullable(v.string()),
    v.description(
      'The one sentence to act on. With `no_majority` it is only the tie-break for a user who must decide today; with `undecidable` it says what is open',
    ),
  ),
  option: v.pipe(v.nullable(v.string()), v.description('The option in words')),
  explanation: v.pipe(
    v.nullable(v.string()),
    v.description('The vote behind the heading, and who checked the text'),
  ),
  votes: v.pipe(
    v.nullable(
      v.object({
        for: v.pipe(v.number(), v.description('Models that voted for the option')),
        total: v.pipe(v.number(), v.description('Models whose vote was counted')),
      }),
    ),
    v.description('Null without a result'),
  ),
  agreement_score,
  agreement_band,
  confidence_note: v.pipe(
    v.nullable(v.string()),
    v.description('What the agreement does and does not say'),
  ),
  missing_facts: v.pipe(
    v.array(v.string()),
    v.description('With `undecidable`, what would be needed to decide'),
  ),
  objection: v.pipe(
    v.nullable(v.object({ model: v.string(), text: v.string() })),
    v.description('The strongest objection to the decision'),
  ),
  dissent: v.pipe(
    v.array(
      v.object({
        option: v.pipe(v.string(), v.description('What these models voted for')),
        models: v.array(v.string()),
        reason: v.pipe(v.nullable(v.string()), v.description('In the words of one of them')),
      }),
    ),
    v.description('Who disagreed and why: every vote for another option, by option'),
  ),
  options: v.pipe(
    v.array(v.object({ option: v.string(), models: v.array(v.string()) })),
    v.description('The options side by side when none was chosen; otherwise empty'),
  ),
  flaws: v.pipe(
    v.array(
      v.object({
        about: v.pipe(v.string(), v.description('The model whose answer has the flaw')),
        reviewers: v.array(v.string()),
        texts: v.array(v.string()),
        reply: v.nullable(v.string()),
      }),
    ),
    v.description('Mistakes that two or more reviewers found in the chosen option'),
  ),
  next_steps: v.array(
    v.object({
      action: v.string(),
      owner: v.string(),
      by_days: v.pipe(v.nullable(v.number()), v.description('Days from the end of the run')),
      measure: v.string(),
      stop_if: v.string(),
    }),
  ),
  changed: v.pipe(
    v.nullable(v.string()),
    v.description('Of a refinement: what it changed in the result before it'),
  ),
  credits: v.object({
    price: v.number(),
    charged: v.pipe(v.nullable(v.number()), v.description('Null until it is settled')),
    refunded: v.pipe(v.nullable(v.number()), v.description('Null until it is settled')),
  }),
  refine_price: v.pipe(
    v.nullable(v.number()),
    v.description('Credits that `refine` would cost now; null when it cannot be refined'),
  ),
  newer_run_id: v.pipe(
    v.nullable(RunId),
    v.description('The newest completed refinement, whose result replaces this one'),
  ),
  page: v.pipe(v.string(), v.description("The run's page, for its owner")),
});
export type Outcome = v.InferOutput<typeof Outcome>;
