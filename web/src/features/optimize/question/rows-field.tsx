import { ArrowDown, ArrowUp, Plus, X } from 'lucide-react';
import {
  type ClipboardEvent,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';
import { optimizationLimits } from '#services/optimizations/contract/requests.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { undoMs } from '#web/ui/feedback/toasts.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { classNames } from '#web/ui/class-names.ts';
import { FieldError } from '#web/ui/form/field.tsx';
import { Counter } from '#web/ui/form/counter.tsx';
import { GrowingArea } from '#web/ui/form/growing-area.tsx';
import { addRow, editRow, moveRow, pasteRows, removeRow, restoreRow, type Rows } from './rows.ts';

type Props = {
  legend: string;
  /** "Objective": a row is called "Objective 2". */
  rowName: string;
  hint: string;
  rows: Rows;
  onChange: (rows: Rows) => void;
  /** By row id. */
  errors: ReadonlyMap<number, string>;
  /** The error of the list as a whole. */
  error: string | undefined;
};

/** What to focus after the next render: a row's text, or the button that moved it. */
type Target = { readonly id: number; readonly part: 'text' | 'up' | 'down' };

/** A list of short texts: Enter adds a row, pasted lines become rows, buttons move them. */
export function RowsField({
  legend,
  rowName,
  hint,
  rows,
  onChange,
  errors,
  error,
}: Props): ReactNode {
  const labelId = useId();
  const list = useRef<HTMLUListElement>(null);
  const target = useRef<Target | null>(null);
  const [removed, setRemoved] = useState<{ text: string; index: number } | null>(null);
  const isFull = rows.length >= optimizationLimits.rows;

  useEffect(() => {
    if (!target.current) return;
    const { id, part: wantedPart } = target.current;
    target.current = null;
    const part = (name: Target['part']): HTMLElement | null | undefined =>
      list.current?.querySelector<HTMLElement>(`[data-row="${id}"] [data-part="${name}"]`);
    const wanted = part(wantedPart);
    // A row at the edge cannot move on, so its other button takes the focus.
    const reachable = wanted?.matches(':disabled')
      ? part(wantedPart === 'up' ? 'down' : 'up')
      : wanted;
    reachable?.focus();
  });

  useEffect(() => {
    if (!removed) return undefined;
    const timer = setTimeout(() => setRemoved(null), undoMs);
    return () => clearTimeout(timer);
  }, [removed]);

  const add = (after: number | null): void => {
    if (isFull) {
      announce(`Up to ${optimizationLimits.rows} rows`);
      return;
    }
    const [next, id] = addRow(rows, after);
    onChange(next);
    target.current = { id, part: 'text' };
  };

  const remove = (id: number): void => {
    const index = rows.findIndex((row) => row.id === id);
    const text = rows[index]?.text ?? '';
    onChange(removeRow(rows, id));
    const neighbour = rows[index + 1] ?? rows[index - 1];
    if (neighbour) target.current = { id: neighbour.id, part: 'text' };
    if (text.trim() !== '') setRemoved({ text, index });
    announce(`${rowName} ${index + 1} removed`);
  };

  const move = (id: number, by: -1 | 1): void => {
    const next = moveRow(rows, id, by);
    onChange(next);
    target.current = { id, part: by === -1 ? 'up' : 'down' };
    announce(`Moved to ${rowName.toLowerCase()} ${next.findIndex((row) => row.id === id) + 1}`);
  };

  const paste = (event: ClipboardEvent<HTMLTextAreaElement>, id: number): void => {
    const { selectionStart, selectionEnd, value } = event.currentTarget;
    const result = pasteRows(rows, id, event.clipboardData.getData('text/plain'), {
      start: selectionStart ?? value.length,
      end: selectionEnd ?? value.length,
    });
    if (!result) return;
    event.preventDefault();
    const [next, last] = result;
    onChange(next);
    target.current = { id: last, part: 'text' };
    announce(`${next.length - rows.length + 1} rows pasted`);
  };

  const enter = (event: KeyboardEvent<HTMLTextAreaElement>, id: number): void => {
    if (event.key !== 'Enter' || event.ctrlKey || event.metaKey) return;
    // The Enter that ends an input method's word must not add a row.
    if (event.nativeEvent.isComposing) return;
    event.preventDefault();
    add(id);
  };

  return (
    <fieldset className="min-w-0" aria-labelledby={labelId} aria-describedby={`${labelId}-hint`}>
      <legend className="mb-1.5 flex flex-wrap items-baseline gap-x-3">
        <span id={labelId} className="font-medium">
          {legend}
        </span>
        <span id={`${labelId}-hint`} className="text-sm text-ink-3">
          {hint}
        </span>
      </legend>
      <ul ref={list} className="space-y-2">
        {rows.map(({ id, text }, index) => {
          const name = `${rowName} ${index + 1}`;
          const rowError = errors.get(id);
          const errorId = `${rowName}-${id}-error`;
          return (
            <li key={id} data-row={id} className="space-y-1">
              <div className="flex flex-wrap items-start justify-end gap-1 sm:flex-nowrap">
                <div
                  className={classNames(
                    'flex min-w-0 grow',
                    rows.length > 1 ? 'basis-full sm:basis-0' : 'basis-0',
                  )}
                >
                  <GrowingArea
                    data-part="text"
                    rows={1}
                    aria-label={name}
                    aria-invalid={rowError === undefined ? undefined : true}
                    aria-describedby={rowError === undefined ? undefined : errorId}
                    value={text}
                    enterKeyHint="next"
                    // A dropped text may hold lines; pasted ones have become rows.
                    onChange={(event) =>
                      onChange(
                        editRow(rows, id, event.currentTarget.value.replaceAll(/\s*\n\s*/g, ' ')),
                      )
                    }
                    onKeyDown={(event) => enter(event, id)}
                    onPaste={(event) => paste(event, id)}
                    className={classNames(
                      'block w-full min-h-11 rounded-control border bg-surface px-3 py-2 text-base text-ink',
                      rowError === undefined ? 'border-line-strong' : 'border-bad',
                    )}
                  />
                </div>
                {rows.length > 1 ? (
                  <>
                    <RowButton
                      part="up"
                      name={`Move ${name} up`}
                      disabled={index === 0}
                      onPress={() => move(id, -1)}
                    >
                      <ArrowUp size={20} aria-hidden="true" />
                    </RowButton>
                    <RowButton
                      part="down"
                      name={`Move ${name} down`}
                      disabled={index === rows.length - 1}
                      onPress={() => move(id, 1)}
                    >
                      <ArrowDown size={20} aria-hidden="true" />
                    </RowButton>
                  </>
                ) : null}
                <RowButton
                  part="remove"
                  name={`Remove ${name}`}
                  disabled={rows.length === 1}
                  onPress={() => remove(id)}
                >
                  <X size={20} aria-hidden="true" />
                </RowButton>
                {index === rows.length - 1 ? (
                  <Button
                    tone="quiet"
                    className="px-1 sm:w-20"
                    onClick={() => add(null)}
                    disabled={isFull}
                  >
                    <Plus size={16} aria-hidden="true" className="shrink-0" />
                    Add<span className="sr-only"> {rowName.toLowerCase()}</span>
                  </Button>
                ) : (
                  // As wide as the button of the last row.
                  <span aria-hidden="true" className="hidden w-20 shrink-0 sm:block" />
                )}
              </div>
              <Counter text={text} limit={optimizationLimits.row} />
              {rowError === undefined ? null : <FieldError id={errorId}>{rowError}</FieldError>}
            </li>
          );
        })}
      </ul>
      {error === undefined ? null : <FieldError id={`${rowName}-error`}>{error}</FieldError>}
      {isFull || removed ? (
        <div className="mt-2 flex flex-wrap items-center gap-3 text-sm text-ink-2">
          {isFull ? <span>Up to {optimizationLimits.rows} rows</span> : null}
          {removed ? (
            <span className="flex items-center gap-2">
              Removed.
              <Button
                tone="quiet"
                onClick={() => {
                  onChange(restoreRow(rows, removed.index, removed.text));
                  setRemoved(null);
                }}
              >
                Undo
              </Button>
            </span>
          ) : null}
        </div>
      ) : null}
    </fieldset>
  );
}

function RowButton({
  part,
  name,
  disabled,
  onPress,
  children,
}: {
  part: string;
  name: string;
  disabled: boolean;
  onPress: () => void;
  children: ReactNode;
}): ReactNode {
  return (
    <button
      type="button"
      data-part={part}
      aria-label={name}
      title={name}
      disabled={disabled}
      onClick={onPress}
      className="grid size-11 shrink-0 place-items-center rounded-control text-ink-2 hover:bg-sunken disabled:cursor-not-allowed disabled:opacity-40"
    >
      {children}
    </button>
  );
}
