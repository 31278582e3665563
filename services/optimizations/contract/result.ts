import * as v from 'valibot';
import { headings } from '#services/optimizations/run/events.ts';
import { ClaimId, OptionId } from './summary.ts';

const Side = v.object({
  stance: v.string(),
  seats: v.pipe(v.array(v.string()), v.description('Seats that hold it')),
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
          v.description('In a refinement: it was written before what is new was said'),
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
        percent: v.pipe(v.number(), v.description('80–100: how sure it says it is')),
      }),
    ),
    v.description(
      'Seats of the minority that are so sure, 80 of 100 or more, that they alone make the claim disputed; else empty',
    ),
  ),
  settled_by: v.pipe(
    v.nullable(v.string()),
    v.description('In words, what would settle it; null when no reviewer said'),
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
      '0–100, whole: how far the models agree, where models of one maker share weight; no probability. `/method` has its formulas. Null when it could not be scored',
    ),
  ),
  agreement_band: v.pipe(
    v.nullable(v.picklist(['strong', 'majority', 'contested', 'split'])),
    v.description('The score in a word; null without one'),
  ),
  agreement_capped: v.pipe(
    v.nullable(v.picklist(['contested', 'copies'])),
    v.description(
      'What holds the score down: `contested`, a third or more contest a decisive claim; `copies`, one maker or fewer than four different models sit on the panel; null when nothing does',
    ),
  ),
  agreement_note: v.pipe(
    v.nullable(v.string()),
    v.description('Why there is no score, or what was not measured, in words'),
  ),
  ordering: v.pipe(
    v.picklist(['kemeny', 'win_rate']),
    v.description(
      'What orders the answers: `kemeny`, the order that contradicts the fewest comparisons; `win_rate`, the mean share of reviewers who preferred an answer to each other one, where two answers were compared by fewer than four. Each reviewer counts alike in it: makers share weight in votes only',
    ),
  ),
  two_camps: v.pipe(v.boolean(), v.description('The reviews fall into two camps')),
  clear_winner: v.pipe(
    v.nullable(v.boolean()),
    v.description('One answer stands clearly first; null when the reviews do not say'),
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
      'Why there is a clear winner or none. `orders_differ`: another answer comes first by the win rates, which order the answers where few reviewers compared two of them. `copies`: one maker or fewer than four different models sit on the panel, and copies of one model tend to agree',
    ),
  ),
  disagreement_areas: v.array(Disagreement),
  consensus_points: v.array(v.object({ claim_id: ClaimId, text: v.string() })),
  rejected_claims: v.pipe(
    v.array(Rejected),
    v.description(
      'Claims that more weight disagrees with than agrees, without those that are disputed or uncertain; most disagreeing seats first',
    ),
  ),
  model_confidence_scores: v.pipe(
    v.record(v.string(), v.number()),
    v.description(
      '0–100, whole, by seat: the share of its claims that the other models support; no probability',
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
        v.array(v.object({ option_id: OptionId, text: v.string(), seats: v.array(v.string()) })),
        v.description('Every seat that voted for another option, by option, most votes first'),
      ),
      against: v.array(v.string()),
      flaws: v.array(v.object({ seat: v.string(), text: v.string() })),
    }),
  ),
  indicators: v.array(
    v.object({
      id: v.pipe(v.string(), v.description('Of what is measured; stable')),
      name: v.string(),
      value: v.pipe(v.nullable(v.string()), v.description('With its unit; null when not measured')),
      note: v.pipe(v.string(), v.description('What it shows, and what it does not')),
    }),
  ),
});
export type BiasAnalysis = v.InferOutput<typeof BiasAnalysis>;

