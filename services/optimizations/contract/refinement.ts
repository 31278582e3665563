import * as v from 'valibot';
import { visible } from '#services/platform/contract.ts';
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
        'Credits that were agreed to; 409 `price-changed`, with the new `price`, when it costs another number by now',
      ),
    ),
  ),
});
export type RefineRequest = v.InferOutput<typeof RefineRequest>;

export const Refinement = v.object({
  root_id: v.pipe(RunId, v.description('The run that is no refinement')),
  previous_id: v.pipe(RunId, v.description('The run whose result it starts from')),
  number: v.pipe(v.number(), v.description('From 1 among the refinements of the root')),
  about: v.pipe(
    v.picklist(['instruction', 'fact', 'contested']),
    v.description('What it was asked with; `contested`: nothing new, a second vote alone'),
  ),
  text: v.pipe(v.nullable(v.string()), v.description('The instruction or the changed fact')),
  claim_id: v.pipe(v.nullable(ClaimId), v.description('The claim that the changed fact is about')),
  claim_ids: v.pipe(v.array(ClaimId), v.description('The claims that are voted on again')),
  given_before: v.pipe(
    v.array(v.string()),
    v.description('Instructions and facts of the refinements that it builds on, oldest first'),
  ),
  decision_before: v.pipe(
    v.nullable(v.string()),
    v.description('The decision of the result that it starts from'),
  ),
});
