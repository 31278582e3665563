import { useQuery } from '@tanstack/react-query';
import { createFileRoute, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import * as v from 'valibot';
import { Chamber } from '#web/features/chamber/chamber.tsx';
import { useSession } from '#web/features/identity/sessions/session.ts';
import { runsQuery } from '#web/features/runs/queries.ts';
import { runningId } from '#web/features/runs/words.ts';
import { NoSuchRun } from '#web/run/no-such-run.tsx';
import { PagePending } from '#web/app/page-pending.tsx';
import { creditsInWords } from '#services/platform/numbers.ts';
import { showToast } from '#web/ui/feedback/toasts.tsx';

export const Route = createFileRoute('/_signed-in/evolution-chamber')({
  validateSearch: v.object({ id: v.optional(v.fallback(v.string(), 'unknown')) }),
  component: ChamberPage,
  staticData: { title: 'Evolution Chamber' },
});

function ChamberPage(): ReactNode {
  const { id } = Route.useSearch();
  return id === undefined ? <ActiveRun /> : <WatchedRun id={id} />;
}

function WatchedRun({ id }: { id: string }): ReactNode {
  const navigate = useNavigate();
  const session = useSession();
  if (!('user' in session)) return null;
  return (
    <Chamber
      runId={id}
      userId={session.user.id}
      missing={<NoSuchRun />}
      onCancelled={(returned) => {
        showToast('success', 'Run canceled', {
          message:
            returned === 0
              ? "You weren't charged."
              : `${creditsInWords(returned)} returned to your balance.`,
        });
        void navigate({ to: '/optimizations/$id', params: { id } });
      }}
    />
  );
}

/** Without an id: the running run, else the form, or the recorded run for users without a run. */
function ActiveRun(): ReactNode {
  const navigate = useNavigate();
  const { data, isPending } = useQuery({ ...runsQuery(), staleTime: 0 });
  const active = data?.data.map(runningId).find((id) => id !== null);
  const hasRuns = data === undefined || data.data.length > 0;
  useEffect(() => {
    if (isPending) return;
    void (active
      ? navigate({ to: '/evolution-chamber', search: { id: active }, replace: true })
      : navigate({ to: hasRuns ? '/optimization' : '/how-it-works', replace: true }));
  }, [isPending, active, hasRuns, navigate]);
  return isPending || active ? (
    <PagePending />
  ) : (
    <p className="mx-auto max-w-page px-4 pt-8 sm:px-6">Redirecting...</p>
  );
}
