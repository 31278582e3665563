import { FileDown } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { problemSentence } from './problem-words.ts';

/** Makes a file and saves it; a failure, or what the file leaves out, stands beside the button. */
export function FileButton({
  children,
  save,
}: {
  children: string;
  /** Returns what the file leaves out; null when it is whole. */
  save: () => Promise<string | null>;
}): ReactNode {
  const [isBusy, setBusy] = useState(false);
  const [note, setNote] = useState<{ text: string; isFailure: boolean } | null>(null);
  const say = (text: string, isFailure: boolean): void => {
    setNote({ text, isFailure });
    announce(text, isFailure ? 'assertive' : 'polite');
  };
  const make = async (): Promise<void> => {
    setBusy(true);
    setNote(null);
    try {
      const leftOut = await save();
      if (leftOut !== null) say(leftOut, false);
    } catch (error) {
      say(`We couldn't create the file. ${problemSentence(error)}`, true);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <Button onClick={() => void make()} busy={isBusy}>
        <FileDown size={16} aria-hidden="true" />
        {isBusy ? 'Preparing…' : children}
      </Button>
      {note === null ? null : (
        <p className={note.isFailure ? 'w-full text-sm text-bad' : 'w-full text-sm text-ink-2'}>
          {note.text}
        </p>
      )}
    </>
  );
}
