import { type ComponentProps, type KeyboardEvent, type ReactNode, useState } from 'react';
import { Field, type FieldProps } from './field.tsx';

/**
 * A password field that can be revealed, with a hint for Caps Lock. Pasting and password managers
 * work. `children` stands below the control, for a checklist.
 */
export function PasswordField({
  label,
  name,
  hint,
  error,
  aside,
  children,
  ...input
}: FieldProps &
  Omit<ComponentProps<'input'>, 'name' | 'id' | 'className' | 'type'> & {
    autoComplete: 'current-password' | 'new-password';
  }): ReactNode {
  const [shown, setShown] = useState(false);
  const [capsLock, setCapsLock] = useState(false);
  const watchCapsLock = (event: KeyboardEvent<HTMLInputElement>): void =>
    setCapsLock(event.getModifierState('CapsLock'));
  return (
    <div className="space-y-1.5">
      <Field {...{ label, name, hint, error, aside }} required={input.required}>
        {(wires) => (
          <div className="relative">
            <input
              {...input}
              {...wires}
              type={shown ? 'text' : 'password'}
              autoCapitalize="none"
              autoCorrect="off"
              spellCheck={false}
              className={`${wires.className} pe-18`}
              onKeyDown={watchCapsLock}
              onKeyUp={watchCapsLock}
              onBlur={() => setCapsLock(false)}
            />
            <button
              type="button"
              aria-pressed={shown}
              aria-label={`Show ${label.toLowerCase()}`}
              onClick={() => setShown(!shown)}
              className="absolute inset-y-0 end-0 min-w-16 rounded-control px-3 text-sm font-medium text-ink-2 hover:text-ink"
            >
              {shown ? 'Hide' : 'Show'}
            </button>
          </div>
        )}
      </Field>
      {capsLock ? <p className="text-sm text-warn">Caps Lock is on.</p> : null}
      {children}
    </div>
  );
}
