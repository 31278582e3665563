import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { optimizationLimits } from '#services/optimizations/contract/requests.ts';
import { RefineRequest } from '#services/optimizations/contract/refinement.ts';
import { laterRefinementPrice } from '#services/optimizations/refinement/price.ts';
import { statusOf } from '#services/optimizations/reading/describe.ts';
import { claimText } from '#services/optimizations/reading/texts.ts';
import { restingTitle } from '#services/optimizations/reading/words/doubts.ts';
import { isRefusal } from '#web/api/refused.ts';
import { problemButtons } from '#web/api/problem-buttons.tsx';
import { problemSentence } from '#web/api/problem-words.ts';
import { balanceQuery } from '#web/features/credits/queries.ts';
import { refineRun } from '#web/features/runs/queries.ts';
import { reloadRun, sameFields, useRunPart } from '#web/live/live.ts';
import type { RunState } from '#web/live/run-state.ts';
import { Dialog } from '#web/ui/dialog.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { showToast } from '#web/ui/feedback/toasts.tsx';
import { Button, LinkButton } from '#web/ui/form/button.tsx';
import { Counter } from '#web/ui/form/counter.tsx';
import { TextArea } from '#web/ui/form/field.tsx';
import { type FieldErrors, useForm } from '#web/ui/form/form.ts';
import { credits, creditsInWords } from '#services/platform/numbers.ts';
import {
  type Draft,
  draftOf,
  dropDraft,
  isUnanswered,
  keepDraft,
  keyFor,
  missingPlace,
  requestOf,
  withMissing,
} from './drafts.ts';

/**
 * What a refinement is asked for: a claim that is different for the user, a fact that the models
 * miss, or the whole result.
 */
export type About = { readonly claimId: string | null; readonly missing?: string };

/** Asks for a refinement. Closing it keeps what was written. */
export function Composer({
  runId,
  about,
  onClose,
}: {
  runId: string;
  /** Null when closed. */
  about: About | null;
  onClose: () => void;
}): ReactNode {
  return (
    <Dialog open={about !== null} onClose={onClose} title={titleOf(about)}>
      {about === null ? null : (
        <ComposerForm
          runId={runId}
          claimId={about.claimId}
          missing={about.missing ?? null}
          onClose={onClose}
        />
      )}
    </Dialog>
  );
}

function titleOf(about: About | null): string {
  if (about?.claimId) return 'This is different for me';
  return about?.missing === undefined ? 'Request Refinement' : 'Add this fact';
}

function ComposerForm({
  runId,
  claimId,
  missing,
  onClose,
}: {
  runId: string;
  claimId: string | null;
  missing: string | null;
  onClose: () => void;
}): ReactNode {
  const navigate = useNavigate();
  const offer = useRunPart(runId, offerOf, sameFields);
  const claim = useRunPart(runId, ({ view }) =>
    claimId === null ? null : claimText(view, claimId),
  );
  const resting = useRunPart(runId, ({ view }) => restingTitle(view, claimId ?? ''));
  const balance = useQuery(balanceQuery).data;
  const place = missing === null ? claimId : missingPlace;
  const [draft, setDraft] = useState<Draft>(() => {
    const kept = draftOf(runId, place);
    if (missing !== null) return withMissing(kept, missing);
    return kept ?? { kind: 'fact', text: '', sent: null };
  });
  const change = (part: Partial<Draft>): void => {
    // What was typed while a request was on its way counts, too.
    const next = { ...(draftOf(runId, place) ?? draft), ...part };
    keepDraft(runId, place, next);
    setDraft(next);
  };
  const { isCompleted, price } = offer;
  useEffect(() => {
    // Another tab may have refined it since this copy was read.
    if (isCompleted) void reloadRun(runId);
  }, [isCompleted, runId]);

  const isOpen = useRef(true);
  useEffect(() => {
    isOpen.current = true;
    return () => {
      isOpen.current = false;
    };
  }, []);

  const send = async (request: RefineRequest): Promise<FieldErrors | void> => {
    const sent = keyFor(draft, request);
    change({ sent });
    try {
      const { id } = await refineRun(runId, request, sent.key);
      dropDraft(runId, place);
      onClose();
      await navigate({ to: '/evolution-chamber', search: { id } });
    } catch (error) {
      // Nobody sees the failure in a closed form.
      if (!isOpen.current) showToast('error', notSent, { message: problemSentence(error) });
      if (!isRefusal(error)) throw error;
      change({ sent: null });
      // The price or the reason on screen was not the server's.
      if (error.status === 409) void reloadRun(runId);
      if (error.status !== 400) throw error;
      return Object.fromEntries(error.errors.map(({ field, message }) => [field, message]));
    }
    return undefined;
  };
  const form = useForm({
    schema: RefineRequest,
    read: () => requestOf(draft, claimId, price ?? 0),
    send,
  });
  // A bare "no" would use up a refinement without a fact to vote on.
  const isWaiting =
    (claim !== null && draft.text.trim() === '') ||
    (missing !== null && isUnanswered(draft, missing));
  const shortfall = Math.max(0, (price ?? 0) - (balance?.available_credits ?? Infinity));
  return (
    <form {...form.props} className="space-y-4">
      {missing !== null ? null : claim === null ? (
        <Kinds chosen={draft.kind} onChoose={(kind) => change({ kind })} />
      ) : (
        <p className="max-w-prose border-s-2 border-line-strong ps-3">
          <span className="block text-sm text-ink-2">{resting}</span>
          {claim}
        </p>
      )}
      {draft.kind === 'contested' ? null : (
        <TextArea
          // One field for both kinds, so that the text stays when the choice changes.
          ref={missing !== null ? focusEnd : claim === null ? null : focusFirst}
          label={missing === null ? labels[draft.kind] : labels.missing}
          name={draft.kind === 'fact' ? 'changed_fact' : 'instruction'}
          value={draft.text}
          onChange={(event) => change({ text: event.currentTarget.value })}
          hint={missing === null ? hints[draft.kind] : hints.missing}
          aside={<Counter text={draft.text} limit={optimizationLimits.refinement} />}
          error={form.errors[draft.kind === 'fact' ? 'changed_fact' : 'instruction']}
        />
      )}
      <p className="max-w-prose text-sm text-ink-2">
        The same models vote again on the decision and at most {optimizationLimits.refinedClaims}{' '}
        claims, and each sees the reasons of both sides. Then the recommendation is written again.
        The first result stays as it is.
      </p>
      {price === null ? null : (
        <p>
          <span className="font-semibold">
            {price === 0
              ? 'Included with this run'
              : `${creditsInWords(price)}${balance ? `, ${credits(balance.available_credits)} available` : ''}`}
          </span>
          <span className="block text-sm text-ink-2">
            {price === 0
              ? `This is the included refinement. Each later one costs ${creditsInWords(offer.laterPrice)}.`
              : 'The refinement that the run included has been used.'}
          </span>
        </p>
      )}
      <Obstacle offer={offer} shortfall={shortfall} />
      {form.failure === null ? null : <Failure error={form.failure} />}
      <div className="flex flex-wrap justify-end gap-3 pt-2">
        <Button onClick={onClose}>Close</Button>
        <Button
          type="submit"
          tone="primary"
          busy={form.busy}
          disabled={!offer.isAllowed || shortfall > 0 || isWaiting}
        >
          {form.busy ? 'Sending…' : 'Send request'}
        </Button>
      </div>
    </form>
  );
}

