import { useQuery, useQueryClient } from '@tanstack/react-query';
import { createFileRoute } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import * as v from 'valibot';
import { balanceQuery } from '#web/features/credits/queries.ts';
import { takenBackWords } from '#web/features/credits/purchases/taken-back.ts';
import { accountQuery } from '#web/api/account.ts';
import { planQuery } from '#web/features/plan/queries.ts';
import { PurchaseSuccess } from '#web/features/purchase/success.tsx';

const Search = v.object({
  /** Set by the payment provider. Anything but text is ignored. */
  session_id: v.fallback(v.optional(v.pipe(v.string(), v.maxLength(200))), undefined),
});

export const Route = createFileRoute('/_signed-in/credits_/success')({
  validateSearch: Search,
  component: SuccessPage,
  staticData: { title: 'Purchase' },
});

function SuccessPage(): ReactNode {
  const { session_id: sessionId } = Route.useSearch();
  const client = useQueryClient();
  const balance = useQuery(balanceQuery);
  return (
    <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6">
      <PurchaseSuccess
        sessionId={sessionId}
        balance={balance.data}
        noteOf={takenBackWords}
        onPaid={(state) => {
          client.setQueryData(balanceQuery.queryKey, state.balance);
          // The stream may have brought newer data than the reply.
          void client.invalidateQueries({ queryKey: balanceQuery.queryKey });
          void client.invalidateQueries({ queryKey: ['credits', 'history'] });
          void client.invalidateQueries({ queryKey: planQuery.queryKey });
          void client.invalidateQueries({ queryKey: accountQuery.queryKey });
        }}
      />
    </div>
  );
}
