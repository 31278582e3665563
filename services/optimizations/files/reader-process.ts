import process from 'node:process';
import type { FileKind } from './kind.ts';
import { readFile } from './read.ts';

/**
 * Reads one file and ends, so that a file that breaks its parser breaks nothing else. This process has
 * no setting and no secret; `reader.ts` says what it may do.
 */
process.once('message', (asked) => void answer(asked as { kind: FileKind; bytes: Uint8Array }));

async function answer({ kind, bytes }: { kind: FileKind; bytes: Uint8Array }): Promise<void> {
  // The parser of PDFs refuses Node's own buffers.
  process.send?.(await readFile(kind, Uint8Array.from(bytes)));
  process.disconnect();
}
