import type { ReactNode } from 'react';
import type { ClaimRow } from '#services/optimizations/contract/claims.ts';
import {
  claimRows,
  importanceWords,
  outcomeWords,
} from '#services/optimizations/reading/words/claims.ts';
import { seatName } from '#services/optimizations/reading/words/names.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { counted } from '#services/platform/numbers.ts';
import { roleColours } from '#web/run/drawing/roles.ts';
import { Different } from '#web/features/result/refined.tsx';
import { claimAnchor } from '#web/features/result/cites.tsx';
import { percent } from '#web/ui/text/figures.ts';
import { Part } from '#web/features/result/section.tsx';

/** Every claim of the ledger, and each seat's stance on it. */
export function Claims({ view }: { view: RunView }): ReactNode {
  const { ledger } = view;
  if (!ledger) return null;
  return (
    <Part title="Claims">
      <p className="text-sm text-ink-2">
        {
          "+ agrees, − disagrees, ? unsure, · didn't vote. A leading dot marks a claim from the model's own answer."
        }
        {ledger.scored ? '' : " The claims couldn't be merged, so they aren't scored."}
      </p>
      <section
        aria-label="Claims by seat"
        // `relative`: text for screen readers stays inside the frame, too.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrolling region must be reachable by keyboard
        tabIndex={0}
        className="relative overflow-x-auto print:overflow-visible rounded-card border border-line bg-surface"
      >
        <table className="w-full border-collapse text-start">
          <caption className="sr-only">Claims by seat</caption>
          <thead>
            <tr>
              <th scope="col" className="px-3 py-3 text-start text-sm font-medium text-ink-3">
                Id
              </th>
              <th
                scope="col"
                className="min-w-64 px-3 py-3 text-start text-sm font-medium text-ink-3"
              >
                Claim
              </th>
              <th scope="col" className="px-3 py-3 text-end text-sm font-medium text-ink-3">
                Agree
              </th>
              {view.seats.map((seat) => (
                <th
                  key={seat.seat}
                  scope="col"
                  title={seat.name}
                  className={`px-2 py-3 text-center text-sm font-semibold ${roleColours[seat.role]}`}
                >
                  {seat.seat}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {claimRows(view).map((row) => (
              <Row key={row.id} row={row} view={view} />
            ))}
          </tbody>
        </table>
      </section>
    </Part>
  );
}

function Row({ row, view }: { row: ClaimRow; view: RunView }): ReactNode {
  const { id, text, importance, outcome, agree_percent: agree, votes } = row;
  return (
    <tr id={claimAnchor(id)} className="border-t border-line target:bg-accent-soft">
      <th scope="row" className="px-3 py-2 text-start align-top text-sm font-medium text-ink-2">
        {id}
      </th>
      <td className="px-3 py-2 align-top">
        {text}{' '}
        <span className="text-sm text-ink-3">
          ({importanceWords[importance]}, {outcomeWords[outcome]})
        </span>
        <Different view={view} id={id} />
        <Reasons row={row} view={view} />
      </td>
      <td className="px-3 py-2 text-end align-top whitespace-nowrap">{percent(agree)}</td>
      {votes.map(({ seat, stance, reason }) => (
        <td key={seat} className="px-2 py-2 text-center align-top whitespace-nowrap">
          <Stand stance={stance} reason={reason} isAuthor={row.authors.includes(seat)} />
        </td>
      ))}
    </tr>
  );
}

/** Why models disagree with a claim, or what they miss, in the words of their votes. */
function Reasons({ row: { id, votes }, view }: { row: ClaimRow; view: RunView }): ReactNode {
  const reasons = votes.flatMap(({ seat, stance, reason }) =>
    stance === null || reason === null ? [] : [{ seat, stance, reason }],
  );
  if (reasons.length === 0) return null;
  return (
    <details className="text-sm">
      <summary className="min-h-6 cursor-pointer text-ink-2">
        {counted(reasons.length, 'reason')}
        <span className="sr-only"> on {id}</span>
      </summary>
      <ul className="space-y-1 pb-2">
        {reasons.map(({ seat, stance, reason }) => (
          <li key={seat}>
            <span className="text-ink-2">
              {seatName(view.seats, seat)} {signs[stance][1]}:
            </span>{' '}
            {reason}
          </li>
        ))}
      </ul>
    </details>
  );
}

const signs = {
  agree: ['+', 'agrees', 'text-ok'],
  disagree: ['−', 'disagrees', 'text-bad'],
  unsure: ['?', 'is unsure', 'text-ink-2'],
} as const;

function Stand({
  stance,
  reason,
  isAuthor,
}: {
  stance: ClaimRow['votes'][number]['stance'];
  reason: string | null;
  isAuthor: boolean;
}): ReactNode {
  const [sign, word, colour] =
    stance === null ? (['·', 'no vote', 'text-ink-3'] as const) : signs[stance];
  return (
    <>
      {/* Under the pointer only: below the claim, everybody can read the reason. */}
      <span aria-hidden="true" title={reason ?? undefined} className={`font-semibold ${colour}`}>
        {isAuthor ? '•' : ''}
        {sign}
      </span>
      <span className="sr-only">
        {word}
        {isAuthor ? ', its own claim' : ''}
      </span>
    </>
  );
}
