import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

/** Worked examples with seven models, each of a different maker. */
const examples = [
  { vote: '7 to 0', value: '1.00' },
  { vote: '6 to 1', value: '0.71' },
  { vote: '5 to 2', value: '0.43' },
  { vote: '4 to 3', value: '0.14' },
] as const;

/** How the figures above are computed, in plain words. */
export function Method(): ReactNode {
  return (
    <section aria-labelledby="method" className="grid grid-cols-1 gap-x-6 gap-y-8 lg:grid-cols-12">
      <div className="space-y-4 lg:col-span-7">
        <h2 id="method" className="text-4xl">
          How we score agreement
        </h2>
        <div className="prose">
          <p>
            Every model votes on the decision and on each claim in the answers. If a share <i>s</i>{' '}
            of the votes is on the larger side, the vote is worth 2<i>s</i> − 1: a unanimous vote is
            1, an even split is 0. “Unsure” votes are left out, fewer than three votes aren't
            scored, and models from the same maker share their weight. In the ranking, each reviewer
            counts as one.
          </p>
          <p>
            The score is 45% decision, 40% claims (weighted by importance), and 15% how similarly
            the reviewers ranked the answers. If a third or more of the models contest a claim of
            the highest importance, the score is capped at 59.
          </p>
          <p>
            80 and up is strong, 60 and up majority, 40 and up contested. Anything lower is split.
          </p>
          <p className="font-semibold">
            Agreement is not correctness: errors that models share look like agreement.
          </p>
          <p>
            <Link to="/method">The method in full, with examples to redo by hand</Link>
          </p>
        </div>
        <div className="prose">
          <h3 id="quotes">How quotes are checked</h3>
          <p>
            A model outside the panel collects the claims and must quote the answers they come from.
            A program then looks up every quote, letter by letter. If a quote isn't there, it's
            thrown out, however good it sounds.
          </p>
        </div>
      </div>
      <div className="lg:col-span-4 lg:col-start-9">
        <table className="w-full border-collapse">
          <caption className="pb-3 text-start text-ink-2">
            What a vote of seven models is worth
          </caption>
          <thead>
            <tr className="border-b border-line-strong text-sm text-ink-3">
              <th scope="col" className="py-2 text-start font-medium">
                Vote
              </th>
              <th scope="col" className="py-2 text-end font-medium">
                Agreement
              </th>
            </tr>
          </thead>
          <tbody>
            {examples.map(({ vote, value }) => (
              <tr key={vote} className="border-b border-line">
                <td className="py-3">{vote}</td>
                <td className="py-3 text-end font-semibold">{value}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
