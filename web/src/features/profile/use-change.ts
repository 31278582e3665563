import { type FormEvent, useState } from 'react';
import type * as v from 'valibot';
import { ApiProblem } from '#web/api/api.ts';
import { type FieldErrors, type Form, useForm } from '#web/ui/form/form.ts';

export type Change = Form & {
  /** A sentence once it is done, until the next edit. */
  done: string | null;
};

/**
 * A form that changes the account. A refusal is shown beside its field, in the server's words for
 * the field or else by its code. On success the sentence that `send` returns is shown, and with
 * `clears` the form is emptied.
 */
export function useChange<Output>({
  schema,
  read,
  send,
  fieldOf = {},
  clears = false,
}: {
  schema: v.GenericSchema<unknown, Output>;
  read: (data: FormData) => unknown;
  send: (value: Output) => Promise<string | null>;
  fieldOf?: Readonly<Record<string, string>>;
  clears?: boolean;
}): Change {
  const [done, setDone] = useState<string | null>(null);
  const form = useForm({
    schema,
    read,
    send: async (value) => {
      setDone(null);
      try {
        setDone(await send(value));
      } catch (error) {
        return errorsAtFields(error, fieldOf);
      }
      if (clears) form.props.ref.current?.reset();
      return {};
    },
  });
  return {
    ...form,
    done,
    props: {
      ...form.props,
      onInput: (event: FormEvent<HTMLFormElement>) => {
        setDone(null);
        form.props.onInput(event);
      },
    },
  };
}

/** @throws any error that concerns no field */
function errorsAtFields(error: unknown, fieldOf: Readonly<Record<string, string>>): FieldErrors {
  if (!(error instanceof ApiProblem)) throw error;
  const found: Record<string, string> = {};
  for (const { field, message } of error.errors) found[field] ??= message;
  const field = fieldOf[error.code];
  if (field !== undefined) found[field] ??= error.message;
  if (Object.keys(found).length === 0) throw error;
  return found;
}
