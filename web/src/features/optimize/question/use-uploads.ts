import { useEffect, useRef, useState } from 'react';
import { optimizationLimits } from '#services/optimizations/contract/requests.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { type AttachedText, failureSentence, readFileText, refusalOf, withFile } from './files.ts';

/** A file that is being read, or was not. */
export type Upload = {
  readonly id: number;
  readonly name: string;
  /** Null while it is being read. */
  readonly error: string | null;
};

export type ChangeFiles = (
  change: (files: readonly AttachedText[]) => readonly AttachedText[],
) => void;

/** Sends chosen files one after the other, and adds what was read to the form. */
export function useUploads(attached: number, onChange: ChangeFiles) {
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const nextId = useRef(0);
  const leaving = useRef<AbortController | null>(null);
  const queue = useRef<Promise<void>>(Promise.resolve());
  useEffect(() => {
    const controller = new AbortController();
    leaving.current = controller;
    return () => controller.abort();
  }, []);

  const remove = (id: number): void =>
    setUploads((all) => all.filter((upload) => upload.id !== id));
  const fail = (id: number, name: string, error: string): void => {
    setUploads((all) => all.map((upload) => (upload.id === id ? { ...upload, error } : upload)));
    announce(`${name} was not added. ${error}`, 'assertive');
  };
  const readOne = async (id: number, file: File): Promise<void> => {
    const { signal } = leaving.current ?? new AbortController();
    if (signal.aborted) return;
    try {
      const { name, text, warnings } = await readFileText(file, signal);
      remove(id);
      onChange((files) => withFile(files, { name, text, warnings }));
      announce([`${name} added, ${text.length} characters.`, ...warnings].join(' '));
    } catch (error) {
      if (!signal.aborted) fail(id, file.name, failureSentence(error));
    }
  };

  const isReading = uploads.some(({ error }) => error === null);
  const add = (chosen: readonly File[]): void => {
    let room =
      optimizationLimits.files - attached - uploads.filter(({ error }) => error === null).length;
    const added = chosen.map((file) => {
      nextId.current += 1;
      const error = refusalOf(file, room <= 0);
      if (error === null) room -= 1;
      return { id: nextId.current, name: file.name, error, file };
    });
    setUploads((all) => [
      ...all.filter(({ error }) => error === null),
      ...added.map(({ id, name, error }) => ({ id, name, error })),
    ]);
    for (const { id, name, error, file } of added)
      if (error === null) queue.current = queue.current.then(async () => readOne(id, file));
      else announce(`${name} was not added. ${error}`, 'assertive');
  };
  return { uploads, isReading, add, remove };
}
