import type { ReactNode } from 'react';
import { Button } from '#web/ui/form/button.tsx';
import { TextField } from '#web/ui/form/field.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { useCopy } from '#web/ui/feedback/use-copy.ts';
import type { NewKey } from './key-form.tsx';
import { firstCall } from './words.ts';

const notCopied = 'Your browser blocked copying. Select the key instead.';

/** The secret of a new key, once. It lives in the memory of this component and nowhere else. */
export function ShownKey({
  created: { key, scopes },
  onDone,
}: {
  created: NewKey;
  onDone: () => void;
}): ReactNode {
  const { outcome, copy } = useCopy({ copied: 'API key copied', refused: notCopied });
  return (
    <Notice tone="ok" title="Key created" announced="Key created">
      <div className="space-y-4 pt-2">
        <TextField
          label="Your new API key"
          name="new_api_key"
          // Without it browsers store what a field held, to restore the page later.
          autoComplete="off"
          spellCheck={false}
          readOnly
          value={key}
          ref={selectOnce}
          hint="Copy it now. It won't be shown again. Keep it like a password."
        />
        <div className="flex flex-wrap items-center gap-3">
          <Button tone="primary" onClick={() => void copy(key)}>
            {outcome === 'copied' ? 'Copied' : 'Copy key'}
          </Button>
          <Button onClick={onDone}>Done</Button>
          {outcome === 'refused' ? <span className="text-sm">{notCopied}</span> : null}
        </div>
        <div className="space-y-1.5">
          <p className="font-medium text-ink">A first call</p>
          <pre className="rounded-control bg-sunken p-3 text-sm whitespace-pre-wrap text-ink wrap-anywhere">
            <code>{firstCall(location.origin, scopes)}</code>
          </pre>
        </div>
      </div>
    </Notice>
  );
}

function selectOnce(input: HTMLInputElement | null): void {
  input?.select();
}
