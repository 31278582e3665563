import { type ReactNode, useEffect, useRef } from 'react';
import { stageCount } from '#services/onboarding/contract.ts';
import { Button } from '#web/ui/form/button.tsx';

export type Moves = {
  /** Null at the first stage. */
  onBack: (() => void) | null;
  onSkip: () => void;
};

/** The frame of a stage. Its heading takes the focus when the person moved to it. */
export function Stage({
  number,
  title,
  about,
  takesFocus,
  moves,
  next,
  children,
}: {
  number: number;
  title: string;
  about: string;
  takesFocus: boolean;
  moves: Moves;
  /** The button that leads to the next stage, with what it waits for. */
  next: ReactNode;
  children: ReactNode;
}): ReactNode {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (takesFocus) heading.current?.focus();
  }, [takesFocus]);
  return (
    <section aria-labelledby="stage" className="space-y-6">
      <div className="max-w-prose space-y-2">
        <h2 id="stage" ref={heading} tabIndex={-1} className="text-3xl">
          <span className="block font-sans text-sm text-ink-3">
            Step {number} of {stageCount}
          </span>
          {title}
        </h2>
        <p className="text-ink-2">{about}</p>
      </div>
      {children}
      <div className="flex flex-wrap items-center gap-3 border-t border-line pt-6">
        {moves.onBack ? <Button onClick={moves.onBack}>Back</Button> : null}
        {next}
        <Button tone="quiet" onClick={moves.onSkip}>
          {number === stageCount ? 'Finish later' : 'Skip'}
        </Button>
      </div>
    </section>
  );
}

/** A button with the reason beside it while it cannot be pressed. */
export function NextButton({
  label,
  waitsFor,
  busy = false,
  onPress,
}: {
  label: string;
  waitsFor: string | null;
  busy?: boolean;
  onPress: () => void;
}): ReactNode {
  return (
    <>
      <Button
        tone="primary"
        className="max-w-full wrap-anywhere"
        disabled={waitsFor !== null}
        busy={busy}
        aria-describedby={waitsFor === null ? undefined : 'next-note'}
        onClick={onPress}
      >
        {label}
      </Button>
      {waitsFor === null ? null : (
        <p id="next-note" className="text-sm text-ink-2">
          {waitsFor}
        </p>
      )}
    </>
  );
}
