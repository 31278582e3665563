import { promptVersion } from '#services/optimizations/prompts/calls.ts';
import { replyChecks } from './reply-checks.ts';
import { macUnder, sealedLength } from '#services/platform/seal.ts';
import { all, failed } from './check.ts';
import type { Check } from './check.ts';
import {
  codedCalls,
  eventAt,
  promptVersionOf,
  sealedFields,
  sentText,
  textsOf,
} from './evidence.ts';
import type { AuditedRun, Evidence, OpenedText, SentPrompt, StoredEvent } from './evidence.ts';
import { rebuildCalls } from './rebuild.ts';
import type { Texts } from './rebuild.ts';
import { unprovenTexts } from './text-proofs.ts';
import type { KnownCall, UnprovenText } from './text-proofs.ts';

/** Of prompts and texts. */
export type PromptFindings = {
  checks: readonly Check[];
  notes: readonly string[];
  /** Only a file needs them: the database opens its texts with their key, which proves them. */
  unproven: readonly UnprovenText[];
};

/**
 * What was asked. The code of each prompt stands in the hash chain, so the subkey shows that a prompt is
 * the one that was sent; and because the prompt is made of the texts, that those are the texts.
 */
export async function promptChecks(evidence: Evidence): Promise<PromptFindings> {
  const { runs, texts, macKey } = evidence;
  if (macKey === null)
    return {
      checks: [],
      notes: [
        texts === 'erased'
          ? 'the texts of this run have been erased: prompts were not checked'
          : 'the texts are sealed: prompts were not checked',
      ],
      unproven: [],
    };
  const opened = textsOf(evidence);
  const codes = codeChecks(runs, evidence.prompts, macKey);
  const known = await knownCalls(evidence, opened, macKey);
  return {
    checks: [
      ...codes.checks,
      ...all(
        'length of each text',
        evidence.opened.flatMap((text) => lengthCheck(runs, text)),
      ),
      ...wordChecks(evidence, opened, known),
    ],
    notes: [
      ...codes.notes,
      ...countNote(
        runs.flatMap(codedCalls).filter((event) => !isOfThisVersion(event)).length,
        `prompts were not compared with the texts: they are of another version, and this software writes version ${promptVersion}`,
      ),
    ],
    unproven: unprovenTexts(runs, evidence.opened, known),
  };
}

function codeChecks(
  runs: readonly AuditedRun[],
  prompts: readonly SentPrompt[],
  macKey: string,
): { checks: Check[]; notes: string[] } {
  const subkey = Buffer.from(macKey, 'hex');
  const starts = runs.flatMap(({ runId, events }) =>
    events.filter(({ type }) => type === 'CallStarted').map((event) => ({ runId, event })),
  );
  const coded = runs.flatMap((run) =>
    codedCalls(run).map((event) => ({ runId: run.runId, event })),
  );
  const given = coded.flatMap(({ runId, event }) => {
    const sent = promptAt(prompts, runId, event);
    return sent === undefined ? [] : [{ event, sent }];
  });
  return {
    checks: all(`codes of ${given.length} prompts`, [
      ...given.flatMap(({ event, sent }) =>
        macUnder(subkey, sentText(sent)) === event.data['promptMac']
          ? []
          : [failed('code of the prompt', 'it is not the code of the prompt given here', event)],
      ),
      ...prompts
        .filter((sent) => !given.some((one) => one.sent === sent))
        .map(({ runId, position }) =>
          failed('code of the prompt', 'its event has none', eventAt(runs, runId, position)),
        ),
    ]),
    notes: [
      ...countNote(starts.length - coded.length, 'prompts have no code'),
      ...countNote(
        coded.length - given.length,
        'prompts were sent by an earlier version of the software, so their words are not known',
      ),
    ],
  };
}

function countNote(count: number, words: string): string[] {
  return count === 0 ? [] : [`${count} ${words}`];
}

function promptAt(
  prompts: readonly SentPrompt[],
  runId: string,
  { streamPosition }: StoredEvent,
): SentPrompt | undefined {
  return prompts.find((sent) => sent.runId === runId && sent.position === streamPosition);
}

/** A sealed text shows nothing of itself but how long it is. */
function lengthCheck(
  runs: readonly AuditedRun[],
  { runId, position, field, text }: OpenedText,
): Check[] {
  const event = eventAt(runs, runId, position);
  const sealed = event && sealedFields(event)[field];
  if (sealed !== undefined && sealedLength(sealed) === Buffer.byteLength(text)) return [];
  return [failed(`text "${field}"`, 'it has another length than the sealed text', event)];
}

/** The prompts and findings that follow from the texts, where the words of the prompt are known. */
function wordChecks({ runs }: Evidence, texts: Texts, known: readonly KnownCall[]): Check[] {
  return [
    ...all(
      'prompts as the texts give them',
      known.flatMap(({ event, made, sent }) => {
        if ('problem' in made)
          return [failed('prompt', `the texts give none (${made.problem})`, event)];
        return made.text === sentText(sent)
          ? []
          : [failed('prompt', 'the texts give another prompt', event)];
      }),
    ),
    ...all(
      'findings as the replies give them',
      known.flatMap((call) => replyChecks(call, runs, texts)),
    ),
  ];
}

/** A call of an earlier version had other words, and its reply was read otherwise. */
async function knownCalls(
  { runs, prompts }: Evidence,
  texts: Texts,
  macKey: string,
): Promise<KnownCall[]> {
  const rebuilt = await rebuildCalls({ runs, texts, macKey });
  return rebuilt.flatMap((call) => {
    const sent = promptAt(prompts, call.runId, call.event);
    return sent === undefined || !isOfThisVersion(call.event) ? [] : [{ ...call, sent }];
  });
}

function isOfThisVersion(event: StoredEvent): boolean {
  return promptVersionOf(event) === promptVersion;
}
