import { type ComponentProps, type ReactNode, useId } from 'react';
import { classNames } from '#web/ui/class-names.ts';
import { GrowingArea } from './growing-area.tsx';

/**
 * Every form control: a visible label, a hint, an error, and the attributes that connect them for
 * assistive technology.
 */
export type FieldProps = {
  label: string;
  name: string;
  hint?: ReactNode;
  error?: string | undefined;
  /** Shown at the end of the label's line, such as a counter. */
  aside?: ReactNode;
};

export type ControlWires = {
  id: string;
  name: string;
  className: string;
  'aria-invalid': true | undefined;
  'aria-describedby': string | undefined;
};

const control =
  'block w-full min-h-11 rounded-control border bg-surface px-3 py-2 text-base text-ink placeholder:text-ink-3 disabled:opacity-55';

/** The frame around one control. `children` draws the control with the given attributes. */
export function Field({
  label,
  name,
  hint,
  error,
  aside,
  required,
  children,
}: FieldProps & {
  required?: boolean | undefined;
  children: (wires: ControlWires) => ReactNode;
}): ReactNode {
  const id = useId();
  const hintId = `${id}-hint`;
  const errorId = `${id}-error`;
  const describedBy = classNames(hint !== undefined && hintId, error !== undefined && errorId);
  return (
    <div className="space-y-1.5">
      <div className="flex items-baseline justify-between gap-4">
        <span className="font-medium">
          <label htmlFor={id}>{label}</label>
          {required ? (
            <span aria-hidden="true" className="text-ink-3">
              {' '}
              *
            </span>
          ) : null}
        </span>
        {aside}
      </div>
      {children({
        id,
        name,
        className: classNames(control, error === undefined ? 'border-line-strong' : 'border-bad'),
        'aria-invalid': error === undefined ? undefined : true,
        'aria-describedby': describedBy || undefined,
      })}
      {hint === undefined ? null : (
        <div id={hintId} className="text-sm text-ink-3">
          {hint}
        </div>
      )}
      {error === undefined ? null : <FieldError id={errorId}>{error}</FieldError>}
    </div>
  );
}

/** A sign and a sentence, never colour alone. */
export function FieldError({ id, children }: { id: string; children: string }): ReactNode {
  return (
    <p id={id} className="flex gap-1.5 text-sm text-bad">
      <ErrorSign />
      {children}
    </p>
  );
}

function ErrorSign(): ReactNode {
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" className="mt-0.5 shrink-0" aria-hidden="true">
      <circle cx="8" cy="8" r="6.5" fill="none" stroke="currentColor" strokeWidth="1.5" />
      <path d="M8 4.5v4M8 11v.5" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round" />
    </svg>
  );
}

type Omitted = 'name' | 'id' | 'className' | 'children';

export function TextField({
  label,
  name,
  hint,
  error,
  aside,
  ...input
}: FieldProps & Omit<ComponentProps<'input'>, Omitted>): ReactNode {
  return (
    <Field {...{ label, name, hint, error, aside }} required={input.required}>
      {(wires) => <input {...input} {...wires} />}
    </Field>
  );
}

export function TextArea({
  label,
  name,
  hint,
  error,
  aside,
  rows = 4,
  ...area
}: FieldProps & Omit<ComponentProps<'textarea'>, Omitted>): ReactNode {
  return (
    <Field {...{ label, name, hint, error, aside }} required={area.required}>
      {(wires) => (
        <textarea {...area} {...wires} rows={rows} className={`${wires.className} resize-y`} />
      )}
    </Field>
  );
}

/** A text area that shows all of its text. */
export function GrowingField({
  label,
  name,
  hint,
  error,
  aside,
  ...area
}: FieldProps & Omit<ComponentProps<typeof GrowingArea>, Omitted>): ReactNode {
  return (
    <Field {...{ label, name, hint, error, aside }} required={area.required}>
      {(wires) => <GrowingArea {...area} {...wires} />}
    </Field>
  );
}

/** The platform's own list on every device. */
export function SelectField({
  label,
  name,
  hint,
  error,
  aside,
  children,
  ...select
}: FieldProps & Omit<ComponentProps<'select'>, 'name' | 'id' | 'className'>): ReactNode {
  return (
    <Field {...{ label, name, hint, error, aside }} required={select.required}>
      {(wires) => (
        <select {...select} {...wires}>
          {children}
        </select>
      )}
    </Field>
  );
}

/** A checkbox with its label. The whole line is the target. */
export function Checkbox({
  label,
  error,
  hint,
  ...input
}: {
  label: ReactNode;
  name: string;
  error?: string | undefined;
  hint?: ReactNode;
} & Omit<ComponentProps<'input'>, 'type' | 'id' | 'className'>): ReactNode {
  const id = useId();
  const describedBy = classNames(
    hint !== undefined && `${id}-hint`,
    error !== undefined && `${id}-error`,
    // The error of a group of checkboxes.
    input['aria-describedby'],
  );
  return (
    <div className="space-y-1">
      <div className="flex min-h-11 items-start gap-3 py-2">
        <input
          {...input}
          type="checkbox"
          id={id}
          className="size-6 shrink-0 accent-accent"
          aria-invalid={error === undefined ? input['aria-invalid'] : true}
          aria-describedby={describedBy || undefined}
        />
        <label htmlFor={id} className="grow">
          {label}
        </label>
      </div>
      {hint === undefined ? null : (
        <p id={`${id}-hint`} className="text-sm text-ink-3">
          {hint}
        </p>
      )}
      {error === undefined ? null : <FieldError id={`${id}-error`}>{error}</FieldError>}
    </div>
  );
}
