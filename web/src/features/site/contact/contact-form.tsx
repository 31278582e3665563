import { type ReactNode, useEffect, useRef } from 'react';
import {
  ContactReply,
  ContactRequest,
  type ContactTopic,
  contactTopics,
} from '#services/contact/contract.ts';
import { ApiProblem, write } from '#web/api/api.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { ErrorState } from '#web/ui/feedback/error-state.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { SelectField, TextArea, TextField } from '#web/ui/form/field.tsx';
import { type FieldErrors, useForm } from '#web/ui/form/form.ts';
import { forgetDraft, keepDraft, readDraft } from './draft.ts';

const words: Readonly<Record<ContactTopic, string>> = {
  support: 'Help with the product',
  billing: 'Payments and refunds',
  privacy: 'Privacy and data',
  security: 'Security',
  other: 'Something else',
};

export type Sent = ContactReply & { email: string };

/** Text typed before the script arrived stays; a draft fills only an empty form. */
export function ContactForm({
  user,
  topic,
  onSent,
}: {
  /** Undefined while it is not known whether someone is signed in. */
  user: { id: string; email: string } | null | undefined;
  /** The one that the link names. */
  topic: string | undefined;
  onSent: (sent: Sent) => void;
}): ReactNode {
  /** Whose draft this is: a user's, or a visitor's, which is null. */
  const owner = user === undefined ? undefined : (user?.id ?? null);
  /** One for each text: a repeat after a lost reply is not a second message. */
  const key = useRef<string>(undefined);

  const form = useForm({
    schema: ContactRequest,
    read: (data) => Object.fromEntries(data),
    send: async (value): Promise<FieldErrors | void> => {
      key.current ??= crypto.randomUUID();
      try {
        const reply = await write('POST', '/contact', value, ContactReply, { key: key.current });
        if (owner) forgetDraft(owner);
        forgetDraft(null);
        onSent({ ...reply, email: value.email });
      } catch (error) {
        const errors = error instanceof ApiProblem ? error.errors : [];
        if (errors.length === 0) throw error;
        return Object.fromEntries(errors.map(({ field, message }) => [field, message]));
      }
    },
  });
  const element = form.props.ref;

  const writer = useRef<string | null>(undefined);
  /** The message of a draft. Anything else was typed here, perhaps before the script arrived. */
  const filledIn = useRef('');
  useEffect(() => {
    if (owner === undefined) return;
    const before = writer.current;
    writer.current = owner;
    if (before !== owner) {
      const values = valuesOf(element.current);
      const isTyped = values.message !== filledIn.current;
      // What a visitor typed here moves to the account that signs in, one account's text to nobody.
      if (isTyped && (before ?? null) === null) {
        keepDraft(owner, values);
        if (before === null) forgetDraft(null);
      } else if (before !== undefined) {
        element.current?.reset();
        key.current = undefined;
      }
    }
    const draft = readDraft(owner);
    if (valuesOf(element.current).message === '') filledIn.current = draft?.message ?? '';
    fill(element.current, {
      ...draft,
      email: draft?.email || user?.email,
      topic: topic ?? draft?.topic,
    });
  }, [element, owner, user?.email, topic]);

  return (
    <form
      {...form.props}
      className="space-y-5"
      onInput={(event) => {
        key.current = undefined;
        form.props.onInput(event);
        if (owner !== undefined) keepDraft(owner, valuesOf(element.current));
      }}
    >
      <SelectField
        label="Topic"
        name="topic"
        error={form.errors['topic']}
        required
        defaultValue="support"
      >
        {contactTopics.map((one) => (
          <option key={one} value={one}>
            {words[one]}
          </option>
        ))}
      </SelectField>
      <TextArea label="Message" name="message" rows={8} required error={form.errors['message']} />
      <TextField
        label="Your email"
        name="email"
        type="email"
        autoComplete="email"
        required
        hint="We reply to this address."
        error={form.errors['email']}
      />
      {/* Programs fill in every field. People do not see this one. */}
      <div hidden>
        <label>
          Website
          <input name="website" type="text" tabIndex={-1} autoComplete="off" defaultValue="" />
        </label>
      </div>
      {form.failure ? (
        <ErrorState
          title="We couldn't send your message"
          detail={problemSentence(form.failure)}
          safe="Your message is still here."
          reference={form.failure instanceof ApiProblem ? form.failure.request_id : null}
        />
      ) : null}
      <Button type="submit" tone="primary" busy={form.busy}>
        {form.busy ? 'Sending…' : 'Send message'}
      </Button>
    </form>
  );
}

function isTopic(value: string): boolean {
  return contactTopics.some((topic) => topic === value);
}

type Values = { topic: string; message: string; email: string };

function valuesOf(form: HTMLFormElement | null): Values {
  const data = form ? new FormData(form) : new FormData();
  const text = (name: string): string => {
    const value = data.get(name);
    return typeof value === 'string' ? value : '';
  };
  return { topic: text('topic'), message: text('message'), email: text('email') };
}

/** Fills what is still empty; a select is never empty. */
function fill(
  form: HTMLFormElement | null,
  values: { [Name in keyof Values]?: string | undefined },
): void {
  for (const [name, value] of Object.entries(values)) {
    const control = form?.elements.namedItem(name);
    if (value === undefined || value === '') continue;
    if (control instanceof HTMLSelectElement && isTopic(value)) control.value = value;
    if (
      (control instanceof HTMLInputElement || control instanceof HTMLTextAreaElement) &&
      control.value === ''
    )
      control.value = value;
  }
}
