import * as v from 'valibot';
import { Time, visible } from '#services/platform/contract.ts';
import { RunId, ClaimId } from './summary.ts';
import { optimizationLimits } from './requests.ts';

const Given = (description: string) =>
  v.optional(
    v.pipe(
      v.string(),
      v.trim(),
      v.nonEmpty('Write what is new, or leave it out'),
      v.maxLength(
        optimizationLimits.refinement,
        `At most ${optimizationLimits.refinement} characters`,
      ),
      visible,
      v.nonEmpty('Write what is new, or leave it out'),
      v.description(description),
    ),
  );

/** `POST /optimizations/{id}/refine`. */
export const RefineRequest = v.strictObject({
  instruction: Given('What to consider, such as another goal or limit'),
  changed_fact: Given(
    'A fact that is other than the models took it to be; not together with an instruction',
  ),
  claim_id: v.optional(v.pipe(ClaimId, v.description('The claim that `changed_fact` is about'))),
  price: v.optional(
    v.pipe(
      v.number(),
      v.description(
        'The price in credits that the user accepted. If it has changed since, the response is 409 `price-changed` with the new `price`',
      ),
    ),
  ),
});
export type RefineRequest = v.InferOutput<typeof RefineRequest>;

/** The result that has replaced another one of the same chain. */
export const NewerAnswer = v.object({
  id: v.pipe(RunId, v.description('The id of the newest completed refinement')),
  number: v.pipe(v.number(), v.description('Its number among the refinements of the root, from 1')),
  outcome: v.pipe(v.string(), v.description('The heading of its result in words')),
  decision: v.pipe(v.string(), v.description('The one sentence to act on')),
  changed: v.pipe(
    v.nullable(v.string()),
    v.description(
      'What was given, and which votes and reasons changed with it, in sentences; null before its votes were counted',
    ),
  ),
  same_option: v.pipe(
    v.boolean(),
    v.description('Whether the heading and the option are the same as before'),
  ),
  ended_at: v.nullable(Time),
});
export type NewerAnswer = v.InferOutput<typeof NewerAnswer>;

export const Refinement = v.object({
  root_id: v.pipe(RunId, v.description('The original run')),
  previous_id: v.pipe(RunId, v.description('The run whose result it builds on')),
  number: v.pipe(
    v.number(),
    v.description('Its number among the started refinements of the root, from 1'),
  ),
  about: v.pipe(
    v.picklist(['instruction', 'fact', 'contested']),
    v.description(
      'What the user gave: an instruction, a fact, or (`contested`) neither, for a second vote alone',
    ),
  ),
  text: v.pipe(v.nullable(v.string()), v.description('The instruction or the changed fact')),
  claim_id: v.pipe(v.nullable(ClaimId), v.description('The claim that the changed fact is about')),
  claim_ids: v.pipe(v.array(ClaimId), v.description('The claims that are voted on again')),
  given_before: v.pipe(
    v.array(v.string()),
    v.description('Instructions and facts of the refinements before it, oldest first'),
  ),
  decision_before: v.pipe(
    v.nullable(v.string()),
    v.description('The decision of the result it builds on'),
  ),
});
