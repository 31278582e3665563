import { Share2 } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { Dialog } from '#web/ui/dialog.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { hasContext } from './has-context.ts';
import { ShareForm } from './share-form.tsx';
import { ShareList } from './share-list.tsx';

/** Opens the links of a result. */
export function ShareButton({ run }: { run: Optimization }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button aria-haspopup="dialog" onClick={() => setOpen(true)}>
        <Share2 size={16} aria-hidden="true" />
        Share
      </Button>
      <Dialog open={isOpen} onClose={() => setOpen(false)} title="Share this result">
        <p>
          Anyone with the link can read your question and the whole result: the recommendation, the
          votes, and each model's answer. They never see your name, your files, or your credits.
        </p>
        <ShareForm run={run} />
        <ShareList runId={run.id} hasContext={hasContext(run.council)} />
      </Dialog>
    </>
  );
}
