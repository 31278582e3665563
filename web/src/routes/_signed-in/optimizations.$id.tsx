import { createFileRoute } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Result } from '#web/features/result/result.tsx';
import { NoSuchRun } from '#web/run/no-such-run.tsx';

export const Route = createFileRoute('/_signed-in/optimizations/$id')({
  component: ResultPage,
  staticData: { title: 'Result' },
});

function ResultPage(): ReactNode {
  const { id } = Route.useParams();
  return <Result runId={id} missing={<NoSuchRun />} />;
}
