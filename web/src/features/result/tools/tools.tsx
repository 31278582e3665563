import { BookmarkPlus, CopyPlus, RefreshCw } from 'lucide-react';
import { type ReactNode, useId } from 'react';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { Button, LinkButton } from '#web/ui/form/button.tsx';
import { Files } from './files.tsx';
import { ShareButton } from '#web/features/result/sharing/share-button.tsx';

/** What the owner of a result can do with it. */
export function Tools({ run, onRefine }: { run: Optimization; onRefine: () => void }): ReactNode {
  return (
    <>
      <Refine run={run} onRefine={onRefine} />
      <ShareButton run={run} />
      <Files run={run} />
      <LinkButton to="/optimization" search={{ from: run.id }}>
        <CopyPlus size={16} aria-hidden="true" />
        Duplicate
      </LinkButton>
      <LinkButton to="/recipes/new" search={{ run: run.id }}>
        <BookmarkPlus size={16} aria-hidden="true" />
        Save as recipe
      </LinkButton>
    </>
  );
}

/** Why a result can't be refined stands beside the button that it disables. */
function Refine({
  run: { refinable },
  onRefine,
}: {
  run: Optimization;
  onRefine: () => void;
}): ReactNode {
  const reasonId = useId();
  const reason = refinable?.reason ?? null;
  return (
    <>
      {reason === null ? null : (
        <p id={reasonId} className="w-full max-w-prose text-sm text-ink-2">
          {reason}
        </p>
      )}
      <Button
        disabled={refinable?.allowed !== true}
        aria-describedby={reason === null ? undefined : reasonId}
        onClick={onRefine}
      >
        <RefreshCw size={16} aria-hidden="true" />
        Request Refinement
      </Button>
    </>
  );
}
