import { useEffect, useSyncExternalStore } from 'react';
import type { User } from '#services/identity/contract/session.ts';
import { keep, readKept } from '#web/consent/device.ts';
import { queryClient } from '#web/api/query-client.ts';
import { onSessionEnd } from '#web/features/identity/sessions/session.ts';
import { runQuery } from '#web/features/runs/queries.ts';
import { onRunReport, type RunReport, serverNow } from '#web/live/live.ts';
import { onToast } from '#web/ui/feedback/toasts.tsx';
import { createSignal } from '#web/ui/signal.ts';
import {
  allRead,
  type Ending,
  endNotice,
  followRun,
  isEnding,
  type Kept,
  keptFrom,
  type Notice,
  nothingKept,
  withNotice,
} from './notices.ts';

/**
 * The bell of one user: in memory, and on this device where consent allows it. Signing out removes
 * it with the drafts.
 */
const keyOf = (userId: string) => `sevenfold.draft.${userId}.notices` as const;

let owner: string | null = null;
let kept: Kept = nothingKept;
const changes = createSignal();
const ends = createSignal<[notice: Notice & { message: string }]>();
const starts = createSignal();
/** Calls back when a run that was in progress has ended. */
export const onRunEnd = ends.subscribe;
/** Calls back when a run starts while this page is open. */
export const onRunStart = starts.subscribe;

function show(next: Kept): void {
  kept = next;
  changes.emit();
}

/** Another tab may have kept something since. */
function change(step: (before: Kept) => Kept): void {
  if (owner === null) return;
  const next = step(keptOf(owner));
  if (next === kept) return;
  show(next);
  keep(keyOf(owner), JSON.stringify(next));
}

function keptOf(userId: string): Kept {
  const stored = keptFrom(readKept(keyOf(userId)));
  return stored === nothingKept ? kept : stored;
}

function open(userId: string): void {
  owner = userId;
  show(keptFrom(readKept(keyOf(userId))));
}

onSessionEnd(() => {
  owner = null;
  show(nothingKept);
});

function receive(run: RunReport): void {
  let outcome = 'same' as 'same' | 'started' | 'ended';
  change((before) => {
    const followed = followRun(before, run);
    if (followed.kept !== before) outcome = followed.hasEnded ? 'ended' : 'started';
    return followed.kept;
  });
  if (outcome === 'started' && !run.isFirstSight) starts.emit();
  if (outcome === 'ended' && isEnding(run.status)) void keepEnd(run.id, run.status);
}

async function keepEnd(id: string, status: Ending): Promise<void> {
  const ownerThen = owner;
  const title = await titleOf(id);
  // Another user may have signed in since.
  if (owner !== ownerThen) return;
  const notice = endNotice(id, status, title, new Date().toISOString());
  change((before) => withNotice(before, notice));
  ends.emit(notice);
}

/** The bell also rings for a run that cannot be read now. */
async function titleOf(id: string): Promise<string | null> {
  try {
    return (await queryClient.fetchQuery(runQuery(id))).title;
  } catch (error) {
    console.warn('The title of an ended run could not be read', error);
    return null;
  }
}

/** Keeps toasts and ended runs while a user is signed in. Mounted once, by the signed-in shell. */
export function useNoticeKeeping({ id: userId }: User): void {
  useEffect(() => {
    open(userId);
    const stops = [
      onRunReport(receive),
      onToast(({ id, type: tone, title, message }) =>
        change((before) =>
          withNotice(before, {
            id,
            at: new Date().toISOString(),
            tone,
            title,
            ...(message === undefined ? {} : { message }),
            isRead: false,
          }),
        ),
      ),
    ];
    const followTabs = ({ key, newValue }: StorageEvent): void => {
      if (key === keyOf(userId)) show(keptFrom(newValue));
    };
    addEventListener('storage', followTabs);
    return () => {
      for (const stop of stops) stop();
      removeEventListener('storage', followTabs);
    };
  }, [userId]);
}

export function useNotices(): Kept {
  return useSyncExternalStore(changes.subscribe, () => kept);
}

export function markAllRead(): void {
  change((before) => (before.notices.every(({ isRead }) => isRead) ? before : allRead(before)));
}

/** Runs in progress are still followed. */
export function clearNotices(): void {
  const clearedAt = new Date(serverNow()).toISOString();
  change((before) => ({ ...before, notices: [], clearedAt }));
}
