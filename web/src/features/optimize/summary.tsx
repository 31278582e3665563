import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Balance } from '#services/credits/contract.ts';
import type { Strategy } from '#services/optimizations/contract/panel.ts';
import { credits, creditsInWords } from '#services/platform/numbers.ts';
import { Badge } from '#web/ui/feedback/status.tsx';
import { challengeTypeWords } from '#web/run/words.ts';
import { Estimate } from './estimate.tsx';
import { estimatedOf } from './queries.ts';
import { challengeTypeOf, type Fields } from './question/fields.ts';
import { destinationSentence } from '#web/run/words.ts';

/** The effects of a start: price, balance afterward, possible returns, and where the text goes. */
export function Summary({
  fields,
  strategy,
  balance,
}: {
  fields: Fields;
  strategy: Strategy | null;
  /** Undefined while unknown. */
  balance: Balance | undefined;
}): ReactNode {
  if (!strategy) {
    return (
      <p className="text-ink-2">
        Choose a strategy to see its price, your balance afterward, and where your text is sent.
      </p>
    );
  }
  const left = balance === undefined ? null : balance.available_credits - strategy.credits;
  return (
    <>
      <dl className="space-y-2">
        <Line term="Type">{challengeTypeWords[challengeTypeOf(fields)]}</Line>
        <Line term="Strategy">
          {strategy.name} {strategy.simulated ? <Badge>Simulated</Badge> : null}
        </Line>
        <Line term="Price">
          <span className="font-semibold">{creditsInWords(strategy.credits)}</span>
        </Line>
        <Line term="Balance after">
          {left !== null && left < 0 ? 'Not enough.' : credits(left)}
          {balance === undefined ? null : (
            <span className="text-ink-3">
              {' '}
              {left !== null && left < 0 ? 'You have' : 'of'} {credits(balance.available_credits)}
            </span>
          )}
        </Line>
        <Line term="Estimate">
          <Estimate asked={estimatedOf(strategy.id, fields)} credits={strategy.credits} />
        </Line>
      </dl>
      <div className="space-y-2 text-sm text-ink-2">
        <p>
          If the run fails, half the price is returned automatically, or all of it if no model
          answered. Cancel before the first model is called and you get everything back; after that,
          half.{' '}
          <Link to="/terms" hash="failed-runs" className="link">
            Read the full rule
          </Link>
        </p>
        <p>{destinationSentence(strategy)}</p>
        <p>Don't paste passwords, keys, or other people's personal data.</p>
      </div>
    </>
  );
}

function Line({ term, children }: { term: string; children: ReactNode }): ReactNode {
  return (
    <div className="flex justify-between gap-4">
      <dt className="shrink-0 text-ink-2">{term}</dt>
      <dd className="min-w-0 text-end">{children}</dd>
    </div>
  );
}
