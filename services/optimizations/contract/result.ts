import * as v from 'valibot';
import { headings } from '#services/optimizations/run/events.ts';
import { ClaimId, OptionId } from './summary.ts';

const Side = v.object({
  stance: v.string(),
  seats: v.pipe(v.array(v.string()), v.description('Seats that take this side')),
  quote: v.pipe(
    v.nullable(
      v.object({
        seat: v.string(),
        text: v.string(),
        source: v.pipe(
          v.picklist(['reason', 'answer']),
          v.description(
            '`reason`: what the seat wrote with its vote; `answer`: word for word from its answer',
          ),
        ),
        earlier: v.pipe(
          v.boolean(),
          v.description('In a refinement: it was written before the new instruction or fact'),
        ),
      }),
    ),
    v.description('What one of these seats says about it; null when none gave a reason'),
  ),
});
const Disagreement = v.object({
  about: v.pipe(v.string(), v.description('`decision`, or the id of a claim')),
  text: v.string(),
  sides: v.array(Side),
  firm: v.pipe(
    v.array(
      v.object({
        seat: v.string(),
        percent: v.pipe(v.number(), v.description('80–100: how sure the seat says it is')),
      }),
    ),
    v.description(
      'Seats of the minority that are at least 80 of 100 sure, where they alone make the claim disputed; otherwise empty',
    ),
  ),
  settled_by: v.pipe(
    v.nullable(v.string()),
    v.description('In words, what would settle it; null when no reviewer said so'),
  ),
});

const Rejected = v.object({
  claim_id: ClaimId,
  text: v.string(),
  agree: v.pipe(v.array(v.string()), v.description('Seats that agree with it')),
  unsure: v.pipe(v.array(v.string()), v.description('Seats that are unsure of it')),
  against: v.pipe(Side, v.description('Those that disagree with it')),
});
export type Rejected = v.InferOutput<typeof Rejected>;
export type Disagreement = v.InferOutput<typeof Disagreement>;

export const BiasAnalysis = v.object({
  agreement_score: v.pipe(
    v.nullable(v.number()),
    v.description(
      '0–100, whole: how far the models agree. Models of one maker share weight. It is not a probability; `/method` has the formulas. Null when it could not be scored',
    ),
  ),
  agreement_band: v.pipe(
    v.nullable(v.picklist(['strong', 'majority', 'contested', 'split'])),
    v.description('The score in a word; null without one'),
  ),
  agreement_capped: v.pipe(
    v.nullable(v.picklist(['contested', 'copies'])),
    v.description(
      'What caps the score: `contested`, a third or more of the models contest a decisive claim; `copies`, the panel has one maker or fewer than four different models. Null without a cap',
    ),
  ),
  agreement_note: v.pipe(
    v.nullable(v.string()),
    v.description('Why there is no score, or what was not measured, in words'),
  ),
  ordering: v.pipe(
    v.picklist(['kemeny', 'win_rate']),
    v.description(
      'How the answers are ordered: `kemeny`, by the order that contradicts the fewest comparisons; `win_rate`, by the average share of reviewers who preferred an answer to each other one, used where fewer than four compared some two answers. Every reviewer counts the same here: makers share weight in votes only',
    ),
  ),
  two_camps: v.pipe(v.boolean(), v.description('Whether the reviews fall into two camps')),
  clear_winner: v.pipe(
    v.nullable(v.boolean()),
    v.description('Whether one answer is clearly first; null when the reviews do not say'),
  ),
  clear_winner_reason: v.pipe(
    v.picklist([
      'clear',
      'tied_orders',
      'orders_differ',
      'narrow_margin',
      'no_rank_agreement',
      'not_enough_comparisons',
      'copies',
    ]),
    v.description(
      'Why there is a clear winner or none. `orders_differ`: another answer is first by win rates. `copies`: the panel has one maker or fewer than four different models, and copies of one model tend to agree',
    ),
  ),
  disagreement_areas: v.array(Disagreement),
  consensus_points: v.array(v.object({ claim_id: ClaimId, text: v.string() })),
  rejected_claims: v.pipe(
    v.array(Rejected),
    v.description(
      'Claims with more weight against than for, without disputed and uncertain ones; most disagreeing seats first',
    ),
  ),
  model_confidence_scores: v.pipe(
    v.record(v.string(), v.number()),
    v.description(
      '0–100, whole, by seat: the share of its claims that the other models support. It is not a probability',
    ),
  ),
  uncertainty_factors: v.array(
    v.object({
      kind: v.pipe(v.string(), v.description('Stable, for programs')),
      text: v.pipe(v.string(), v.description('The same in words')),
    }),
  ),
  minority_report: v.nullable(
    v.object({
      seat: v.string(),
      position: v.string(),
      votes: v.pipe(
        v.array(
          v.object({
            option_id: OptionId,
            text: v.string(),
            seats: v.array(v.string()),
            argument: v.pipe(
              v.nullable(v.object({ seat: v.string(), text: v.string() })),
              v.description(
                'The best argument for it, by one of these seats; null when none gave any',
              ),
            ),
          }),
        ),
        v.description('Every seat that voted for another option, by option, most votes first'),
      ),
      against: v.array(v.string()),
      flaws: v.array(v.object({ seat: v.string(), text: v.string() })),
    }),
  ),
  indicators: v.array(
    v.object({
      id: v.pipe(v.string(), v.description('The id of what is measured; stable')),
      name: v.string(),
      value: v.pipe(v.nullable(v.string()), v.description('With its unit; null when not measured')),
      note: v.pipe(v.string(), v.description('What it shows, and what it does not')),
    }),
  ),
});
export type BiasAnalysis = v.InferOutput<typeof BiasAnalysis>;

