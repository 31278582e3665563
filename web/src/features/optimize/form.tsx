import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, type RefObject, useEffect, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import type { Balance } from '#services/credits/contract.ts';
import { checkOf } from '#services/optimizations/contract/requests.ts';
import { QueryBlock } from '#web/api/query-block.tsx';
import { isRefusal } from '#web/api/refused.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { Card } from '#web/ui/card.tsx';
import { classNames } from '#web/ui/class-names.ts';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';
import { CheckNotice } from './check/check-notice.tsx';
import { StartButton, StartNote } from './check/start-button.tsx';
import { useQuestionCheck } from './check/use-check.ts';
import { ConfirmStart } from './confirm-start.tsx';
import type { Draft } from './question/draft.ts';
import { checkFields, emptyFields, type Fields, hasText } from './question/fields.ts';
import { shortageOf, stillMissing } from './form-state.ts';
import { refusalSentence, shortageTitle } from './insufficient.tsx';
import { FourSteps } from './method.tsx';
import {
  checkerQuery,
  estimatedOf,
  estimateQuery,
  startCalls,
  strategiesQuery,
} from './queries.ts';
import { Outcome, type Phase } from './outcome.tsx';
import { QuestionCard } from './question/question-card.tsx';
import { newAttempt, startRun } from './start.ts';
import { FilesField } from './question/files-field.tsx';
import { type ChangeFiles, useUploads } from './question/use-uploads.ts';
import { StrategyChoice } from './strategy-choice.tsx';
import { Summary } from './summary.tsx';
import { type OnSessionEnd, useDraft } from './question/use-draft.ts';

export type FormProps = {
  userId: string;
  onSessionEnd: OnSessionEnd;
  initial: Draft;
  /** The draft that `initial` replaced, until something is edited. */
  earlier: Draft | null;
  balance: Balance | undefined;
  isLocal: boolean;
  onStarted: (runId: string) => void;
};

