import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import type { SharedReply } from '#services/optimizations/contract/sharing.ts';
import { describeRun } from '#services/optimizations/reading/describe.ts';
import { erased } from '#services/optimizations/reading/texts.ts';
import { ApiProblem } from '#web/api/api.ts';
import { QueryBlock } from '#web/api/query-block.tsx';
import { productName, windowTitle } from '#web/app/product.ts';
import { Files } from '#web/features/result/tools/files.tsx';
import { ReadSteps } from '#web/features/result/next-steps.tsx';
import { Parts } from '#web/features/result/parts.tsx';
import { usePrintedWhole } from '#web/features/result/tools/printed-whole.ts';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';
import { useWindowTitle } from '#web/ui/use-window-title.ts';
import { sharedQuery } from './queries.ts';
import { NoSuchLink } from './no-such-link.tsx';
import { SharedHead } from './shared-head.tsx';

/** A result for everyone who has its link. */
export function SharedPage({ token }: { token: string }): ReactNode {
  const shared = useQuery(sharedQuery(token));
  // Also of a link that worked when the page was opened.
  if (shared.error instanceof ApiProblem && shared.error.status === 404) return <NoSuchLink />;
  const isFailed = shared.data === undefined && shared.error !== null;
  return (
    <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6 print:p-0">
      {isFailed ? <h1 className="text-4xl">Shared result</h1> : null}
      <QueryBlock
        answer={shared}
        label="Loading the result"
        failure="We couldn't load this result"
        skeleton={<Outline />}
      >
        {(reply) => <SharedResult reply={reply} />}
      </QueryBlock>
    </div>
  );
}

/** As the result's own page, without what only its owner can do. */
function SharedResult({ reply }: { reply: SharedReply }): ReactNode {
  const { run } = reply;
  const described = useMemo(() => describeRun(run.council, 0), [run]);
  useWindowTitle(windowTitle(run.council.title ?? erased));
  usePrintedWhole();
  const { result } = described;
  if (!result) return null;
  return (
    <article className="space-y-8">
      <SharedHead reply={reply} />
      <Parts
        run={described}
        result={result}
        tools={<Files run={described} json={run} />}
        steps={<ReadSteps run={described} steps={result.next_steps} />}
        onAsk={null}
      />
      <p className="border-t border-line pt-4 text-sm text-ink-2 print:hidden">
        Made with{' '}
        <Link to="/" className="link">
          {productName}
        </Link>
        , which puts one question to several AI models.
      </p>
    </article>
  );
}

function Outline(): ReactNode {
  return (
    <div className="space-y-6">
      <Skeleton className="h-10 w-2/3" />
      <Skeleton className="h-6 w-1/2" />
      <Skeleton className="h-96" />
    </div>
  );
}
