import { type ReactNode, useId, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { ApiKeyReply, ApiKeyRequest } from '#services/identity/contract/api-keys.ts';
import { keyScopes, type KeyScope } from '#services/platform/contract.ts';
import { ApiProblem, write } from '#web/api/api.ts';
import { Outcome } from '#web/features/profile/outcome.tsx';
import { PasswordGate } from '#web/features/profile/password-gate.tsx';
import { proofWithoutPassword, wantsProof } from '#web/features/profile/recent-proof.ts';
import { useChange } from '#web/features/profile/use-change.ts';
import { Button } from '#web/ui/form/button.tsx';
import { Checkbox, FieldError, TextField } from '#web/ui/form/field.tsx';
import { scopeWords } from './words.ts';

/** A key that was just created, the only time its secret is known. */
export type NewKey = { key: string; scopes: readonly KeyScope[] };

const usual = { scopes: ['run', 'read'] as readonly KeyScope[], monthlyCap: 100 };

/**
 * What a new key is called, may do, and may use. When the server wants the password, the form waits
 * hidden behind the gate and is sent again, so that its errors always appear here.
 */
export function KeyForm({
  hasPassword,
  onCreated,
  onUnknown,
  onCancel,
}: {
  hasPassword: boolean | null;
  onCreated: (created: NewKey) => void;
  /** No response came, so the key may exist. */
  onUnknown: () => void;
  onCancel: () => void;
}): ReactNode {
  const [isAsked, setAsked] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  const form = useChange({
    schema: ApiKeyRequest,
    read: (data) => ({
      name: data.get('name') ?? '',
      scopes: data.getAll('scopes'),
      monthly_cap: Number(data.get('monthly_cap') ?? ''),
    }),
    send: async (request) => {
      try {
        const { key } = await write('POST', '/api-keys', request, ApiKeyReply);
        onCreated({ key, scopes: request.scopes });
      } catch (error) {
        if (isUnanswered(error)) onUnknown();
        if (!wantsProof(error) || hasPassword === false) throw error;
        setAsked(true);
      }
      return null;
    },
  });
  /** The gate disappears with the focus, which returns to the form. */
  const leaveGate = (): void => {
    flushSync(() => setAsked(false));
    heading.current?.focus();
  };
  return (
    <>
      {isAsked ? (
        <PasswordGate
          onProved={async () => {
            leaveGate();
            form.props.ref.current?.requestSubmit();
          }}
          onCancel={leaveGate}
        />
      ) : null}
      <form {...form.props} hidden={isAsked} aria-label="New API key" className="space-y-4">
        <h3 ref={heading} tabIndex={-1} className="font-semibold">
          New API key
        </h3>
        <TextField
          label="Name"
          name="name"
          autoComplete="off"
          required
          ref={focusOnce}
          hint="For you to recognize it, for example the program that uses it."
          error={form.errors['name']}
        />
        <Scopes error={form.errors['scopes']} />
        <TextField
          label="Credits per month"
          name="monthly_cap"
          inputMode="numeric"
          autoComplete="off"
          required
          defaultValue={usual.monthlyCap}
          hint="The most its runs can use per calendar month (UTC). Your balance and your plan still apply."
          error={form.errors['monthly_cap']}
        />
        <Outcome
          done={null}
          failure={form.failure}
          title="We couldn't create the key"
          safe={wantsProof(form.failure) ? proofWithoutPassword : 'No key was created.'}
        />
        {isUnanswered(form.failure) ? (
          <p>If the key is in your list, revoke it. We can't show it again.</p>
        ) : null}
        <div className="flex flex-wrap gap-3">
          <Button type="submit" tone="primary" busy={form.busy}>
            {form.busy ? 'Creating…' : 'Create key'}
          </Button>
          <Button onClick={onCancel} disabled={form.busy}>
            Cancel
          </Button>
        </div>
      </form>
    </>
  );
}

function Scopes({ error }: { error: string | undefined }): ReactNode {
  const errorId = useId();
  const faults = error === undefined ? {} : { 'aria-invalid': true, 'aria-describedby': errorId };
  return (
    <fieldset className="min-w-0 space-y-1">
      <legend className="font-medium">What it can do (scopes)</legend>
      {keyScopes.map((scope) => (
        <Checkbox
          key={scope}
          name="scopes"
          value={scope}
          label={scopeWords[scope].label}
          hint={scopeWords[scope].about}
          defaultChecked={usual.scopes.includes(scope)}
          {...faults}
        />
      ))}
      {error === undefined ? null : <FieldError id={errorId}>{error}</FieldError>}
    </fieldset>
  );
}

function isUnanswered(error: unknown): boolean {
  return error instanceof ApiProblem && error.status === 0;
}

/** The form answers a press, and its first field is the next thing to fill in. */
function focusOnce(input: HTMLInputElement | null): void {
  input?.focus();
}