const Cited = v.object({
  text: v.string(),
  claim_ids: v.pipe(v.array(v.string()), v.description('Claims of this run that support the text')),
});
const Flaw = v.object({
  id: v.pipe(v.string(), v.description('The id of the flaw in this run: `f1`, `f2` …')),
  about_seat: v.pipe(v.string(), v.description('The seat whose answer has the flaw')),
  reviewers: v.pipe(v.array(v.string()), v.description('The seats that raised it, two or more')),
  texts: v.pipe(
    v.array(v.object({ seats: v.array(v.string()), text: v.string() })),
    v.description('What they wrote, each text once with its seats; empty once erased'),
  ),
  reply: v.pipe(
    v.nullable(v.string()),
    v.description("The recommendation's answer to it; null when none was written"),
  ),
  voted_for_since: v.pipe(
    v.array(v.string()),
    v.description(
      'Reviewers that voted for another option before, and in the refinement for the option of this answer. The recommendation answers the flaw while two others still raise it',
    ),
  ),
});
export type Flaw = v.InferOutput<typeof Flaw>;

export const NextStep = v.object({
  action: v.string(),
  owner: v.pipe(v.string(), v.description('Who does it; usually `you`')),
  by_days: v.pipe(
    v.nullable(v.number()),
    v.description('Days from the end of the run; null in runs of v0.1'),
  ),
  measure: v.pipe(v.string(), v.description('How to know that it works; empty in runs of v0.1')),
  stop_if: v.pipe(v.string(), v.description('When to stop; empty in runs of v0.1')),
  done: v.pipe(
    v.boolean(),
    v.description('Ticked off with `PUT /optimizations/{id}/next-steps/{index}`'),
  ),
  claim_ids: Cited.entries.claim_ids,
});
export type NextStep = v.InferOutput<typeof NextStep>;

const SeatWords = v.object({ seat: v.string(), text: v.string() });

