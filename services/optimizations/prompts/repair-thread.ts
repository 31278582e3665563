import { parentPort } from 'node:worker_threads';
import { jsonrepair } from 'jsonrepair';

/** Repairs texts in a thread of its own, which `read-reply.ts` ends when one takes too long. */
parentPort?.on('message', (object: string) => parentPort?.postMessage(repaired(object)));

/** Null for a text that is beyond repair. */
function repaired(object: string): string | null {
  try {
    return jsonrepair(object);
  } catch {
    return null;
  }
}
