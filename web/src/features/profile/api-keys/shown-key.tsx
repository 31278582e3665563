import type { ReactNode } from 'react';
import { Button } from '#web/ui/form/button.tsx';
import { TextField } from '#web/ui/form/field.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { useCopy } from '#web/ui/feedback/use-copy.ts';
import type { NewKey } from './key-form.tsx';
import { firstCall } from './words.ts';

const notCopied = 'Your browser blocked copying. Select the key instead.';

/** The secret of a new key, once. It lives in the memory of this component and nowhere else. */
export function ShownKey({ created, onDone }: { created: NewKey; onDone: () => void }): ReactNode {
  const { key } = created;
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
        <FirstCall commands={firstCall(location.origin, created)} />
      </div>
    </Notice>
  );
}

const callNotCopied = 'Your browser blocked copying. Select the commands instead.';

function FirstCall({ commands }: { commands: string }): ReactNode {
  const { outcome, copy } = useCopy({ copied: 'Commands copied', refused: callNotCopied });
  return (
    <div className="space-y-3">
      <p>
        <span className="font-medium text-ink">A first call.</span> These commands hold your key.
        Paste them into a terminal. The examples of the {/* On this page the key would be lost. */}
        <a href="/api-docs/programs" target="_blank" rel="noopener" className="link">
          programs guide
        </a>{' '}
        (opens in a new tab) work there, too.
      </p>
      <pre className="rounded-control bg-sunken p-3 text-sm whitespace-pre-wrap text-ink wrap-anywhere">
        <code>{commands}</code>
      </pre>
      <div className="flex flex-wrap items-center gap-3">
        <Button onClick={() => void copy(commands)}>
          {outcome === 'copied' ? 'Copied' : 'Copy call'}
        </Button>
        {outcome === 'refused' ? <span className="text-sm">{callNotCopied}</span> : null}
      </div>
    </div>
  );
}

function selectOnce(input: HTMLInputElement | null): void {
  input?.select();
}
