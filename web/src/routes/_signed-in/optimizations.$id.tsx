import { useQueryClient } from '@tanstack/react-query';
import { createFileRoute } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { Result } from '#web/features/result/result.tsx';
import { deleteRun, runsKey } from '#web/features/runs/queries.ts';
import { type Run, RunActions } from '#web/features/runs/run-actions.tsx';
import { reloadRun } from '#web/live/live.ts';
import { PagePending } from '#web/app/page-pending.tsx';
import { NoSuchRun } from '#web/run/no-such-run.tsx';
import { offerUndo } from '#web/run/undo.ts';

export const Route = createFileRoute('/_signed-in/optimizations/$id')({
  component: ResultPage,
  staticData: { title: 'Result' },
});

function ResultPage(): ReactNode {
  const { id } = Route.useParams();
  const navigate = Route.useNavigate();
  const client = useQueryClient();
  const [deleting, setDeleting] = useState<string | null>(null);
  const remove = async (run: Run, byKeyboard: boolean): Promise<void> => {
    setDeleting(id);
    try {
      await deleteRun(id);
    } catch (error) {
      setDeleting(null);
      throw error;
    }
    void client.invalidateQueries({ queryKey: runsKey });
    await navigate({ to: '/dashboard/optimizations', replace: true });
    offerUndo(run, { takesFocus: byKeyboard });
  };
  return (
    <Result
      runId={id}
      // The stream may report the deletion first; the user is then already leaving for the list.
      missing={deleting === id ? <PagePending /> : <NoSuchRun />}
      renderActions={(run) => (
        <RunActions
          run={run}
          onRenamed={() => reloadRun(id)}
          onDelete={(byKeyboard) => remove(run, byKeyboard)}
        />
      )}
    />
  );
}
