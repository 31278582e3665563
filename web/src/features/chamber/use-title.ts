import { useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';
import { overallProgress, statusOf } from '#services/optimizations/reading/describe.ts';
import { useRunPart } from '#web/live/live.ts';

/** The window's title follows the run: "62 % · Evolution Chamber", then "Done · …". */
export function useTitle(runId: string): void {
  const router = useRouter();
  const title = useRunPart(runId, ({ view }) => {
    const words = {
      pending: 'Getting ready',
      processing: `${overallProgress(view)} %`,
      completed: 'Done',
      failed: 'Failed',
      cancelled: 'Cancelled',
    };
    return `${words[statusOf(view)]} · Evolution Chamber`;
  });
  useEffect(() => {
    const show = (): void => {
      document.title = title;
    };
    show();
    // After a navigation the router sets its own title last, and it would stay.
    return router.subscribe('onRendered', show);
  }, [title, router]);
}
