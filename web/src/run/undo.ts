import { onSessionEnd } from '#web/features/identity/sessions/session.ts';
import { restoreRun, runsKey } from '#web/features/runs/queries.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { queryClient } from '#web/api/query-client.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { dismissToast, showToast } from '#web/ui/feedback/toasts.tsx';

/** Milliseconds in which a deletion can be taken back. */
const undoMs = 8_000;

const offered = new Set<string>();
// The title of a run is nothing for the next person.
onSessionEnd(() => {
  if (offered.size === 0) return;
  for (const toast of offered) dismissToast(toast);
  offered.clear();
  announce('');
});

/**
 * Says that a run was deleted, on whatever page comes next, and offers to bring it back. Whoever
 * deletes by keyboard gets the focus there, and time stands still while it stays.
 */
export function offerUndo(
  run: { id: string; title: string; status: string },
  { takesFocus }: { takesFocus: boolean },
): void {
  const { id, title, status } = run;
  const toast = showToast('info', 'Optimization deleted', {
    message:
      status === 'pending'
        ? `${title}${/[.!?…]$/.test(title) ? '' : '.'} It was not started, and would come back cancelled.`
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
          return `It could not be brought back. ${problemSentence(error)}`;
        }
        await queryClient.invalidateQueries({ queryKey: runsKey });
        announce(`${title} is back`);
        await focusRun(id);
        return null;
      },
    },
  });
  offered.add(toast);
}

/** The id of the row of a run in the list of all. */
export function rowId(id: string): string {
  return `run-${id}`;
}

/**
 * Focuses the row of a run, or the page's heading when the run is not on the page. Waits until what
 * was read last has been drawn.
 */
export async function focusRun(id: string | null): Promise<void> {
  // The cache tells its readers in a task of its own, and they draw in the next.
  for (let task = 0; task < 2; task += 1) await new Promise((resolve) => setTimeout(resolve));
  const target =
    (id === null ? null : document.getElementById(rowId(id))) ??
    document.querySelector<HTMLElement>('main h1');
  if (!target) return;
  target.tabIndex = -1;
  target.focus();
}
