import type { Fact } from '#services/live/contract.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import type {
  LedgerTexts,
  OptimizationEvent,
  ReviewNotes,
} from '#services/optimizations/run/events.ts';
import type { Draft, Opinion } from '#services/optimizations/prompts/reply-schemas.ts';
import { withBase } from '#services/optimizations/reading/with-base.ts';
import { parseSlot } from '#services/optimizations/run/slots.ts';
import { describeRun } from '#services/optimizations/reading/describe.ts';
import {
  applyPatch,
  beginView,
  type EventTexts,
  patchOf,
  type RunView,
} from '#services/optimizations/reading/view.ts';
import { noon, runId, type Script } from '#tests/optimizations/run/run-script.ts';

/**
 * A run as the browser gets it: the decider's own events, with plain text where they are sealed, as
 * facts of the stream and as the copy that the API returns after any of them.
 */
export type Story = {
  readonly facts: readonly Fact[];
  /** The view after so many events; all of them by default. */
  view: (events?: number) => RunView;
  /** The same as the API returns it. */
  copy: (events?: number) => Optimization;
};

export type Words = {
  readonly title: string;
  readonly challenge: string;
  readonly opinion: (seat: string) => Opinion;
  readonly ledger: (claims: readonly string[], options: readonly string[]) => LedgerTexts;
  readonly notes: (seat: string) => ReviewNotes;
  readonly draft: Draft;
  /** What a refinement was given. */
  readonly instruction?: string;
};

export const plainWords: Words = {
  title: 'Should the agency sell a fixed offer?',
  challenge: 'Should the agency sell a fixed offer?',
  opinion: (seat) => ({
    recommendation: { option_label: `Option of ${seat}`, one_line: `${seat} would begin small.` },
    reasoning: [`${seat} weighs the risk first.`, 'Then it looks at the cost.'],
    claims: [
      { text: `${seat} claims that clients stay.`, importance: 3, if_false_flips: true },
      { text: `${seat} claims that margins grow.`, importance: 2, if_false_flips: false },
    ],
    assumptions: ['Prices hold.'],
    missing_info: ['The number of leads.'],
    risks: ['A large client leaves.'],
    stated_confidence: 70,
  }),
  ledger: (claims, options) => ({
    claims: Object.fromEntries(
      claims.map((id) => [
        id,
        { text: `The claim ${id} holds.`, quotes: [{ seat: 'S1', quote: `Words for ${id}` }] },
      ]),
    ),
    options: Object.fromEntries(options.map((id) => [id, `The option ${id}`])),
    notes: { n1: 'Prices hold.' },
  }),
  notes: (seat) => ({ critique: `${seat} finds the first answer the clearest.`, flaws: [] }),
  draft: {
    decision: 'Begin with one fixed offer for one kind of client.',
    option_id: 'o1',
    sections: [{ heading: 'Why', blocks: [{ text: 'Clients stay.', claim_ids: ['c1', 'c2'] }] }],
    next_steps: [
      {
        action: 'Write the offer down.',
        owner: 'you',
        by_days: 7,
        measure: 'A client asks for it.',
        stop_if: 'Nobody reads it.',
        claim_ids: ['c1'],
      },
    ],
    flaw_replies: [],
    dissent: [],
    uncertainties: ['The number of leads is unknown.'],
  },
};

/** All seats of a story are simulated. */
const standIn: RunView['standIn'] = {
  title: 'Should I raise my prices?',
  question: { challenge: 'I charge $240. Should I charge *$290*?', context: '34 customers pay.' },
  exact: false,
};

/** @param base the run whose result a refinement starts from */
export function storyOf(
  script: Script,
  words: Partial<Words> = {},
  { id = runId, base = null }: { id?: string; base?: Story | null } = {},
): Story {
  const said = { ...plainWords, ...words };
  const facts = script.events.map((event, index): Fact => ({
    type: event.type,
    at: noon,
    stream: `optimization-${id}`,
    version: index + 1,
    entity: { kind: 'run', id },
    // The wire carries JSON, so the patch is tested after a round trip.
    patch: JSON.parse(
      JSON.stringify({
        ...patchOf(id, event, textsOf(event, said), noon),
        ...(event.type === 'OptimizationCreated' ? { standIn } : {}),
      }),
    ) as Fact['patch'],
  }));
  const first = beginView(facts[0]?.patch ?? {});
  const begun = base === null ? first : withBase(first, base.view());
  const view = (events = facts.length): RunView =>
    facts
      .slice(1, events)
      .reduce((folded, fact) => applyPatch(folded, fact.patch, fact.version), begun);
  return { facts, view, copy: (events) => describeRun(view(events), Date.parse(noon) + 5_000) };
}

function textsOf(event: OptimizationEvent, words: Words): EventTexts {
  switch (event.type) {
    case 'OptimizationCreated':
      return {
        title: words.title,
        challenge: words.challenge,
        context: '',
        objectives: '[]',
        constraints: '[]',
        ...(words.instruction === undefined ? {} : { instruction: words.instruction }),
      };
    case 'ClaimsFixed':
      return {
        ledger: JSON.stringify(
          words.ledger(
            event.data.claims.map(({ id }) => id),
            event.data.options.map(({ id }) => id),
          ),
        ),
      };
    case 'CallSucceeded': {
      const slot = parseSlot(event.data.slot);
      const seat = 'seat' in slot ? slot.seat : '';
      return {
        reply: JSON.stringify(slot.kind === 'draft' ? words.draft : words.opinion(seat)),
        notes: JSON.stringify(words.notes(seat)),
      };
    }
    default:
      return {};
  }
}
