import { type FormEvent, type RefObject, useEffect, useRef, useState } from 'react';
import * as v from 'valibot';

export type FieldErrors = Readonly<Record<string, string>>;

type Options<Output> = {
  schema: v.GenericSchema<unknown, Output>;
  /** Converts the controls' values into the schema's input. */
  read: (data: FormData) => unknown;
  /** Sends the parsed values. May return field errors of the server; throws anything else. */
  send: (value: Output) => Promise<FieldErrors | void>;
  /** Called when its own errors kept the form from being sent, before the focus moves. */
  onInvalid?: () => void;
};

export type Form = {
  errors: FieldErrors;
  /** The last failure, until the next edit or submission. */
  failure: unknown;
  busy: boolean;
  /** Shows errors found elsewhere and focuses the first; none clears them. */
  refuse: (errors: FieldErrors) => void;
  /** Spread on `<form>`. `method` keeps values out of the address if no script runs. */
  props: {
    ref: RefObject<HTMLFormElement | null>;
    method: 'post';
    noValidate: true;
    onSubmit: (event: FormEvent<HTMLFormElement>) => void;
    onInput: (event: FormEvent<HTMLFormElement>) => void;
  };
};

/**
 * A form over uncontrolled inputs, so that text typed before the script arrived and a password
 * manager's values are kept. Editing clears a field's error and the last failure. After a failed
 * attempt the focus goes to the first field with an error.
 */
export function useForm<Output>({ schema, read, send, onInvalid }: Options<Output>): Form {
  const form = useRef<HTMLFormElement>(null);
  const [errors, setErrors] = useState<FieldErrors>({});
  const [failure, setFailure] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const [attempts, setAttempts] = useState(0);

  useEffect(() => {
    if (attempts > 0) firstInvalidControl(form.current)?.focus();
  }, [attempts]);

  const refuse = (next: FieldErrors): void => {
    setErrors(next);
    setAttempts((count) => count + 1);
  };

  const submit = async (data: FormData): Promise<void> => {
    setFailure(null);
    const result = v.safeParse(schema, read(data));
    if (!result.success) {
      const found = firstErrors(result.issues);
      onInvalid?.();
      refuse(found);
      return;
    }
    setErrors({});
    setBusy(true);
    try {
      const refused = await send(result.output);
      if (refused && Object.keys(refused).length > 0) refuse(refused);
    } catch (error) {
      setFailure(error);
    } finally {
      setBusy(false);
    }
  };

  return {
    errors,
    failure,
    busy,
    refuse,
    props: {
      ref: form,
      method: 'post',
      noValidate: true,
      onSubmit: (event) => {
        event.preventDefault();
        if (!busy) void submit(new FormData(event.currentTarget));
      },
      onInput: (event) => {
        setFailure(null);
        const name = event.target instanceof HTMLElement ? event.target.getAttribute('name') : null;
        if (name === null) return;
        setErrors((current) => (name in current ? without(current, name) : current));
      },
    },
  };
}

function without(errors: FieldErrors, name: string): FieldErrors {
  return Object.fromEntries(Object.entries(errors).filter(([field]) => field !== name));
}

export function firstErrors(issues: readonly v.BaseIssue<unknown>[]): FieldErrors {
  const errors: Record<string, string> = {};
  for (const issue of issues) {
    const name = v.getDotPath(issue) ?? '';
    errors[name] ??= issue.message;
  }
  return errors;
}

function firstInvalidControl(form: HTMLFormElement | null): HTMLElement | null {
  return form?.querySelector<HTMLElement>('[aria-invalid="true"]') ?? null;
}