const Cited = v.object({
  text: v.string(),
  claim_ids: v.pipe(
    v.array(v.string()),
    v.description('Claims of this run that the text stands on'),
  ),
});
const Flaw = v.object({
  id: v.pipe(v.string(), v.description('The id of the flaw in this run: `f1`, `f2` …')),
  about_seat: v.pipe(v.string(), v.description('The seat whose answer it is raised against')),
  reviewers: v.pipe(v.array(v.string()), v.description('The seats that raised it, two or more')),
  texts: v.pipe(
    v.array(v.object({ seats: v.array(v.string()), text: v.string() })),
    v.description('What they wrote, each text once with all who wrote it; empty once erased'),
  ),
  reply: v.pipe(
    v.nullable(v.string()),
    v.description('What the recommendation answers; null when none was written'),
  ),
  voted_for_since: v.pipe(
    v.array(v.string()),
    v.description(
      'The reviewers that voted for another option first, and in a refinement for that of this answer; the recommendation answers a flaw while two others raise it',
    ),
  ),
});
export type Flaw = v.InferOutput<typeof Flaw>;

const NextStep = v.object({
  action: v.string(),
  owner: v.pipe(v.string(), v.description('Who does it; usually `you`')),
  by_days: v.pipe(
    v.nullable(v.number()),
    v.description('Days from the end of the run; null in runs of v0.1'),
  ),
  measure: v.pipe(v.string(), v.description('How one knows that it works; empty in runs of v0.1')),
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
    v.description('The claim that it is about; null when it is about a whole answer'),
  ),
  voted_for: v.pipe(v.boolean(), v.description('Its author voted for the option all the same')),
  voted_for_since: v.pipe(
    v.boolean(),
    v.description('Its author voted for another option first, and in a refinement for this one'),
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
      'What a reviewer calls a mistake in an answer for it, else why one disagrees with a claim of these answers; from a seat that voted otherwise, if there is one. Null when no model wrote any',
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
      '`recommendation`: one option is alone first; `no_majority`: none is; `undecidable`: most say that it cannot be decided from what was given; `best_single_answer`: no recommendation passed its checks',
    ),
  ),
  option_id: v.pipe(
    v.nullable(v.string()),
    v.description('The option that the vote chose; null without a majority'),
  ),
  votes_for: v.pipe(
    v.number(),
    v.description('Models that voted for it; without a majority, the most that any option has'),
  ),
  votes_total: v.pipe(v.number(), v.description('Models whose vote was counted')),
  tie_break: v.pipe(
    v.nullable(OptionId),
    v.description(
      "Without a majority: the option to take if one must be taken today. It is the one with most votes, by heads and by makers, and never `undecidable`; of several, the first by the reviewers' order of the answers",
    ),
  ),
  decision: v.pipe(v.string(), v.description('The one sentence to act on')),
  decision_option: v.pipe(v.nullable(v.string()), v.description('The option in words')),
  objection: v.pipe(
    v.nullable(Objection),
    v.description('An objection to it, chosen as those to `options`'),
  ),
  missing_facts: v.pipe(
    v.array(v.string()),
    v.description('What keeps the question from being decided; empty unless it is `undecidable`'),
  ),
  flaws: v.pipe(
    v.array(Flaw),
    v.description(
      'What two or more reviewers call a mistake in the chosen option, whatever the vote',
    ),
  ),
  options: v.pipe(
    v.array(OptionSide),
    v.description('The options side by side, where none was chosen; else empty'),
  ),
  changed: v.pipe(
    v.nullable(v.string()),
    v.description(
      'What a refinement changes in the result before it; null in any other run, and when no recommendation passed its checks',
    ),
  ),
  sections: v.array(v.object({ heading: v.string(), blocks: v.array(Cited) })),
  next_steps: v.array(NextStep),
  dissent: v.array(v.object({ claim_id: ClaimId, text: v.string() })),
  uncertainties: v.array(v.string()),
  verified: v.pipe(
    v.picklist(['two', 'one', 'self', 'none', 'nothing_to_verify']),
    v.description(
      'Other models that compared it with the points of agreement: `two` or `one`; `self` when only the model that wrote it did, or `none`; `nothing_to_verify` without such points',
    ),
  ),
  seat: v.pipe(
    v.nullable(v.string()),
    v.description('The seat whose answer this is, when no recommendation passed its checks'),
  ),
});
export type RunResult = v.InferOutput<typeof RunResult>;
