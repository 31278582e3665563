import process from 'node:process';
import type { FileKind } from './kind.ts';
import { readFile } from './read.ts';

/**
 * Reads one file and ends. Whatever a file makes a parser do stays in this process: it has no setting
 * and no secret, and `reader.ts` leaves it no right but to read our own code.
 */
process.once('message', (asked) => void answer(asked as { kind: FileKind; bytes: Uint8Array }));

async function answer({ kind, bytes }: { kind: FileKind; bytes: Uint8Array }): Promise<void> {
  // The parser of PDFs refuses Node's own buffers.
  process.send?.(await readFile(kind, Uint8Array.from(bytes)));
  process.disconnect();
}
