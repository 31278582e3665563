import { type ErrorComponentProps, useRouter } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ApiProblem } from '#web/api/api.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { productName } from './product.ts';
import { Button } from '#web/ui/form/button.tsx';
import { ErrorState } from '#web/ui/feedback/error-state.tsx';

/** Replaces a page that could not be shown. The bars around it keep working. */
export function PageProblem({ error, reset }: ErrorComponentProps): ReactNode {
  const router = useRouter();
  return (
    <div className="mx-auto max-w-page px-4 py-12 sm:px-6">
      <h1 className="mb-6 text-4xl" tabIndex={-1}>
        {isOldVersion(error) ? 'New version' : "We couldn't show this page"}
      </h1>
      {isOldVersion(error) ? (
        <ErrorState
          title={`${productName} was updated while you had this page open.`}
          safe="Your drafts are kept."
          actions={
            <Button tone="primary" onClick={() => location.reload()}>
              Reload for the new version
            </Button>
          }
        />
      ) : (
        <ErrorState
          title={problemSentence(error)}
          reference={error instanceof ApiProblem ? error.request_id : null}
          onRetry={() => {
            reset();
            void router.invalidate();
          }}
        />
      )}
    </div>
  );
}

/** Browsers word a missing script file differently. */
function isOldVersion(error: unknown): boolean {
  return (
    error instanceof Error &&
    /dynamically imported module|importing a module script failed/i.test(error.message)
  );
}
