import type { ReactNode, Ref } from 'react';
import { checkLimits } from '#services/optimizations/check/questions.ts';
import type { StrategiesReply } from '#services/optimizations/contract/panel.ts';
import { Button } from '#web/ui/form/button.tsx';
import { checkerSentence } from '#web/features/optimize/strategy-words.ts';

/** Stays focusable while a check is running, which Escape stops. */
export function StartButton({
  isChecking,
  isStarting,
  disabled,
  refusal,
  ref,
}: {
  isChecking: boolean;
  isStarting: boolean;
  disabled: boolean;
  refusal: string | null;
  ref: Ref<HTMLButtonElement>;
}): ReactNode {
  return (
    <Button
      ref={ref}
      type="submit"
      tone="primary"
      wide
      disabled={disabled}
      busy={isStarting}
      // A disabled button would lose the focus, and a check soon ends.
      aria-disabled={isChecking || undefined}
      aria-describedby="start-note"
    >
      {isStarting
        ? 'Initializing AI Models...'
        : isChecking
          ? 'Checking…'
          : (refusal ?? 'Start Optimization')}
    </Button>
  );
}

/** What a start does first, and the way to stop it. */
export function StartNote({
  isChecking,
  checker,
  onStop,
}: {
  isChecking: boolean;
  checker: StrategiesReply['checker'];
  onStop: () => void;
}): ReactNode {
  const sentence = checkerSentence(checker);
  // Both take their room all the time, so that a start moves nothing.
  return (
    <div className="grid *:[grid-area:1/1]">
      <div className={`space-y-1 ${isChecking ? 'invisible' : ''}`}>
        {sentence === null ? null : <p>{sentence}</p>}
        <p className="max-lg:hidden">
          Press Ctrl+Enter (⌘+Enter on a Mac) anywhere in the form to start.
        </p>
      </div>
      <p className={`flex flex-wrap items-center gap-x-2 ${isChecking ? '' : 'invisible'}`}>
        This takes {checkLimits.seconds} seconds at most. Escape stops it.
        <Button tone="quiet" onClick={onStop}>
          Stop
        </Button>
      </p>
    </div>
  );
}
