import { undecidableOption } from '#services/optimizations/run/events.ts';
import { parseSlot } from '#services/optimizations/run/slots.ts';
import { describeResult } from './describe-result.ts';
import { headingWords } from './words/result.ts';
import { erased } from './texts.ts';
import { givenOf, reviewOf } from './view.ts';
import type { RunView } from './view.ts';

/** As `councilBefore` has it. */
function withUndecidable(options: Options): Options {
  return undecidableOption in options
    ? options
    : { ...options, [undecidableOption]: { seats: [], text: null } };
}

type Options = NonNullable<RunView['ledger']>['options'];

/**
 * A refinement's view at its beginning: the question, the claims and the answers are those of the run
 * that it starts from. The answers come without their attempts, which cost nothing here.
 */
export function withBase(view: RunView, base: RunView): RunView {
  const { challenge, context, objectives, constraints, files, standIn, ledger } = base;
  const result = describeResult(base);
  const decision = result?.decision ?? erased;
  const opinions = Object.entries(base.calls).filter(
    ([slot]) => parseSlot(slot).kind === 'opinion',
  );
  return {
    ...view,
    challenge,
    context,
    objectives,
    constraints,
    files,
    standIn,
    ledger: ledger && { ...ledger, options: withUndecidable(ledger.options) },
    // It is deleted with its root.
    hidden: base.hidden,
    outcomes: base.outcomes,
    calls: Object.fromEntries(opinions.map(([slot, call]) => [slot, { ...call, attempts: {} }])),
    before: {
      reviews: Object.fromEntries(
        view.seats.flatMap(({ seat }) => {
          const review = reviewOf(base, seat);
          return review === null ? [] : [[seat, review] as const];
        }),
      ),
      given: givenOf(base),
      decision: decision === erased ? null : decision,
      heading: result && headingWords(result),
    },
  };
}
