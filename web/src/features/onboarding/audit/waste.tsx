import type { ReactNode } from 'react';
import type { CompetitiveRisk, RevenueLevel, WasteAnalysis } from '#services/onboarding/audit.ts';
import type { AuditData } from '#services/onboarding/contract.ts';
import { Card } from '#web/ui/card.tsx';
import { Badge, type StatusTone } from '#web/ui/feedback/status.tsx';
import { figure } from '#services/platform/numbers.ts';
import { Tile } from '#web/ui/tile.tsx';
import { toolsPerMonth } from './numbers.ts';
import {
  assumptions,
  dollars,
  formulas,
  pressureWords,
  riskWords,
} from '#web/features/onboarding/words.ts';

const tones: Readonly<Record<CompetitiveRisk, StatusTone>> = {
  CRITICAL: 'bad',
  HIGH: 'warn',
  MODERATE: 'info',
};

/** The estimates, with how they were computed and what was assumed. */
export function Waste({
  waste,
  level,
  audit,
}: {
  waste: WasteAnalysis;
  level: RevenueLevel;
  audit: AuditData;
}): ReactNode {
  const tools = toolsPerMonth(audit);
  return (
    <Card aria-labelledby="waste" className="space-y-6">
      <div className="space-y-1">
        <h3 id="waste" className="text-2xl">
          What it costs you a year
        </h3>
        <p className="text-ink-2">
          These are estimates from your answers and the assumptions below. Nothing was measured.
        </p>
      </div>
      <dl className="grid grid-cols-[repeat(auto-fit,minmax(min(100%,9rem),1fr))] gap-4">
        <Tile label="Hours" value={figure(waste.annualWaste)} />
        <Tile label="Value of these hours" value={dollars(waste.dollarValueWaste)} />
        <Tile label="Opportunity cost" value={dollars(waste.opportunityCost)} />
        <Tile
          label="Competitive risk"
          value={<Badge tone={tones[waste.competitiveRisk]}>{waste.competitiveRisk}</Badge>}
        />
      </dl>
      <div className="space-y-1">
        <p>
          <strong>{waste.competitiveRisk}</strong>: {riskWords(waste.competitiveRisk)}
        </p>
        <p className="text-ink-2">{pressureWords(audit.competitivePressure)}</p>
      </div>
      <div className="grid grid-cols-1 gap-6 lg:grid-cols-2">
        <div className="space-y-2">
          <h4 className="font-medium">How we calculated it</h4>
          <dl className="space-y-2">
            {formulas(waste).map(({ result, formula }) => (
              <div key={result}>
                <dt className="text-sm text-ink-3">{result}</dt>
                <dd className="wrap-anywhere">{formula}</dd>
              </div>
            ))}
          </dl>
        </div>
        <div className="space-y-2">
          <h4 className="font-medium">What we assumed</h4>
          <ul className="list-disc space-y-1 ps-5">
            {assumptions(waste, level).map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        </div>
      </div>
      {tools > 0 ? (
        <p className="text-ink-2">
          Your AI tools cost {dollars(tools)} × 12 months = {dollars(tools * 12)} a year on top
          {audit.monthlySpend > 0 ? '' : ', by the prices of the subscriptions you chose'}. This is
          not part of the figures above.
        </p>
      ) : null}
    </Card>
  );
}
