import {
  fileTooLarge,
  optimizationLimits,
  ReadFileReply,
} from '#services/optimizations/contract/requests.ts';
import { ApiProblem } from '#web/api/api.ts';
import { upload } from '#web/api/files.ts';
import { problemSentence } from '#web/api/problem-words.ts';

/** A file whose text was read; people may change the text. Its id lasts as long as its row. */
export type AttachedText = {
  readonly id: number;
  readonly name: string;
  readonly text: string;
  readonly warnings: readonly string[];
};

export const acceptedFiles = '.txt,.md,.markdown,.csv,.pdf,.docx';

/** Other people's files may come first. */
const uploadMs = 90_000;

/** @throws ApiProblem */
export async function readFileText(file: File, signal: AbortSignal): Promise<ReadFileReply> {
  const form = new FormData();
  form.append('file', file);
  return upload('POST', '/optimizations/files', form, ReadFileReply, {
    signal,
    timeoutMs: uploadMs,
  });
}

/** Why the file is not worth sending; null when it is. */
export function refusalOf({ size }: Pick<File, 'size'>, isFull: boolean): string | null {
  if (isFull) return `Up to ${optimizationLimits.files} files`;
  return size > optimizationLimits.fileBytes ? fileTooLarge : null;
}

export function failureSentence(error: unknown): string {
  // The server is busy with other files and says when to try again.
  return error instanceof ApiProblem && error.code === 'busy'
    ? error.message
    : problemSentence(error);
}

export function filesOf(
  files: readonly { name: string; text: string; warnings?: readonly string[] }[],
): readonly AttachedText[] {
  return files.map(({ name, text, warnings = [] }, id) => ({ id, name, text, warnings }));
}

export function withFile(
  files: readonly AttachedText[],
  file: Omit<AttachedText, 'id'>,
): readonly AttachedText[] {
  return [...files, { ...file, id: Math.max(-1, ...files.map(({ id }) => id)) + 1 }];
}
