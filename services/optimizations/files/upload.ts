import {
  fileNameOf,
  fileTooLarge,
  optimizationLimits,
} from '#services/optimizations/contract/requests.ts';
import type { ReadFileReply } from '#services/optimizations/contract/requests.ts';
import { readBytes } from '#services/platform/http/http.ts';
import type { HttpContext } from '#services/platform/http/http.ts';
import { Problem } from '#services/platform/problem.ts';
import { fileProblem, kindOf } from './kind.ts';
import type { FileReader } from './reader.ts';

/** The field's name, its file's name and the lines between the parts. */
const formBytes = 10_000;

/**
 * Reads the one file of a form, and keeps nothing of it.
 *
 * @throws Problem 400, 413, 415 and 503, each with a sentence about the file
 */
export async function readUpload(
  context: HttpContext,
  userId: string,
  files: FileReader,
): Promise<ReadFileReply> {
  const type = context.req.header('content-type') ?? '';
  if (!/^multipart\/form-data\s*;/i.test(type))
    throw new Problem(
      'unsupported-media-type',
      'Send a form with one file (Content-Type: multipart/form-data).',
    );
  const most = optimizationLimits.fileBytes;
  const body = await readBytes(context, most + formBytes, tooLarge);
  const file = await fileOf(body, type);
  if (file.size > most) throw tooLarge();
  const bytes = Buffer.from(await file.arrayBuffer());
  const { signal } = context.req.raw;
  const asked = { userId, signal };
  const { text, pagesRead, warnings } = await files.read(kindOf(file.name, bytes), bytes, asked);
  return { name: nameOf(file.name), text, pages_read: pagesRead, warnings };
}

/** @throws Problem 400 for a body that is no form, and for a form of anything but one file */
async function fileOf(body: Buffer, type: string): Promise<File> {
  const form = await new Response(Uint8Array.from(body), { headers: { 'content-type': type } })
    .formData()
    .catch(() => new FormData());
  const [[field, file] = [], ...others] = [...form];
  if (others.length > 0 || field !== 'file' || !(file instanceof File))
    throw fileProblem('validation', 'Send one file, in the field `file`.');
  return file;
}

/** A long one is cut before its ending. */
function nameOf(sent: string): string {
  const name = fileNameOf(sent);
  const most = optimizationLimits.fileName;
  if (name.length <= most) return name;
  const ending = /\.\w+$/.exec(name)?.[0] ?? '';
  return `${name.slice(0, most - ending.length - 1).toWellFormed()}…${ending}`;
}

function tooLarge(): Problem {
  return fileProblem('file-too-large', fileTooLarge);
}
