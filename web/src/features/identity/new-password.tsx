import { type ReactNode, useEffect, useRef, useState } from 'react';
import { PasswordField } from '#web/ui/form/password-field.tsx';
import { PasswordChecklist } from './password-checklist.tsx';

/** A new password with the rules it must meet. */
export function NewPassword({ error }: { error: string | undefined }): ReactNode {
  const [password, setPassword] = useState('');
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Text typed or filled in before this script ran has already fired its event.
    setPassword(frame.current?.querySelector('input')?.value ?? '');
  }, []);
  return (
    <div ref={frame}>
      <PasswordField
        label="Password"
        name="password"
        autoComplete="new-password"
        required
        error={error}
        onInput={(event) => setPassword(event.currentTarget.value)}
      >
        <PasswordChecklist password={password} />
      </PasswordField>
    </div>
  );
}
