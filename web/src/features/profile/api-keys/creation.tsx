import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { apiKeysQuery } from '#web/features/profile/queries.ts';
import { KeyForm, type NewKey } from './key-form.tsx';
import { ShownKey } from './shown-key.tsx';

export type CreationProps = { hasPassword: boolean | null; onClose: () => void };

/** The form, then the key that it created. Loaded on demand: few users need it. */
export function Creation({ hasPassword, onClose }: CreationProps): ReactNode {
  const client = useQueryClient();
  const [created, setCreated] = useState<NewKey | null>(null);
  const refresh = async (): Promise<void> =>
    client.invalidateQueries({ queryKey: apiKeysQuery.queryKey });
  if (created !== null) return <ShownKey created={created} onDone={onClose} />;
  return (
    <KeyForm
      hasPassword={hasPassword}
      onCreated={(key) => {
        setCreated(key);
        void refresh();
      }}
      onUnknown={() => void refresh()}
      onCancel={onClose}
    />
  );
}
