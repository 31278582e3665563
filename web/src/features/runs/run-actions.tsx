import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type MouseEvent, type ReactNode, useId, useState } from 'react';
import { optimizationLimits, RenameRequest } from '#services/optimizations/contract/requests.ts';
import { type OptimizationSummary } from '#services/optimizations/contract/summary.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { Dialog } from '#web/ui/dialog.tsx';
import { FieldError, TextField } from '#web/ui/form/field.tsx';
import { useForm } from '#web/ui/form/form.ts';
import { renameRun, runsKey } from './queries.ts';

export type Run = Pick<OptimizationSummary, 'id' | 'title' | 'status'> & {
  /** It is deleted with the run that it refines, not alone. */
  isRefinement?: boolean;
  /** Its own, which are deleted with it. */
  refinements: number;
};

/** What a user can do with a run: rename, repeat or delete it. */
export function RunActions({
  run,
  isListed = false,
  onRenamed,
  onDelete,
}: {
  run: Run;
  /** In a list no page around the run offers the rest. */
  isListed?: boolean;
  onRenamed?: () => Promise<void>;
  /**
   * `byKeyboard`: the focus is on a button that is about to disappear. @throws when nothing was
   * deleted
   */
  onDelete: (byKeyboard: boolean) => Promise<void>;
}): ReactNode {
  const { id, title } = run;
  const about = <span className="sr-only">: {title}</span>;
  return (
    <div className="-mx-2 flex flex-wrap items-center">
      <Rename run={run} {...(onRenamed ? { onRenamed } : {})} />
      {isListed ? (
        <>
          <Link to="/optimization" search={{ from: id }} className={action}>
            Duplicate{about}
          </Link>
          <Link to="/recipes/new" search={{ run: id }} className={action}>
            Save as recipe{about}
          </Link>
        </>
      ) : null}
      {run.isRefinement ? (
        <p className="px-2 text-sm text-ink-2">To delete it, delete the run it refines.</p>
      ) : (
        <Delete run={run} onDelete={onDelete} />
      )}
    </div>
  );
}

/** Four of them fit beside each other on a phone. */
const action =
  'inline-flex min-h-11 items-center rounded-control px-2 text-sm font-medium hover:bg-sunken';

function Delete({
  run: { title, status, refinements },
  onDelete,
}: {
  run: Run;
  onDelete: (byKeyboard: boolean) => Promise<void>;
}): ReactNode {
  const [isSending, setSending] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const [isAsking, setAsking] = useState(false);
  const errorId = useId();
  if (status === 'processing')
    return (
      <p className="px-2 text-sm text-ink-2">
        This run is still going. Cancel it before you delete it.
      </p>
    );
  const remove = async ({ detail }: MouseEvent): Promise<void> => {
    // The second press of a double click would hit the next run, which has moved up.
    if (isSending || detail > 1) return;
    setSending(true);
    setFailure(null);
    try {
      // A key press is a click without a count.
      await onDelete(detail === 0);
    } catch (error) {
      const sentence = `We couldn't delete it. ${problemSentence(error)}`;
      setFailure(sentence);
      announce(sentence, 'assertive');
    } finally {
      setSending(false);
    }
  };
  return (
    <>
      <button
        type="button"
        className={action}
        // Not disabled, which would lose the focus.
        aria-busy={isSending || undefined}
        aria-describedby={failure === null ? undefined : errorId}
        onClick={(event) => {
          if (refinements > 0) setAsking(true);
          else void remove(event);
        }}
      >
        Delete<span className="sr-only">: {title}</span>
      </button>
      {failure === null ? null : (
        <div className="w-full px-2">
          <FieldError id={errorId}>{failure}</FieldError>
        </div>
      )}
      <Dialog
        open={isAsking}
        onClose={() => setAsking(false)}
        title="Delete this run?"
        actions={
          <>
            <Button onClick={() => setAsking(false)}>Keep it</Button>
            <Button
              tone="danger"
              onClick={(event) => {
                setAsking(false);
                void remove(event);
              }}
            >
              Delete
            </Button>
          </>
        }
      >
        <p>
          {refinements === 1 ? 'Its refinement is' : `Its ${refinements} refinements are`} deleted
          too. You can undo this right after.
        </p>
      </Dialog>
    </>
  );
}

function Rename({ run, onRenamed }: { run: Run; onRenamed?: () => Promise<void> }): ReactNode {
  const client = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const close = (): void => setOpen(false);
  return (
    <>
      <button type="button" className={action} onClick={() => setOpen(true)}>
        Rename<span className="sr-only">: {run.title}</span>
      </button>
      <Dialog open={isOpen} onClose={close} title="Rename">
        <RenameForm
          run={run}
          onCancel={close}
          onRenamed={async () => {
            close();
            announce('Renamed');
            await Promise.all([client.invalidateQueries({ queryKey: runsKey }), onRenamed?.()]);
          }}
        />
      </Dialog>
    </>
  );
}

/** An opening dialog uses the attribute. */
function focusFirst(input: HTMLInputElement | null): void {
  input?.toggleAttribute('autofocus', true);
}

function RenameForm({
  run: { id, title },
  onCancel,
  onRenamed,
}: {
  run: Run;
  onCancel: () => void;
  onRenamed: () => Promise<void>;
}): ReactNode {
  const errorId = useId();
  const form = useForm({
    schema: RenameRequest,
    read: (data) => ({ title: data.get('title') }),
    send: async (request) => {
      await renameRun(id, request);
      await onRenamed();
    },
  });
  const failure =
    form.failure === null ? null : `We couldn't save that. ${problemSentence(form.failure)}`;
  return (
    <form {...form.props} className="space-y-4">
      <TextField
        ref={focusFirst}
        label="Title"
        name="title"
        required
        autoComplete="off"
        maxLength={optimizationLimits.title}
        defaultValue={title}
        error={form.errors['title']}
      />
      <div role="alert">
        {failure === null ? null : <FieldError id={errorId}>{failure}</FieldError>}
      </div>
      <div className="flex flex-wrap justify-end gap-3 pt-2">
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" tone="primary" busy={form.busy}>
          Save
        </Button>
      </div>
    </form>
  );
}
