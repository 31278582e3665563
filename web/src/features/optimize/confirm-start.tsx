import type { ReactNode } from 'react';
import type { Strategy } from '#services/optimizations/contract/panel.ts';
import { Button } from '#web/ui/form/button.tsx';
import { Dialog } from '#web/ui/dialog.tsx';
import { creditsInWords } from '#services/platform/numbers.ts';

/**
 * An opening dialog uses the attribute. React's own `autoFocus` focuses before the dialog is open.
 */
function focusFirst(button: HTMLButtonElement | null): void {
  button?.toggleAttribute('autofocus', true);
}

/** Shown after a start by keyboard, which skips the summary. */
export function ConfirmStart({
  open,
  strategy,
  available,
  onClose,
  onConfirm,
}: {
  open: boolean;
  strategy: Strategy | null;
  available: number | null;
  onClose: () => void;
  onConfirm: () => void;
}): ReactNode {
  const price = creditsInWords(strategy?.credits ?? null);
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={`Start for ${price}?`}
      actions={
        <>
          <Button onClick={onClose}>Keep editing</Button>
          <Button
            tone="primary"
            ref={focusFirst}
            onClick={onConfirm}
            // The key that opened this dialog may still be down and must not confirm it.
            onKeyDown={(event) => {
              if (event.repeat) event.preventDefault();
            }}
          >
            Start for {price}
          </Button>
        </>
      }
    >
      <p className="text-ink-2">
        {strategy?.name}
        {available === null || strategy === null
          ? '.'
          : `. You have ${creditsInWords(available)} and will have ${available - strategy.credits} left.`}
      </p>
    </Dialog>
  );
}
