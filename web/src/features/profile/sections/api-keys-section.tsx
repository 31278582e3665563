import { useQuery } from '@tanstack/react-query';
import { type ComponentType, lazy, type ReactNode, Suspense, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { apiKeyLimits, type ApiKeyRow } from '#services/identity/contract/api-keys.ts';
import { QueryBlock } from '#web/api/query-block.tsx';
import type { CreationProps } from '#web/features/profile/api-keys/creation.tsx';
import { Outcome } from '#web/features/profile/outcome.tsx';
import { apiKeysQuery } from '#web/features/profile/queries.ts';
import { Section } from '#web/features/profile/section.tsx';
import { useAction } from '#web/features/profile/use-action.ts';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';
import { Button } from '#web/ui/form/button.tsx';

const KeyList = lazy(async () => ({
  default: (await import('#web/features/profile/api-keys/key-list.tsx')).KeyList,
}));

export function ApiKeysSection({ hasPassword }: { hasPassword: boolean | null }): ReactNode {
  const keys = useQuery(apiKeysQuery);
  return (
    <Section
      title="API keys"
      about={
        <>
          With a key your own programs use Sevenfold as you: they ask questions, read results, and
          use your credits. The{' '}
          <a href="/api-docs/programs" className="link">
            programs guide
          </a>{' '}
          has examples, and the{' '}
          <a href="/api-docs" className="link">
            API docs
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
          <div className="space-y-5">
            <Keys rows={rows} />
            <NewKey live={rows.length} hasPassword={hasPassword} />
          </div>
        )}
      </QueryBlock>
    </Section>
  );
}

/** The list stays once it was shown: after the last key is revoked, it says so and holds the focus. */
function Keys({ rows }: { rows: readonly ApiKeyRow[] }): ReactNode {
  const [hadRows, setHadRows] = useState(false);
  if (rows.length > 0 && !hadRows) setHadRows(true);
  const empty = (
    <p className="text-ink-2">You have no API keys. Create one for each program of yours.</p>
  );
  if (rows.length === 0 && !hadRows) return empty;
  return (
    <Suspense fallback={<Skeleton className="h-32" />}>
      <KeyList rows={rows} empty={empty} />
    </Suspense>
  );
}

/** A button, then the form and the key that it created. */
function NewKey({ live, hasPassword }: { live: number; hasPassword: boolean | null }): ReactNode {
  const { run, busy, failure } = useAction();
  const [Opened, setOpened] = useState<ComponentType<CreationProps> | null>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const isFull = live >= apiKeyLimits.live;
  const open = (): void =>
    run(async () => {
      const { Creation } = await import('#web/features/profile/api-keys/creation.tsx');
      setOpened(() => Creation);
      return null;
    });
  const close = (): void => {
    flushSync(() => setOpened(null));
    opener.current?.focus();
  };
  if (Opened !== null) return <Opened hasPassword={hasPassword} onClose={close} />;
  return (
    <>
      {isFull ? (
        <p className="text-sm text-ink-2">
          You can have up to {apiKeyLimits.live} keys. Revoke one to create another.
        </p>
      ) : null}
      <Outcome done={null} failure={failure} title="We couldn't open the form" />
      <Button ref={opener} onClick={open} busy={busy} disabled={isFull}>
        Create key
      </Button>
    </>
  );
}
