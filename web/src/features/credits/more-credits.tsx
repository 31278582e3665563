import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useRef } from 'react';
import { trialCredits } from '#services/credits/contract.ts';
import { problemSentence } from '#web/problem-words.ts';
import { announce } from '#web/ui/announcer.tsx';
import { Button } from '#web/ui/button.tsx';
import { Card } from '#web/ui/card.tsx';
import { creditsInWords } from '#web/ui/figures.ts';
import { Notice } from '#web/ui/notice.tsx';
import { addTrialCredits, balanceQuery } from './queries.ts';
import { grantCommand } from './transaction-words.ts';

/**
 * How to get credits. They cannot be bought in this version: local mode gives trial credits, and
 * elsewhere the page says so.
 */
export function MoreCredits({ isLocal, email }: { isLocal: boolean; email: string }): ReactNode {
  return (
    <Card aria-labelledby="more" className="space-y-4">
      <h2 id="more" className="text-2xl">
        {isLocal ? 'Trial credits' : 'More credits'}
      </h2>
      {isLocal ? (
        <>
          <p className="text-ink-2">
            Credits cannot be bought yet in this version. This installation runs in local mode and
            gives trial credits, free of charge.
          </p>
          <TrialButton />
          <div className="space-y-2">
            <p className="text-ink-2">The same from the command line:</p>
            <GrantCommand email={email} />
          </div>
        </>
      ) : (
        <p className="text-ink-2">
          Credits cannot be bought yet in this version. Whoever operates this installation can grant
          them; they arrive here the moment they are granted.
        </p>
      )}
    </Card>
  );
}

function GrantCommand({ email }: { email: string }): ReactNode {
  const command = grantCommand(email, trialCredits);
  return (
    <code className="block rounded-control bg-sunken p-3 font-mono text-sm wrap-anywhere select-all">
      {command}
    </code>
  );
}

/** One press, one gift: a press after a lost reply carries the same key and adds nothing more. */
function TrialButton(): ReactNode {
  const client = useQueryClient();
  const key = useRef<string | null>(null);
  const isAdding = useRef(false);
  const gift = useMutation({
    mutationFn: () => addTrialCredits((key.current ??= crypto.randomUUID())),
    onSuccess: async (balance) => {
      key.current = null;
      client.setQueryData(balanceQuery.queryKey, balance);
      announce(
        `${creditsInWords(trialCredits)} added. You have ${creditsInWords(balance.available_credits)}.`,
      );
      await client.invalidateQueries({ queryKey: ['credits'] });
    },
    onSettled: () => {
      isAdding.current = false;
    },
  });
  const press = (): void => {
    // The second half of a double click comes before the button is drawn as busy.
    if (isAdding.current) return;
    isAdding.current = true;
    gift.mutate();
  };
  return (
    <div className="space-y-3">
      <Button tone="primary" busy={gift.isPending} onClick={press}>
        {gift.isPending ? 'Adding…' : `Add ${trialCredits} trial credits`}
      </Button>
      {gift.isSuccess ? (
        <p className="text-ok">
          {creditsInWords(trialCredits)} added. You have{' '}
          {creditsInWords(gift.data.available_credits)}.
        </p>
      ) : null}
      {gift.isError ? (
        <Notice
          tone="bad"
          title="The trial credits could not be added"
          announced="The trial credits could not be added"
        >
          {problemSentence(gift.error)} Pressing again adds them once, even if they have arrived.
        </Notice>
      ) : null}
    </div>
  );
}
