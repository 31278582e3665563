import { mkdir, open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import * as v from 'valibot';
import { SettingsError } from './env.ts';

/**
 * Erasures in a file outside the database, one JSON document a line. A restored backup holds what was erased
 * after it was made; this file says what to erase again. It holds ids and times alone, and only grows.
 *
 * Several machines may each have a file of their own. Lines may repeat, and their order means nothing, so
 * files are joined by writing one behind the other.
 */
const Erasure = v.object({
  key_id: v.pipe(v.string(), v.regex(/^(usr|opt)_[0-9a-z]{26}$/)),
  kind: v.picklist(['run', 'account']),
  user_id: v.pipe(v.string(), v.regex(/^usr_[0-9a-z]{26}$/)),
  erased_at: v.pipe(v.string(), v.isoTimestamp()),
});

export const ErasureList = v.array(Erasure);
export type ErasureList = v.InferOutput<typeof ErasureList>;

export type ErasureLog = {
  /** On disk when it resolves. */
  append(erasures: ErasureList): Promise<void>;
};

export function createErasureLog(path: string): ErasureLog {
  return {
    async append(erasures) {
      if (erasures.length === 0) return;
      await mkdir(dirname(path), { recursive: true });
      const file = await open(path, 'a+', 0o600);
      try {
        const lines = erasures.map((erasure) => `${JSON.stringify(erasure)}\n`).join('');
        const bytes = Buffer.from((await endsInsideLine(file)) ? `\n${lines}` : lines);
        // One write at the end of the file: lines of several processes do not mix.
        const { bytesWritten } = await file.write(bytes);
        if (bytesWritten < bytes.length) throw new Error('The erasure log has no space left');
        await file.datasync();
      } finally {
        await file.close();
      }
    },
  };
}

/** After a crash or a full disk the last line may be cut. */
async function endsInsideLine(file: Awaited<ReturnType<typeof open>>): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return false;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer.toString() !== '\n';
}

/** Creates an empty log when there is none. @throws SettingsError when it cannot be written */
export async function openErasureLog(path: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await (await open(path, 'a', 0o600)).close();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new SettingsError([`ERASURE_LOG: cannot write to ${path} (${code})`], { cause: error });
  }
}

/** Those that a log does not have. The line of an account stands for its runs. */
export function notLogged(erasures: ErasureList, log: ErasureList): ErasureList {
  const known = new Set(log.map(({ key_id: keyId }) => keyId));
  return erasures.filter(
    ({ key_id: keyId, user_id: userId }) => !known.has(keyId) && !known.has(userId),
  );
}

/**
 * The erasures of a log, or of a list by `users erasures --json`, each once. A line that was cut is left
 * out: its erasure was never confirmed.
 *
 * @throws Error without the file's text, SyntaxError or ValiError for any other file
 */
export async function readErasureLog(path: string): Promise<ErasureList> {
  const text = await readFile(path, 'utf8');
  if (text.trimStart().startsWith('[')) return v.parse(ErasureList, JSON.parse(text));
  const erasures = text
    .split('\n')
    .filter(isWhole)
    .map((line) => v.parse(Erasure, JSON.parse(line)));
  return [...new Map(erasures.map((erasure) => [erasure.key_id, erasure])).values()];
}

const opening = '{"key_id":"';

function isWhole(line: string): boolean {
  const isCut = !line.endsWith('}') && (line.startsWith(opening) || opening.startsWith(line));
  return line !== '' && !isCut;
}
