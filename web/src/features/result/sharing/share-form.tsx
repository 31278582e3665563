import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useRef } from 'react';
import { shareLimits, type ShareRequest } from '#services/optimizations/contract/sharing.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { isRefusal } from '#web/api/refused.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { Checkbox, SelectField } from '#web/ui/form/field.tsx';
import { hasContext } from './has-context.ts';
import { makeShare, sharesQuery } from './queries.ts';

const days: readonly (readonly [days: number, words: string])[] = [
  [1, '1 day'],
  [7, '7 days'],
  [shareLimits.daysUsual, `${shareLimits.daysUsual} days`],
  [90, '90 days'],
  [shareLimits.daysMost, '1 year'],
];

const failed = "We couldn't create the link";

/** Makes a link. While it is unknown whether it was made, the next try carries the same key. */
export function ShareForm({ run: { id, refines, council } }: { run: Optimization }): ReactNode {
  const isContextWritten = hasContext(council);
  const client = useQueryClient();
  const key = useRef(crypto.randomUUID());
  const make = useMutation({
    mutationFn: (request: ShareRequest) => makeShare(id, request, key.current),
    onSuccess: () => {
      key.current = crypto.randomUUID();
      announce('Link created');
    },
    onError: (error) => {
      if (isRefusal(error)) key.current = crypto.randomUUID();
    },
    onSettled: () => client.invalidateQueries({ queryKey: sharesQuery(id).queryKey }),
  });
  return (
    <form
      method="post"
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault();
        const data = new FormData(event.currentTarget);
        if (make.isPending) return;
        make.mutate({
          expires_in_days: Number(data.get('expires_in_days')),
          // Without context nothing is hidden, and the page must not say that something is.
          shows_context: !isContextWritten || data.get('shows_context') !== null,
        });
      }}
      // Another choice is another link.
      onChange={() => {
        key.current = crypto.randomUUID();
      }}
    >
      <SelectField
        label="Link expires after"
        name="expires_in_days"
        defaultValue={shareLimits.daysUsual}
      >
        {days.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </SelectField>
      {isContextWritten ? (
        <Checkbox
          name="shows_context"
          label="Show the context"
          hint={`Also shows your objectives and constraints${refines === null ? '' : ', and the instructions and facts you gave since'}.`}
        />
      ) : null}
      <Repeated context={isContextWritten} files={council.files.length > 0} />
      {make.error === null ? null : (
        <Notice tone="bad" title={failed} announced={`${failed}. ${problemSentence(make.error)}`}>
          <p>{problemSentence(make.error)}</p>
        </Notice>
      )}
      <Button type="submit" tone="primary" busy={make.isPending}>
        {make.isPending ? 'Creating…' : 'Create link'}
      </Button>
    </form>
  );
}

/** What readers are not shown may be repeated by what they are shown. */
function Repeated({ context, files }: { context: boolean; files: boolean }): ReactNode {
  if (!context && !files) return null;
  const what = files
    ? `what your ${context ? 'context and files' : 'files'} say`
    : 'what your context says';
  return (
    <Notice tone="warn" title={`Hidden ${context ? 'context' : 'files'} can still come through`}>
      Answers, reasons and quotes may repeat {what}. Read the result before you share it.
    </Notice>
  );
}
