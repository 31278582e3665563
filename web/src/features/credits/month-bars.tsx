import type { ReactNode } from 'react';
import { credits, formatNumber } from '#services/platform/numbers.ts';
import { DataTable, TableToggle } from '#web/ui/table-toggle.tsx';
import {
  barShares,
  consumptionSentence,
  longMonth,
  type MonthOfCredits,
  shortMonth,
} from './consumption.ts';

/** Pixels. Horizontal positions are percentages, so that text keeps its size on every screen. */
const height = 200;
const top = 28;
const bottom = height - 28;

/** Twelve months of consumption as bars with figures, or as a table. */
export function MonthBars({ months }: { months: readonly MonthOfCredits[] }): ReactNode {
  return (
    <TableToggle
      drawing={<Bars months={months} />}
      table={
        <DataTable
          caption="Credits consumed by month"
          rows={months.toReversed()}
          rowKey={({ month }) => month}
          columns={[
            { id: 'month', title: 'Month', cell: ({ month }) => longMonth(month) },
            {
              id: 'credits',
              title: 'Credits',
              numeric: true,
              cell: (row) => credits(row.credits),
            },
          ]}
        />
      }
    />
  );
}

function Bars({ months }: { months: readonly MonthOfCredits[] }): ReactNode {
  const shares = barShares(months);
  const step = 100 / months.length;
  return (
    <svg width="100%" height={height} role="img" aria-label={consumptionSentence(months)}>
      {months.map(({ month, credits: amount }, index) => {
        const barHeight = Math.max((shares[index] ?? 0) * (bottom - top), amount > 0 ? 2 : 0);
        const middle = `${(index + 0.5) * step}%`;
        // Phones show every second name, counted from the current month.
        const isNamedOnPhones = (months.length - 1 - index) % 2 === 0;
        return (
          <g key={month}>
            <rect
              x={`${(index + 0.18) * step}%`}
              width={`${step * 0.64}%`}
              y={bottom - barHeight}
              height={barHeight}
              className="fill-accent"
            />
            <text
              x={middle}
              y={bottom - barHeight - 8}
              textAnchor="middle"
              fontSize="14"
              className={amount === 0 ? 'fill-ink-3' : 'fill-ink'}
            >
              {formatNumber(amount, { notation: 'compact' }, undefined)}
            </text>
            <text
              x={middle}
              y={height - 8}
              textAnchor="middle"
              fontSize="14"
              className={isNamedOnPhones ? 'fill-ink-2' : 'fill-ink-2 max-sm:hidden'}
            >
              {shortMonth(month)}
            </text>
          </g>
        );
      })}
      <line x1="0" x2="100%" y1={bottom} y2={bottom} className="stroke-line-strong" />
    </svg>
  );
}
