import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { apiKeyLimits } from '#services/identity/contract/api-keys.ts';
import { QueryBlock } from '#web/api/query-block.tsx';
import { KeyForm, type NewKey } from '#web/features/profile/api-keys/key-form.tsx';
import { KeyList } from '#web/features/profile/api-keys/key-list.tsx';
import { ShownKey } from '#web/features/profile/api-keys/shown-key.tsx';
import { apiKeysQuery } from '#web/features/profile/queries.ts';
import { Section } from '#web/features/profile/section.tsx';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';
import { Button } from '#web/ui/form/button.tsx';

export function ApiKeysSection({ hasPassword }: { hasPassword: boolean | null }): ReactNode {
  const keys = useQuery(apiKeysQuery);
  return (
    <Section
      title="API keys"
      about={
        <>
          With a key your own programs use Sevenfold as you: they ask questions, read results, and
          use your credits.{' '}
          <a href="/api-docs" className="link">
            The API docs
          </a>{' '}
          list every call.
        </>
      }
    >
      <QueryBlock
        answer={keys}
        label="Loading your API keys"
        failure="We couldn't load your API keys"
        safe="Your programs still work."
        skeleton={<Skeleton className="h-32" />}
      >
        {(rows) => (
          <>
            <KeyList rows={rows} />
            <Creation live={rows.length} hasPassword={hasPassword} />
          </>
        )}
      </QueryBlock>
    </Section>
  );
}

/** A button, then the form, then the key that it created. */
function Creation({ live, hasPassword }: { live: number; hasPassword: boolean | null }): ReactNode {
  const client = useQueryClient();
  const [step, setStep] = useState<'closed' | 'form' | NewKey>('closed');
  const opener = useRef<HTMLButtonElement>(null);
  const refresh = async (): Promise<void> =>
    client.invalidateQueries({ queryKey: apiKeysQuery.queryKey });
  const close = (): void => {
    flushSync(() => setStep('closed'));
    opener.current?.focus();
  };
  if (typeof step === 'object') return <ShownKey created={step} onDone={close} />;
  if (step === 'form')
    return (
      <KeyForm
        hasPassword={hasPassword}
        onCreated={async (created) => {
          setStep(created);
          await refresh();
        }}
        onUnknown={() => void refresh()}
        onCancel={close}
      />
    );
  return (
    <div className="space-y-2">
      {live >= apiKeyLimits.live ? (
        <p className="text-sm text-ink-2">
          You can have up to {apiKeyLimits.live} keys. Revoke one to create another.
        </p>
      ) : null}
      <Button ref={opener} onClick={() => setStep('form')} disabled={live >= apiKeyLimits.live}>
        Create key
      </Button>
    </div>
  );
}
