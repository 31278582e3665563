import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import pLimit from 'p-limit';

/**
 * Repairs of a reply's form, before it counts as malformed: what a small model does with JSON. What
 * the model said stays as it is, and an answer that was cut off stays cut off.
 */

export type ReadReply = { value: unknown; isRepaired: boolean };

/** The reply as JSON; undefined when there is none, or when its end is missing. */
export async function readReply(reply: string): Promise<ReadReply | undefined> {
  const whole = parse(reply.trim());
  if (whole !== undefined) return { value: whole, isRepaired: false };
  const object = objectIn(reply.replace(/^\s*<think>[\s\S]*?<\/think>/, ''));
  if (object === null) return undefined;
  const value = parse(object) ?? parse(await repaired(object));
  return value === undefined ? undefined : { value, isRepaired: true };
}

/** From the first brace that opens a member to the one that closes it, else to the last brace. */
function objectIn(reply: string): string | null {
  const start = /\{\s*(?:["'“}]|[a-z_]+\s*:|\/[/*])/.exec(reply)?.index;
  if (start === undefined) return null;
  const end = closingBrace(reply, start) ?? reply.lastIndexOf('}');
  return end > start ? reply.slice(start, end + 1) : null;
}

/** By strings and depth, so null for an object whose strings hold unescaped quotes. */
function closingBrace(text: string, start: number): number | null {
  let depth = 0;
  let inString = false;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (inString) {
      if (character === '\\') at += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{') depth += 1;
    else if (character === '}' && --depth === 0) return at;
  }
  return null;
}

/** Null when the repair had to close what the reply left open: then its end is missing. */
async function repaired(object: string): Promise<string | null> {
  const json = await oneAtATime(async () => repairedInThread(object));
  return json !== null && closers(json) === closers(object) ? json : null;
}

/** For a hostile text the package takes time by the cube of the length. */
const repairMs = 1000;

/** Kept for the next text, and replaced when it had to be ended. */
let thread: Worker | null = null;
const oneAtATime = pLimit(1);

/** Null for a text that cannot be repaired in time. */
async function repairedInThread(object: string): Promise<string | null> {
  const used = thread ?? (await startThread());
  thread = null;
  used.postMessage(object);
  const signal = AbortSignal.timeout(repairMs);
  try {
    const [json] = (await once(used, 'message', { signal })) as [string | null];
    thread = used;
    return json;
  } catch (error) {
    await used.terminate();
    if (signal.aborted) return null;
    throw error;
  }
}

/** The time of a repair begins once the thread runs, which can take long on a busy machine. */
async function startThread(): Promise<Worker> {
  const started = new Worker(join(import.meta.dirname, 'repair-thread.ts'));
  started.unref();
  await once(started, 'online');
  return started;
}

/** How many brackets a text closes at its end. */
function closers(text: string): number {
  let count = 0;
  for (let at = text.length - 1; at >= 0; at -= 1) {
    const character = text[at] ?? '';
    if (character === ']' || character === '}') count += 1;
    else if (!/[\s,]/.test(character)) break;
  }
  return count;
}

function parse(json: string | null): unknown {
  if (json === null) return undefined;
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
