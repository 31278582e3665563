import { onSessionEnd } from '#web/features/identity/sessions/session.ts';
import { restoreRun, runsKey } from '#web/features/runs/queries.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { queryClient } from '#web/api/query-client.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { dismissToast, showToast, undoMs } from '#web/ui/feedback/toasts.tsx';

const offered = new Set<string>();
// One user's run title must not reach the next user.
onSessionEnd(() => {
  if (offered.size === 0) return;
  for (const toast of offered) dismissToast(toast);
  offered.clear();
  announce('');
});

/**
 * Announces a deletion on whatever page follows, and offers to undo it. After a keyboard deletion
 * the focus goes there, and time stops while it stays.
 */
export function offerUndo(
  run: { id: string; title: string; status: string },
  { takesFocus }: { takesFocus: boolean },
): void {
  const { id, title, status } = run;
  const toast = showToast('info', 'Optimization deleted', {
    message:
      status === 'pending'
        ? `${title}${/[.!?…]$/.test(title) ? '' : '.'} It never started. If you undo, it comes back as canceled.`
        : title,
    duration: undoMs,
    action: {
      label: 'Undo',
      about: `the deletion of ${title}`,
      takesFocus,
      run: async () => {
        try {
          await restoreRun(id);
        } catch (error) {
          return `We couldn't restore it. ${problemSentence(error)}`;
        }
        await queryClient.invalidateQueries({ queryKey: runsKey });
        announce(`${title} restored`);
        await focusRun(id);
        return null;
      },
    },
  });
  offered.add(toast);
}

/** The element id of a run's row in the list. */
export function rowId(id: string): string {
  return `run-${id}`;
}

/**
 * Focuses the row of a run, or the page's heading without one. Waits until the last fetch has been
 * drawn.
 */
export async function focusRun(id: string | null): Promise<void> {
  // The cache notifies its readers in a task of its own, and they draw in the next.
  for (let task = 0; task < 2; task += 1) await new Promise((resolve) => setTimeout(resolve));
  const target =
    (id === null ? null : document.getElementById(rowId(id))) ??
    document.querySelector<HTMLElement>('main h1');
  if (!target) return;
  target.tabIndex = -1;
  target.focus();
}
