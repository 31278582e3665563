import type { ReactNode } from 'react';
import { spendingFrozenSentence } from '#services/credits/contract.ts';
import type { Balance } from '#services/credits/contract.ts';
import { contactEmail } from '#web/app/product.ts';
import { LinkButton } from '#web/ui/form/button.tsx';
import { Card } from '#web/ui/card.tsx';
import { credits, creditsInWords } from '#services/platform/numbers.ts';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { Tile, TileRow } from '#web/ui/tile.tsx';
import { takenBackWords } from './purchases/taken-back.ts';
import { stockWords } from './tier.ts';

/** Available, bought and used credits; reserved and owed ones when there are any. */
export function BalanceTiles({ balance }: { balance: Balance }): ReactNode {
  const given = balance.total_credits - balance.total_purchased;
  const notes = [given > 0 ? `plus ${credits(given)} free` : null, takenBackWords(balance)].filter(
    (note) => note !== null,
  );
  return (
    <div className="space-y-4">
      <Card className="space-y-4">
        <TileRow>
          <Tile
            label="Available Credits"
            value={credits(balance.available_credits)}
            detail={stockWords(balance)}
          />
          <Tile
            label="Total Purchased"
            value={credits(balance.total_purchased)}
            detail={notes.length === 0 ? undefined : notes.join(', ')}
          />
          <Tile
            label="Total Used"
            value={credits(balance.total_consumed)}
            detail="after returned credits"
          />
          {balance.reserved_credits > 0 ? (
            <Tile
              label="Reserved"
              value={credits(balance.reserved_credits)}
              detail="on hold for running optimizations"
            />
          ) : null}
          {balance.debt_credits > 0 ? (
            <Tile label="Owed" value={credits(balance.debt_credits)} detail="Details below" />
          ) : null}
        </TileRow>
      </Card>
      {balance.spending_frozen ? (
        <Notice tone="bad" title="Your credits are frozen">
          <p>{spendingFrozenSentence}</p>
          {contactEmail ? (
            <p>
              Our address is <a href={`mailto:${contactEmail}`}>{contactEmail}</a>.
            </p>
          ) : null}
        </Notice>
      ) : null}
      {balance.debt_credits > 0 ? (
        <Notice
          tone="warn"
          title={`You owe ${creditsInWords(balance.debt_credits)}`}
          actions={
            balance.spending_frozen ? undefined : (
              <LinkButton to="/credits/purchase">Buy credits to settle</LinkButton>
            )
          }
        >
          You used these credits before their payment was returned or disputed. You can't start an
          optimization until new credits settle them. If the dispute ends in your favor, you won't
          owe them.
        </Notice>
      ) : null}
    </div>
  );
}
