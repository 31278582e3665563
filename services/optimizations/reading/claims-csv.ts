import type { ClaimRow } from '#services/optimizations/contract/claims.ts';
import { csvFile } from '#services/platform/csv.ts';

const before = ['id', 'claim', 'importance', 'outcome', 'agree_percent', 'made_by'];
const after = ['reasons', 'quotes', 'changed_fact'];

/** One row a claim and one column a model. */
export function claimsCsv(rows: readonly ClaimRow[]): string {
  const seats = (rows[0]?.votes ?? []).map(
    ({ seat, name, simulated }) => `${seat} ${name}${simulated ? ' (simulated)' : ''}`,
  );
  return csvFile([[...before, ...seats, ...after], ...rows.map(cellsOf)]);
}

function cellsOf(row: ClaimRow): unknown[] {
  const reasons = row.votes.flatMap(({ seat, stance, reason }) =>
    reason === null ? [] : [`${seat}, ${stance}: ${reason}`],
  );
  return [
    row.id,
    row.text,
    row.importance,
    row.outcome,
    row.agree_percent,
    row.authors.join(' '),
    ...row.votes.map(({ stance }) => stance),
    reasons.join('\n'),
    row.quotes.map(({ seat, text }) => `${seat}: ${text}`).join('\n'),
    row.changed_fact,
  ];
}
