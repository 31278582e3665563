import { useState } from 'react';
import { announce } from './announcer.tsx';

/** Copies a text and announces the outcome: `copied`, or `refused` when the browser blocks it. */
export function useCopy({ copied, refused }: { copied: string; refused: string }): {
  outcome: 'copied' | 'refused' | null;
  copy: (text: string) => Promise<void>;
} {
  const [outcome, setOutcome] = useState<'copied' | 'refused' | null>(null);
  const copy = async (text: string): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setOutcome('copied');
      announce(copied);
    } catch {
      // Usually because the page is not on a secure address.
      setOutcome('refused');
      announce(refused, 'assertive');
    }
  };
  return { outcome, copy };
}
