import { questionFields } from '#services/optimizations/reading/view.ts';
import { parseSlot } from '#services/optimizations/run/slots.ts';
import { eventAt, sealedFields } from './evidence.ts';
import type { AuditedRun, OpenedText, SentPrompt, StoredEvent } from './evidence.ts';
import type { RebuiltCall } from './rebuild.ts';

/**
 * Which of the opened texts of a file are proved. A sealed text shows nothing of its words to someone
 * without the data key, so only a prompt whose code was checked, and that was made of them, proves them.
 */

/** A call whose prompt was given, and made again. */
export type KnownCall = RebuiltCall & { sent: SentPrompt };

export type UnprovenText = Omit<OpenedText, 'text'> & {
  /** Whether a checked prompt holds some of its words. */
  inPart: boolean;
};

/** @param calls none, where prompts could not be made again */
export function unprovenTexts(
  runs: readonly AuditedRun[],
  opened: readonly OpenedText[],
  calls: readonly KnownCall[],
): UnprovenText[] {
  return opened.flatMap((one) => {
    const { runId, position, field, text } = one;
    // The length is proved, and an empty text has no words.
    if (text === '') return [];
    const event = eventAt(runs, runId, position);
    const sealed = event && sealedFields(event)[field];
    const prompts = calls.flatMap(({ read, sent }) =>
      sealed !== undefined && read.has(sealed) && !isReplaced(event, field) ? [sent.prompt] : [],
    );
    const words = event === undefined ? null : wordsOf(event, one, calls);
    const isProved =
      prompts.length > 0 && words?.every((word) => prompts.some((prompt) => prompt.includes(word)));
    return isProved ? [] : [{ runId, position, field, inPart: prompts.length > 0 }];
  });
}

/** A refinement's prompts have the question of the run that it starts from, and not its own copy. */
function isReplaced(event: StoredEvent | undefined, field: string): boolean {
  return event?.data['refines'] !== undefined && questionFields.some((one) => one === field);
}

/**
 * The words of a text that prompts hold whole; null for a text of which they only choose some, such as
 * the reasons of a ballot, the quotes of a claim, or the draft of a recommendation.
 */
function wordsOf(
  event: StoredEvent,
  { runId, field, text }: OpenedText,
  calls: readonly KnownCall[],
): readonly string[] | null {
  switch (field) {
    case 'challenge':
    case 'context':
    case 'instruction':
    case 'shown':
      return [text];
    case 'objectives':
    case 'constraints':
    case 'files':
      return stringsIn(text);
    case 'reply':
      // `shown` has every word of an answer, and is compared with its reply.
      return isAnswer(event) && isKnown(event, runId, calls) ? stringsIn(text) : null;
    default:
      return null;
  }
}

function isAnswer({ data }: StoredEvent): boolean {
  const { slot } = data;
  return typeof slot === 'string' && parseSlot(slot).kind === 'opinion';
}

function isKnown({ data }: StoredEvent, runId: string, calls: readonly KnownCall[]): boolean {
  return calls.some(
    (call) =>
      call.runId === runId &&
      call.event.data['slot'] === data['slot'] &&
      call.event.data['attempt'] === data['attempt'],
  );
}

function stringsIn(json: string): string[] | null {
  try {
    return leavesOf(JSON.parse(json)).filter((leaf) => typeof leaf === 'string');
  } catch {
    return null;
  }
}

function leavesOf(value: unknown): unknown[] {
  return typeof value === 'object' && value !== null
    ? Object.values(value).flatMap(leavesOf)
    : [value];
}
