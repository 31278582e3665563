import { type ReactNode, useState } from 'react';
import type { CreditAnalytics } from '#services/credits/contract.ts';
import { credits, formatNumber } from '#services/platform/numbers.ts';
import { Choice } from '#web/ui/form/choice.tsx';
import { DataTable, TableToggle } from '#web/ui/table-toggle.tsx';
import {
  barShares,
  consumptionSentence,
  type CreditsOfPeriod,
  longDay,
  longMonth,
  type Range,
  ranges,
  shortDay,
  shortMonth,
} from './consumption.ts';

/** Pixels. Horizontal positions are percentages, so that text keeps its size on every screen. */
const height = 200;
const top = 28;
const bottom = height - 28;

type Months = Pick<CreditAnalytics, 'consumption_by_month' | 'consumption_by_day'>;

/** Consumption of 12 months, or of 30 or 90 days, as bars or as a table. */
export function ConsumptionBars({ analytics }: { analytics: Months }): ReactNode {
  const [range, setRange] = useState<Range>('12 months');
  const unit = range === '12 months' ? 'month' : 'day';
  const periods =
    unit === 'month'
      ? analytics.consumption_by_month.map(({ month, credits: amount }) => ({
          period: month,
          credits: amount,
        }))
      : analytics.consumption_by_day
          .slice(range === '30 days' ? -30 : -90)
          .map(({ day, credits: amount }) => ({ period: day, credits: amount }));
  const name = unit === 'month' ? longMonth : longDay;
  return (
    <div className="space-y-3">
      <Choice
        label="Period of the chart"
        isLabelHidden
        words={ranges}
        value={range}
        onChange={setRange}
      />
      <TableToggle
        drawing={<Bars periods={periods} unit={unit} />}
        table={
          <DataTable
            caption={`Credits used by ${unit}`}
            rows={periods.toReversed()}
            rowKey={({ period }) => period}
            columns={[
              {
                id: 'period',
                title: unit === 'month' ? 'Month' : 'Day (UTC)',
                cell: ({ period }) => name(period),
              },
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
    </div>
  );
}

function Bars({
  periods,
  unit,
}: {
  periods: readonly CreditsOfPeriod[];
  unit: 'month' | 'day';
}): ReactNode {
  const shares = barShares(periods);
  const step = 100 / periods.length;
  return (
    <svg width="100%" height={height} role="img" aria-label={consumptionSentence(periods, unit)}>
      {periods.map(({ period, credits: amount }, index) => {
        const barHeight = Math.max((shares[index] ?? 0) * (bottom - top), amount > 0 ? 2 : 0);
        const fromNow = periods.length - 1 - index;
        return (
          <g key={period}>
            <rect
              x={`${(index + 0.18) * step}%`}
              width={`${step * 0.64}%`}
              y={bottom - barHeight}
              height={barHeight}
              className="fill-accent"
            />
            {unit === 'month' ? (
              <Label x={(index + 0.5) * step} y={bottom - barHeight - 8} isQuiet={amount === 0}>
                {formatNumber(amount, { notation: 'compact' }, undefined)}
              </Label>
            ) : null}
            {unit === 'month' ? (
              // Phones show every second name, counted from the current month.
              <Label x={(index + 0.5) * step} y={height - 8} isHiddenOnPhones={fromNow % 2 > 0}>
                {shortMonth(period)}
              </Label>
            ) : null}
          </g>
        );
      })}
      {unit === 'day' ? (
        <Ends periods={periods} most={Math.max(...periods.map((one) => one.credits))} />
      ) : null}
      <line x1="0" x2="100%" y1={bottom} y2={bottom} className="stroke-line-strong" />
    </svg>
  );
}

/** Of many narrow bars, the first and the last day and the tallest amount. */
function Ends({ periods, most }: { periods: readonly CreditsOfPeriod[]; most: number }): ReactNode {
  return (
    <>
      {most > 0 ? (
        <text x="0" y={14} fontSize="14" className="fill-ink-2">
          Highest: {credits(most)}
        </text>
      ) : null}
      <text x="0" y={height - 8} fontSize="14" className="fill-ink-2">
        {shortDay(periods[0]?.period ?? '')}
      </text>
      <text x="100%" y={height - 8} textAnchor="end" fontSize="14" className="fill-ink-2">
        {shortDay(periods.at(-1)?.period ?? '')}
      </text>
    </>
  );
}

function Label({
  x,
  y,
  isQuiet = false,
  isHiddenOnPhones = false,
  children,
}: {
  x: number;
  y: number;
  isQuiet?: boolean;
  isHiddenOnPhones?: boolean;
  children: string;
}): ReactNode {
  return (
    <text
      x={`${x}%`}
      y={y}
      textAnchor="middle"
      fontSize="14"
      className={`${isQuiet ? 'fill-ink-3' : 'fill-ink'} ${isHiddenOnPhones ? 'max-sm:hidden' : ''}`}
    >
      {children}
    </text>
  );
}
