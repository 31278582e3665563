import { type ReactNode, useId, useState } from 'react';
import * as v from 'valibot';
import {
  type Outcome,
  outcomeLimits,
  OutcomeRequest,
} from '#services/optimizations/contract/outcomes.ts';
import {
  askedNote,
  didLabel,
  happenedLabel,
  happenedWords,
  unchangedNote,
} from '#services/optimizations/reading/words/turned-out.ts';
import { problemButtons } from '#web/api/problem-buttons.tsx';
import { problemSentence } from '#web/api/problem-words.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { Counter } from '#web/ui/form/counter.tsx';
import { FieldError, GrowingField } from '#web/ui/form/field.tsx';
import { type FieldErrors, firstErrors, useForm } from '#web/ui/form/form.ts';
import { recordOutcome } from './calls.ts';

/** Asks what came of a result: what its owner did, and what happened. */
export function OutcomeForm({
  runId,
  asked,
  before = null,
  takesFocus = false,
  onSaved,
  onClose = null,
}: {
  /** The run, or a refinement of it. */
  runId: string;
  asked: Outcome['asked'];
  /** What is corrected. */
  before?: Pick<Outcome, 'did' | 'happened'> | null;
  /** It was opened by a press. */
  takesFocus?: boolean;
  onSaved: () => void;
  onClose?: (() => void) | null;
}): ReactNode {
  const [did, setDid] = useState(before?.did ?? '');
  const [happened, setHappened] = useState<Happened | null>(before?.happened ?? null);
  const form = useForm({
    schema: OutcomeRequest,
    read: () => ({ did, happened: happened ?? undefined }),
    send: async (request) => {
      await recordOutcome(runId, asked, request);
      announce('Your answer was saved');
      onSaved();
    },
  });
  // Too early needs no words, so choosing it settles that they are missing.
  const didError = happened === 'too_early' && did.trim() === '' ? undefined : form.errors['did'];
  return (
    <form
      {...form.props}
      onSubmit={(event) => {
        if (happened !== null) return form.props.onSubmit(event);
        event.preventDefault();
        form.refuse(errorsWithoutChoice(did));
      }}
      className="max-w-prose space-y-5"
    >
      <GrowingField
        label={didLabel}
        name="did"
        rows={3}
        value={did}
        onChange={({ target }) => setDid(target.value)}
        ref={takesFocus ? focusOnce : null}
        required={happened !== 'too_early'}
        hint="For example: raised the price for new clients in March."
        error={didError}
        aside={<Counter text={did} limit={outcomeLimits.did} />}
      />
      <Happenings chosen={happened} error={form.errors['happened']} onChoose={setHappened} />
      <p className="text-sm text-ink-2">
        {before === null ? `${askedNote(asked)} ` : ''}
        {unchangedNote}
      </p>
      {form.failure === null ? null : (
        <Notice
          tone="bad"
          title={notSaved}
          announced={`${notSaved}. ${problemSentence(form.failure)}`}
          actions={problemButtons(form.failure)}
        >
          <p>{problemSentence(form.failure)}</p>
          <p>Your text is still here.</p>
        </Notice>
      )}
      <div className="flex flex-wrap gap-3">
        <Button type="submit" tone="primary" busy={form.busy}>
          {form.busy ? 'Saving…' : 'Save answer'}
        </Button>
        {onClose === null ? null : <Button onClick={onClose}>Close</Button>}
      </div>
    </form>
  );
}

type Happened = Outcome['happened'];

/**
 * The errors of both fields while nothing is chosen. The schema compares them only once both are valid,
 * so the words are checked as under a choice that needs them.
 */
function errorsWithoutChoice(did: string): FieldErrors {
  const errorsWith = (happened: Happened | undefined): FieldErrors =>
    firstErrors(v.safeParse(OutcomeRequest, { did, happened }).issues ?? []);
  return { ...errorsWith('as_expected'), ...errorsWith(undefined) };
}

const notSaved = "We couldn't save your answer";

const focused = new WeakSet<HTMLElement>();

/** When it appears, not at every draw. */
function focusOnce(control: HTMLTextAreaElement | null): void {
  if (control === null || focused.has(control)) return;
  focused.add(control);
  control.focus();
}

function Happenings({
  chosen,
  error,
  onChoose,
}: {
  chosen: Happened | null;
  error: string | undefined;
  onChoose: (happened: Happened) => void;
}): ReactNode {
  const id = useId();
  return (
    <div
      role="radiogroup"
      aria-labelledby={`${id}-label`}
      aria-required="true"
      aria-invalid={error === undefined ? undefined : true}
      aria-describedby={error === undefined ? undefined : `${id}-error`}
      // The form moves the focus to what is missing.
      tabIndex={-1}
      className="space-y-1"
    >
      <p id={`${id}-label`} className="font-medium">
        {happenedLabel}
        <span aria-hidden="true" className="text-ink-3">
          {' '}
          *
        </span>
      </p>
      {(Object.keys(happenedWords) as Happened[]).map((one) => (
        <label key={one} className="flex min-h-11 cursor-pointer items-center gap-3">
          <input
            type="radio"
            name="happened"
            value={one}
            checked={one === chosen}
            onChange={() => onChoose(one)}
            className="size-5 shrink-0 accent-accent"
          />
          {happenedWords[one]}
        </label>
      ))}
      {error === undefined ? null : <FieldError id={`${id}-error`}>{error}</FieldError>}
    </div>
  );
}
