import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useRef, useState } from 'react';
import { DeletedReply } from '#services/identity/contract.ts';
import type { ApiKeyRow } from '#services/identity/contract/api-keys.ts';
import { credits, creditsInWords } from '#services/platform/numbers.ts';
import { unlessGone, write } from '#web/api/api.ts';
import { Outcome } from '#web/features/profile/outcome.tsx';
import { apiKeysQuery } from '#web/features/profile/queries.ts';
import { useAction } from '#web/features/profile/use-action.ts';
import { Dialog } from '#web/ui/dialog.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { day } from '#web/ui/text/day.ts';
import { RelativeTime } from '#web/ui/text/relative-time.tsx';
import { allowed } from './words.ts';

/** The live keys, and revoking one of them. Loaded on demand: few users have one. */
export function KeyList({
  rows,
  empty,
}: {
  rows: readonly ApiKeyRow[];
  /** Shown in place of the keys once the last one is revoked. */
  empty: ReactNode;
}): ReactNode {
  const client = useQueryClient();
  const list = useRef<HTMLElement>(null);
  const { run, busy, done, failure } = useAction();
  const [asked, setAsked] = useState<ApiKeyRow | null>(null);
  const close = (): void => setAsked(null);

  const revoke = ({ id, name }: ApiKeyRow): void => {
    close();
    run(async () => {
      await revokeOne(id);
      await client.invalidateQueries({ queryKey: apiKeysQuery.queryKey });
      // The pressed button disappears with its row.
      list.current?.focus();
      return `Revoked ${name}.`;
    });
  };

  return (
    <section ref={list} tabIndex={-1} aria-label="Your API keys" className="space-y-4">
      {rows.length === 0 ? (
        empty
      ) : (
        <ul className="divide-y divide-line">
          {rows.map((row) => (
            <KeyLine key={row.id} row={row} busy={busy} onRevoke={() => setAsked(row)} />
          ))}
        </ul>
      )}
      <Outcome done={done} failure={failure} title="We couldn't revoke that key" />
      <Dialog
        open={asked !== null}
        onClose={close}
        title="Revoke this key?"
        actions={
          <>
            <Button onClick={close}>Keep key</Button>
            <Button tone="danger" onClick={() => (asked ? revoke(asked) : undefined)}>
              Revoke key
            </Button>
          </>
        }
      >
        <p>
          Programs that use <strong className="wrap-anywhere">{asked?.name}</strong> lose access at
          once, and you can't undo this. Runs they started continue.
        </p>
      </Dialog>
    </section>
  );
}

function KeyLine({
  row,
  busy,
  onRevoke,
}: {
  row: ApiKeyRow;
  busy: boolean;
  onRevoke: () => void;
}): ReactNode {
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 py-3 first:pt-0">
      <div className="min-w-0 space-y-0.5">
        <p className="font-medium wrap-anywhere">{row.name}</p>
        <p className="text-sm text-ink-2">
          <span className="font-mono">{row.prefix}…</span> {allowed(row.scopes)}
        </p>
        <p className="text-sm text-ink-2">
          {credits(row.used_this_month)} of {creditsInWords(row.monthly_cap)} used this month (UTC)
        </p>
        <p className="text-sm text-ink-2">
          Created {day(row.created_at)},{' '}
          {row.last_used_at === null ? (
            'never used'
          ) : (
            <>
              last used <RelativeTime at={row.last_used_at} />
            </>
          )}
        </p>
      </div>
      <Button onClick={onRevoke} busy={busy}>
        Revoke<span className="sr-only"> {row.name}</span>
      </Button>
    </li>
  );
}

async function revokeOne(id: string): Promise<void> {
  await unlessGone(write('DELETE', `/api-keys/${id}`, {}, DeletedReply));
}