/** The question, its models and its price; one press starts it once. */
export function OptimizationForm(props: FormProps): ReactNode {
  const { userId, onSessionEnd, initial, balance, isLocal, onStarted } = props;
  const cache = useQueryClient();
  const [draft, setDraft] = useState(initial);
  const [isTouched, setTouched] = useState(false);
  const [earlier, setEarlier] = useState(props.earlier);
  const [cleared, setCleared] = useState<Draft | null>(null);
  const [phase, setPhase] = useState<Phase>({ kind: 'editing' });
  const [isConfirming, setConfirming] = useState(false);
  const keeping = useDraft({ userId, onSessionEnd }, draft, isTouched);
  const isStarting = useRef(false);
  const form = useRef<HTMLFormElement>(null);
  const outcome = useRef<HTMLDivElement>(null);
  const startButton = useRef<HTMLButtonElement>(null);
  const { check, passes, stop, letPass } = useQuestionCheck();
  const notice = check.kind === 'ask' || check.kind === 'undecidable' ? check : null;

  const { fields, attempt } = draft;
  const strategies = useQuery(strategiesQuery(fields.allowSimulated));
  const checker = useQuery(checkerQuery(fields.allowSimulated));
  const strategy = strategies.data?.find(({ id }) => id === fields.strategy) ?? null;
  const checked = checkFields(fields);
  const changeFiles: ChangeFiles = (changed) => {
    setCleared(null);
    setTouched(true);
    // An upload ends later, when other fields may have changed.
    setDraft((latest) => ({
      fields: { ...latest.fields, files: changed(latest.fields.files) },
      attempt: null,
    }));
    setPhase({ kind: 'editing' });
  };
  const { uploads, isReading, add, remove } = useUploads(fields.files.length, changeFiles);
  const missing = stillMissing(fields, strategy, checked, isReading);
  const shortage = shortageOf(strategy, balance, attempt);
  const unspent =
    phase.kind === 'starting'
      ? phase.balance
      : mayHaveReserved(phase, attempt)
        ? undefined
        : balance;
  const canStart =
    missing.length === 0 &&
    checked.ok &&
    strategy !== null &&
    shortage === null &&
    phase.kind !== 'starting';

  useEffect(() => {
    if (phase.kind !== 'editing' && phase.kind !== 'starting') outcome.current?.focus();
  }, [phase]);

  /** Takes a whole draft; changed fields are another question and get a new attempt. */
  const take = (next: Draft): void => {
    // Questions stay while the context is completed; any other finding was about the old text.
    if (check.kind !== 'ask' || next.fields.challenge !== fields.challenge) stop();
    setTouched(true);
    setDraft(next);
    setPhase({ kind: 'editing' });
  };
  const change = (part: Partial<Fields>): void => {
    setCleared(null);
    take({ fields: { ...fields, ...part }, attempt: null });
  };

  const start = async (): Promise<void> => {
    if (!canStart || isStarting.current) return;
    isStarting.current = true;
    setPhase({ kind: 'starting', balance });
    announce('Initializing AI Models...');
    const shown = cache.getQueryData(estimateQuery(estimatedOf(strategy.id, fields)).queryKey);
    const keys = attempt ?? newAttempt(shown?.catalogue_version ?? null);
    const begun: Draft = { fields, attempt: keys };
    setDraft(begun);
    // Saved before the first call: a reloaded page finds its run again by these keys.
    keeping.saveNow(begun);
    try {
      const result = await startRun(
        { request: checked.request, price: strategy.credits, attempt: keys },
        (runId) => {
          const created: Draft = { fields, attempt: { ...keys, runId } };
          setDraft(created);
          keeping.saveNow(created);
        },
        startCalls,
      );
      if (result.kind === 'started') {
        keeping.discard();
        onStarted(result.id);
        return;
      }
      if (result.kind === 'price-changed') {
        void strategies.refetch();
        void cache.invalidateQueries({ queryKey: ['estimate'] });
        if (result.outdated) setDraft({ fields, attempt: null });
      }
      setPhase(result);
    } catch (error) {
      setPhase({ kind: 'failed', error });
    }
    isStarting.current = false;
  };

  /** `next` when nothing stands against a start. A retry was checked before its first attempt. */
  const checkThen = async (next: () => void): Promise<void> => {
    if (notice !== null)
      announce(
        notice.kind === 'ask'
          ? 'Add your answers, or start anyway.'
          : 'Edit the question, or start anyway.',
      );
    if (!canStart || isStarting.current || notice !== null) return;
    if (attempt !== null || (await passes(checkOf(checked.request)))) next();
  };

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void checkThen(() => void start());
  };

  useStartKey(form, (event) => {
    event.preventDefault();
    if (canStart) {
      void checkThen(() => setConfirming(true));
      return;
    }
    const next = missing[0] ?? (shortage ? refusalSentence(shortage) : null);
    if (next !== null) announce(next, 'assertive');
    const invalid = form.current?.querySelector<HTMLElement>('[aria-invalid="true"]');
    const wanted =
      fields.challenge.trim() === ''
        ? form.current?.querySelector<HTMLElement>('[name="challenge"]')
        : (invalid ?? form.current?.querySelector<HTMLElement>('[name="strategy"]:enabled'));
    wanted?.focus();
  });

  return (
    <form ref={form} method="post" noValidate onSubmit={submit} className="space-y-10">
      {earlier ? (
        <Notice
          title="Your earlier draft is saved on this device"
          actions={
            <Button
              onClick={() => {
                take(earlier);
                setEarlier(null);
              }}
            >
              Use my draft
            </Button>
          }
        >
          We filled in this form for you. If you edit it, it replaces that draft.
        </Notice>
      ) : null}
      <div className="grid grid-cols-1 items-start gap-6 lg:grid-cols-3">
        <fieldset disabled={phase.kind === 'starting'} className="min-w-0 space-y-6 lg:col-span-2">
          <legend className="sr-only">Your question</legend>
          <QuestionCard fields={fields} onChange={change}>
            <FilesField
              files={fields.files}
              uploads={uploads}
              errors={checked.ok ? null : checked.errors}
              onAdd={add}
              onDismiss={remove}
              onChange={changeFiles}
            />
          </QuestionCard>
          <section aria-labelledby="strategies" className="space-y-2">
            <h2 id="strategies" className="text-2xl">
              Strategy
            </h2>
            <QueryBlock
              answer={strategies}
              label="Loading strategies"
              failure="Failed to get strategies"
              safe="What you wrote is kept."
              skeleton={<StrategySkeleton />}
            >
              {(list) => (
                <StrategyChoice
                  strategies={list}
                  chosen={fields.strategy}
                  onChoose={(id) => change({ strategy: id })}
                  allowSimulated={fields.allowSimulated}
                  onAllowSimulated={(allowSimulated) => change({ allowSimulated })}
                  canSimulate={isLocal}
                />
              )}
            </QueryBlock>
          </section>
        </fieldset>
        {/* With questions the card may be taller than the window, which would hide its end. */}
        <div className={classNames('min-w-0', notice === null && 'lg:sticky lg:top-6')}>
          <Card aria-labelledby="summary" className="space-y-4">
            <h2 id="summary" className="text-2xl">
              Summary
            </h2>
            <Summary fields={fields} strategy={strategy} balance={unspent} />
            <Outcome
              phase={phase}
              shortage={shortage}
              runId={attempt?.runId ?? null}
              focusRef={outcome}
            />
            {notice ? (
              <CheckNotice
                check={notice}
                context={fields.context}
                onAnswer={(context) => {
                  flushSync(() => {
                    change({ context });
                    stop();
                  });
                  announce('Your answers are in the context now.');
                  startButton.current?.focus();
                }}
                onEdit={() => {
                  stop();
                  form.current?.querySelector<HTMLElement>('[name="challenge"]')?.focus();
                }}
                onStart={() => {
                  if (checked.ok) letPass(checked.request.challenge);
                  void start();
                }}
              />
            ) : (
              <StartButton
                isChecking={check.kind === 'checking'}
                disabled={!canStart}
                isStarting={phase.kind === 'starting'}
                ref={startButton}
                refusal={shortage && shortageTitle(shortage)}
              />
            )}
            <div id="start-note" className="space-y-1 text-sm text-ink-2">
              {missing.length > 0 ? (
                <ul>
                  {missing.map((sentence) => (
                    <li key={sentence}>{sentence}</li>
                  ))}
                </ul>
              ) : shortage || notice ? null : (
                <StartNote
                  isChecking={check.kind === 'checking'}
                  checker={checker.data ?? null}
                  onStop={() => {
                    stop();
                    startButton.current?.focus();
                  }}
                />
              )}
            </div>
            <DraftNote
              state={keeping.state}
              isFilled={hasText(fields)}
              cleared={cleared}
              onClear={() => {
                setCleared(draft);
                take({ fields: emptyFields, attempt: null });
              }}
              onUndo={(before) => {
                setCleared(null);
                take(before);
              }}
            />
          </Card>
        </div>
      </div>
      <FourSteps />
      <ConfirmStart
        open={isConfirming}
        strategy={strategy}
        available={balance?.available_credits ?? null}
        onClose={() => setConfirming(false)}
        onConfirm={() => {
          setConfirming(false);
          void start();
        }}
      />
    </form>
  );
}