const Objection = v.object({
  ...SeatWords.entries,
  claim_id: v.pipe(
    v.nullable(ClaimId),
    v.description('The claim it is about; null when it is about a whole answer'),
  ),
  voted_for: v.pipe(v.boolean(), v.description('Whether its author still voted for the option')),
  voted_for_since: v.pipe(
    v.boolean(),
    v.description(
      'Whether its author voted for another option before, and in the refinement for this one',
    ),
  ),
});
export type Objection = v.InferOutput<typeof Objection>;

const OptionSide = v.object({
  option_id: OptionId,
  text: v.string(),
  voters: v.pipe(v.array(v.string()), v.description('Seats that voted for it')),
  answer: v.pipe(v.nullable(SeatWords), v.description('The best answer for it, in one sentence')),
  objection: v.pipe(
    v.nullable(Objection),
    v.description(
      'A mistake that a reviewer found in an answer for it, or why a reviewer disagrees with a claim of these answers; from a seat that voted otherwise, if there is one. Null when no model wrote any',
    ),
  ),
  settled_by: v.pipe(
    v.nullable(v.string()),
    v.description('What would settle it; null when no model said'),
  ),
});
export type OptionSide = v.InferOutput<typeof OptionSide>;

export const TickRequest = v.strictObject({
  done: v.boolean('Say whether the step is done'),
});
export const TickReply = v.object({
  index: v.pipe(v.number(), v.description('The place of the step in `result.next_steps`, from 0')),
  done: v.boolean(),
});

export const RunResult = v.object({
  heading: v.pipe(
    v.picklist(headings),
    v.description(
      '`recommendation`: one option has the most votes; `no_majority`: none has; `undecidable`: most models say that the given facts do not decide it; `best_single_answer`: no recommendation passed its checks',
    ),
  ),
  option_id: v.pipe(
    v.nullable(v.string()),
    v.description('The option that the vote chose; null without a majority'),
  ),
  votes_for: v.pipe(
    v.number(),
    v.description(
      'Models that voted for it; without a majority, the most votes that any option has',
    ),
  ),
  votes_total: v.pipe(v.number(), v.description('Models whose vote was counted')),
  tie_break: v.pipe(
    v.nullable(OptionId),
    v.description(
      "Without a majority: the option to take if you must decide today. It has the most votes, by models and by makers, and is never `undecidable`; among equals, the first in the reviewers' order of the answers",
    ),
  ),
  decision: v.pipe(v.string(), v.description('The one sentence to act on')),
  decision_option: v.pipe(v.nullable(v.string()), v.description('The option in words')),
  objection: v.pipe(
    v.nullable(Objection),
    v.description('An objection to it, chosen like those to `options`'),
  ),
  missing_facts: v.pipe(
    v.array(v.string()),
    v.description('What is missing for a decision; empty unless the heading is `undecidable`'),
  ),
  flaws: v.pipe(
    v.array(Flaw),
    v.description(
      'Mistakes that two or more reviewers found in the chosen option, whatever their vote',
    ),
  ),
  options: v.pipe(
    v.array(OptionSide),
    v.description('The options side by side when none was chosen; otherwise empty'),
  ),
  changed: v.pipe(
    v.nullable(v.string()),
    v.description(
      'What a refinement changed in the result before it; null in other runs, and when no recommendation passed its checks',
    ),
  ),
  sections: v.array(v.object({ heading: v.string(), blocks: v.array(Cited) })),
  next_steps: v.array(NextStep),
  dissent: v.array(v.object({ claim_id: ClaimId, text: v.string() })),
  uncertainties: v.array(v.string()),
  verified: v.pipe(
    v.picklist(['two', 'one', 'self', 'none', 'nothing_to_verify']),
    v.description(
      'How many other models checked it against the points of agreement: `two`, `one` or `none`; `self`: only the model that wrote it; `nothing_to_verify`: there are no such points',
    ),
  ),
  seat: v.pipe(
    v.nullable(v.string()),
    v.description('The seat whose answer this is, when no recommendation passed its checks'),
  ),
});
export type RunResult = v.InferOutput<typeof RunResult>;
