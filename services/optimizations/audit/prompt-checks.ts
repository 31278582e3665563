import { promptVersion } from '#services/optimizations/prompts/calls.ts';
import { replyChecks } from './reply-checks.ts';
import { checkText, macUnder } from '#services/platform/seal.ts';
import { streamOf } from '#services/optimizations/run/events.ts';
import { all, attempt, failed } from './check.ts';
import type { Check, Findings } from './check.ts';
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
import type { RebuiltCall, Texts } from './rebuild.ts';

/** A call whose prompt was given, and made again. */
export type KnownCall = RebuiltCall & { sent: SentPrompt };

/** Of prompts and texts. */
export type PromptFindings = Findings & {
  /**
   * Texts of 0.1, which have no codes. Only a file needs them: the database opens its texts with their
   * key, which proves them.
   */
  unproven: readonly Omit<OpenedText, 'text'>[];
};

/**
 * What was asked. The codes of prompts and texts stand in the hash chain, so the subkey shows that they are
 * those that were sent and sealed; and the prompts must be the ones that the texts give.
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
  const subkey = Buffer.from(macKey, 'hex');
  const codes = codeChecks(runs, evidence.prompts, subkey);
  const words = evidence.opened.map((text) => textCheck(runs, text, subkey));
  const known = await knownCalls(evidence, opened, macKey);
  return {
    checks: [
      ...codes.checks,
      ...all(
        'words of each text',
        words.flatMap(({ faults }) => faults),
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
    unproven: words.flatMap(({ unproven }) => unproven),
  };
}

function codeChecks(
  runs: readonly AuditedRun[],
  prompts: readonly SentPrompt[],
  subkey: Buffer,
): { checks: Check[]; notes: string[] } {
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

/** Without its code, a sealed text shows nothing of itself but how long it is. */
function textCheck(
  runs: readonly AuditedRun[],
  { runId, position, field, text }: OpenedText,
  subkey: Buffer,
): { faults: Check[]; unproven: PromptFindings['unproven'] } {
  const event = eventAt(runs, runId, position);
  const sealed = event && sealedFields(event)[field];
  const checked =
    sealed === undefined
      ? null
      : checkText(subkey, sealed, { stream: streamOf(runId), field }, text);
  const isUnproven = checked?.by === 'length' && text !== '';
  return {
    faults: checked?.fits
      ? []
      : [failed(`text "${field}"`, 'these are not the words that were sealed', event)],
    unproven: isUnproven ? [{ runId, position, field }] : [],
  };
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
      known.flatMap((call) =>
        attempt('what was found in the reply', () => replyChecks(call, runs, texts), call.event),
      ),
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