/** Whether the balance may already lack the price: a run was created, and its start was not refused. */
function mayHaveReserved(phase: Phase, attempt: Draft['attempt']): boolean {
  if (attempt === null || attempt.runId === null) return false;
  return phase.kind === 'editing' || (phase.kind === 'failed' && !isRefusal(phase.error));
}

/** Ctrl or ⌘ with Enter, from any field. A key that is held down counts once. */
function useStartKey(
  form: RefObject<HTMLFormElement | null>,
  onStart: (event: KeyboardEvent) => void,
): void {
  const latest = useRef(onStart);
  useEffect(() => {
    latest.current = onStart;
  });
  useEffect(() => {
    const element = form.current;
    const listen = (event: KeyboardEvent): void => {
      const isStart = event.key === 'Enter' && (event.ctrlKey || event.metaKey);
      if (isStart && !event.repeat) latest.current(event);
    };
    element?.addEventListener('keydown', listen);
    return () => element?.removeEventListener('keydown', listen);
  }, [form]);
}

function DraftNote({
  state,
  isFilled,
  cleared,
  onClear,
  onUndo,
}: {
  state: 'untouched' | 'saved' | 'unsaved';
  isFilled: boolean;
  cleared: Draft | null;
  onClear: () => void;
  onUndo: (before: Draft) => void;
}): ReactNode {
  if (cleared) {
    return (
      <p className="flex items-center gap-2 text-sm text-ink-2">
        Form cleared.
        <Button tone="quiet" onClick={() => onUndo(cleared)}>
          Undo
        </Button>
      </p>
    );
  }
  if (!isFilled) return null;
  return (
    <p className="flex flex-wrap items-center gap-x-2 text-sm text-ink-2">
      {/* Keeps its room before the first save. */}
      <span className={state === 'untouched' ? 'invisible' : undefined}>
        {state === 'unsaved'
          ? 'Draft kept until you close this page.'
          : 'Draft saved on this device.'}
      </span>
      <Button tone="quiet" className="-ms-4" onClick={onClear}>
        Clear form
      </Button>
    </p>
  );
}

function StrategySkeleton(): ReactNode {
  return <Skeleton className="h-96 w-full" />;
}
