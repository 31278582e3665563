import { compare, failed } from './check.ts';
import type { Check } from './check.ts';
import { sealedFields } from './evidence.ts';
import type { AuditedRun, StoredEvent } from './evidence.ts';
import type { RebuiltCall, Texts } from './rebuild.ts';

/**
 * What code found in a reply, found again: the ballot of a review, the claims of the extractor, the
 * checks of a draft. So the numbers that were counted are those that the model gave.
 */
export function replyChecks(
  { runId, event: started, made }: RebuiltCall,
  runs: readonly AuditedRun[],
  texts: Texts,
): Check[] {
  const events = runs.find((run) => run.runId === runId)?.events ?? [];
  const at = events.findIndex((event) => isReply(event, started));
  const event = events[at];
  if (event === undefined || 'problem' in made) return [];
  const name = 'what was found in the reply';
  const opened = openedOf(event, texts);
  const reply = jsonOf(opened['reply']);
  if (reply === undefined) return [failed(name, 'the reply is not JSON', event)];
  const checked = made.prepared.check({ value: reply, isRepaired: false });
  if (!checked.ok) return [failed(name, `the reply is malformed (${checked.reason})`, event)];
  const { outcome, texts: found, ledger, title } = checked.value;
  const next = events[at + 1];
  return [
    compare(name, event.data['outcome'], outcome, event),
    compare('texts of the reply', derived(opened), derived(found), event),
    ...(ledger === undefined || next?.type !== 'ClaimsFixed'
      ? []
      : [
          compare(
            'words of the claims',
            openedOf(next, texts),
            { ledger: JSON.stringify(ledger), title: title?.toWellFormed() },
            next,
          ),
        ]),
  ];
}

/** What was made of the reply. Sealing keeps half a surrogate pair as the sign for a broken character. */
function derived({ shown, notes }: Record<string, string | undefined>) {
  return { shown: shown?.toWellFormed(), notes: notes?.toWellFormed() };
}

function isReply({ type, data }: StoredEvent, started: StoredEvent): boolean {
  return (
    type === 'CallSucceeded' &&
    data['slot'] === started.data['slot'] &&
    data['attempt'] === started.data['attempt']
  );
}

function openedOf(event: StoredEvent, texts: Texts): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(sealedFields(event)).map(([field, sealed]) => [field, texts.get(sealed)]),
  );
}

function jsonOf(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