/** An opening dialog uses the attribute. */
function focusFirst(control: HTMLElement | null): void {
  control?.toggleAttribute('autofocus', true);
}

/** The user writes on where the missing fact ends. */
function focusEnd(control: HTMLTextAreaElement | null): void {
  focusFirst(control);
  control?.setSelectionRange(control.value.length, control.value.length);
}

const kinds = [
  { id: 'fact', title: 'A changed fact', detail: 'Something is different from what they assumed.' },
  { id: 'instruction', title: 'An instruction', detail: 'Another goal or limit to consider.' },
  {
    id: 'contested',
    title: 'Nothing new',
    detail: 'They vote again on what is contested.',
  },
] as const;

const labels = {
  fact: 'What is different',
  instruction: 'What to consider',
  missing: 'What is true',
} as const;

const hints = {
  fact: 'Say what is true instead.',
  instruction: 'For example: keep the team at 3 people.',
  missing: 'Write the answer after what the models ask for.',
} as const;

function Kinds({
  chosen,
  onChoose,
}: {
  chosen: Draft['kind'];
  onChoose: (kind: Draft['kind']) => void;
}): ReactNode {
  return (
    <fieldset className="space-y-1">
      <legend className="font-medium">What should the models know?</legend>
      {kinds.map(({ id, title, detail }) => (
        <label
          key={id}
          className="grid min-h-11 cursor-pointer grid-cols-[auto_1fr] items-start gap-x-3 py-1.5"
        >
          <input
            type="radio"
            name="kind"
            value={id}
            checked={id === chosen}
            ref={id === chosen ? focusFirst : null}
            onChange={() => onChoose(id)}
            className="mt-0.5 size-5 shrink-0 accent-accent"
          />
          <span className="font-medium">{title}</span>
          <span className="col-start-2 text-sm text-ink-2">{detail}</span>
        </label>
      ))}
    </fieldset>
  );
}

type Offer = ReturnType<typeof offerOf>;

function offerOf({ view }: RunState) {
  const { refinable } = view;
  return {
    isCompleted: statusOf(view) === 'completed',
    isAllowed: refinable?.allowed ?? false,
    reason: refinable?.reason ?? null,
    /** In credits; null until it is known. */
    price: refinable?.price ?? null,
    /** Only the root's first refinement is free, so this is read where the run is the root. */
    laterPrice: laterRefinementPrice(view.price),
    underway: refinable?.running_id ?? null,
  };
}

/** Why it cannot be sent now, and the way out. */
function Obstacle({ offer, shortfall }: { offer: Offer; shortfall: number }): ReactNode {
  if (!offer.isCompleted)
    return <p className="text-ink-2">You can send it when this run is complete.</p>;
  if (offer.reason !== null)
    return (
      <Notice
        tone="warn"
        title="This result can't be refined now"
        actions={
          offer.underway === null ? undefined : (
            <LinkButton to="/evolution-chamber" search={{ id: offer.underway }}>
              View Progress
            </LinkButton>
          )
        }
      >
        {offer.reason}
      </Notice>
    );
  if (shortfall === 0) return null;
  return (
    <Notice
      tone="warn"
      title="Insufficient Credits"
      actions={<LinkButton to="/credits/purchase">Buy More Credits</LinkButton>}
    >
      You need {creditsInWords(shortfall)} more. Your text stays here while this page is open.
    </Notice>
  );
}

function Failure({ error }: { error: unknown }): ReactNode {
  const sentence = problemSentence(error);
  return (
    <Notice
      tone="bad"
      title={notSent}
      announced={`${notSent}. ${sentence}`}
      actions={problemButtons(error)}
    >
      <p>{sentence}</p>
      <p>{isRefusal(error) ? 'Nothing was charged, and your text is still here.' : unknownEnd}</p>
    </Notice>
  );
}

const notSent = "Your request wasn't sent";
const unknownEnd = 'Your text is still here. Sending it again never starts it twice.';
