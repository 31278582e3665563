import { type ReactNode, useSyncExternalStore } from 'react';
import { createSignal } from '#web/ui/signal.ts';

/**
 * What the page announces. One polite and one assertive region are in the document from the start,
 * because a region that appears together with its text is often not read.
 */
type Urgency = 'polite' | 'assertive';
type Spoken = Readonly<Record<Urgency, string>>;

const silence: Spoken = { polite: '', assertive: '' };
let spoken = silence;
const changes = createSignal();

/** Announces a sentence, also when it repeats the last one. */
export function announce(sentence: string, urgency: Urgency = 'polite'): void {
  // A region is only read when its text changes; an invisible space makes a repeat a change.
  const text = spoken[urgency] === sentence ? `${sentence}\u00a0` : sentence;
  spoken = { ...spoken, [urgency]: text };
  changes.emit();
}

/** The two regions. The root of the page renders them once. */
export function Announcer(): ReactNode {
  const { polite, assertive } = useSyncExternalStore(
    changes.subscribe,
    () => spoken,
    () => silence,
  );
  return (
    <>
      <output aria-live="polite" className="sr-only">
        {polite}
      </output>
      <div role="alert" aria-live="assertive" className="sr-only">
        {assertive}
      </div>
    </>
  );
}
