import { passagesOf } from '#services/optimizations/files/passages.ts';
import type { OpenRun } from '#services/optimizations/reading/read-run.ts';
import {
  claimText,
  decisionReason,
  optionText,
  reasonOf,
} from '#services/optimizations/reading/texts.ts';
import { ballotOf, givenOf } from '#services/optimizations/reading/view.ts';
import type { RunFile, RunView } from '#services/optimizations/reading/view.ts';
import type { ReviewNotes, Stance, Vote } from '#services/optimizations/run/events.ts';
import { everyModel } from '#services/optimizations/run/slots.ts';
import { seededOrder } from '#services/platform/seeded.ts';
import { checked, seedOf } from './prepared-call.ts';
import type { PreparedCall } from './prepared-call.ts';
import {
  challengeBlocks,
  dataRule,
  expectedReplyCharacters,
  fileBlocks,
  filesRule,
  filesRules,
  languageRule,
  oneLine,
  stagePrompt,
} from './prompts.ts';
import type { Challenge, StagePrompt } from './prompts.ts';
import { malformed, parseReply } from './reply-schemas.ts';
import type { Checked, SecondVoteReply } from './reply-schemas.ts';
import { scrubOf } from './scrub.ts';
import type { Scrub } from './scrub.ts';

/**
 * The call that a refinement makes to each seat: it votes again on some claims and on the decision,
 * with what is new and the reasons of all sides, but without their numbers.
 */

/** A reason for one side, by claim or option. */
type Reason = { id: string; side: Stance | 'for'; text: string };

export type SecondVoteBrief = {
  claims: readonly { id: string; text: string }[];
  options: readonly { id: string; text: string }[];
  /** Of the others, in an order of the voter's own. */
  reasons: readonly Reason[];
  /** What the voter had voted, and why; null for a seat that had not. */
  own: {
    votes: Readonly<Record<string, { stance: Stance; reason?: string }>>;
    decision: { optionId: string; reason?: string };
  } | null;
  /** Facts and instructions that the person gave since, the latest last. */
  given: readonly string[];
  /** The claim that the latest fact is about. */
  changedClaim: string | null;
  /** Of each file, what stands around the words that claims and reasons quote. */
  passages?: readonly RunFile[];
};

export function secondVotePrompt(
  asked: Challenge,
  brief: SecondVoteBrief,
  { delimiter }: { delimiter: string },
): StagePrompt {
  const { claims, options, reasons, own, given, changedClaim } = brief;
  const listed = (items: readonly { id: string; text: string }[]) =>
    items.map(({ id, text }) => `${id} | ${oneLine(text)}`).join('\n');
  return stagePrompt('second_vote', {
    system: [
      'You sit on a council that has answered the question of one person who runs a small business and has voted on claims and options. You vote a second time.',
      'The block "new" holds what the person has said since, the latest last. Take it as true. Where it says other than a claim, vote on the claim as it now stands for this person.',
      'Read the reasons of all sides. Judge reasons, not how often they occur: change your earlier vote where a reason or what is new convinces you, and keep it where none does.',
      'Vote on each claim: agree, disagree, or unsure when you lack the facts. Write a reason of at most 25 words for each claim that you disagree with, and for each unsure vote the fact that is missing. Then choose the option that you would take now, with your reason; choose undecidable when the facts do not suffice.',
      languageRule,
      ...filesRule(brief.passages, filesRules.recalled),
      dataRule,
    ],
    blocks: [
      ...challengeBlocks(asked),
      ...fileBlocks(brief.passages),
      { kind: 'new', text: given.map(oneLine).join('\n') },
      { kind: 'changed claim', text: changedClaim ?? '' },
      { kind: 'claims', text: listed(claims) },
      { kind: 'options', text: listed(options) },
      {
        kind: 'reasons',
        text: reasons.map(({ id, side, text }) => `${id} | ${side} | ${oneLine(text)}`).join('\n'),
      },
      {
        kind: 'own votes',
        text:
          own === null
            ? ''
            : [
                ...claims.flatMap(({ id }) => {
                  const vote = own.votes[id];
                  return vote === undefined ? [] : [lineOf(id, vote.stance, vote.reason)];
                }),
                lineOf('decision', own.decision.optionId, own.decision.reason),
              ].join('\n'),
      },
    ],
    ask: 'Vote on the claims again and choose an option.',
    delimiter,
  });
}

function lineOf(...parts: readonly (string | undefined)[]): string {
  return parts.flatMap((part) => (part === undefined ? [] : [oneLine(part)])).join(' | ');
}

export function secondVoteCall(
  run: OpenRun,
  asked: Challenge,
  voter: string,
  delimiter: string,
): PreparedCall {
  const brief = briefOf(run, voter);
  return {
    request: secondVotePrompt(asked, brief, { delimiter }),
    expectedCharacters: expectedReplyCharacters.second_vote,
    check: (reply) => {
      const parsed = parseReply('second_vote', reply);
      if (!parsed.ok) return parsed;
      return checked(
        checkSecondVote(parsed.value, {
          claimIds: brief.claims.map(({ id }) => id),
          optionIds: brief.options.map(({ id }) => id),
        }),
        ({ votes, optionId, reasons, decisionReason: why }) => ({
          outcome: { kind: 'second_vote', votes, optionId },
          repaired: parsed.repaired,
          texts: {
            reply: JSON.stringify(parsed.value),
            notes: JSON.stringify({
              critique: '',
              flaws: [],
              reasons,
              decisionReason: why,
            } satisfies ReviewNotes),
          },
        }),
      );
    },
  };
}

type CheckedSecondVote = {
  votes: Readonly<Record<string, Vote>>;
  optionId: string;
  /** By claim; claims without a reason are absent. */
  reasons: Readonly<Record<string, string>>;
  decisionReason: string;
};

/** A second vote against what its writer was shown: claims left out keep their earlier vote. */
export function checkSecondVote(
  { votes, decision_vote: decision }: SecondVoteReply,
  shown: { claimIds: readonly string[]; optionIds: readonly string[] },
): Checked<CheckedSecondVote> {
  if (!shown.optionIds.includes(decision.option_id))
    return malformed('decision_vote: an option not shown');
  // The first vote must win, and the later of two equal keys would.
  const known = votes.filter(({ claim_id }) => shown.claimIds.includes(claim_id)).toReversed();
  return {
    ok: true,
    value: {
      votes: Object.fromEntries(
        known.map(({ claim_id, stance, confidence }) => [claim_id, { stance, confidence }]),
      ),
      optionId: decision.option_id,
      reasons: Object.fromEntries(
        known.filter(({ reason }) => reason !== '').map((vote) => [vote.claim_id, vote.reason]),
      ),
      decisionReason: decision.reason,
    },
  };
}

/** What the person has said since the root, oldest first. */
export function givenTo(view: RunView): string[] {
  return givenOf(view).map(({ text }) => text);
}

export function scrubFor({ state }: OpenRun): Scrub {
  if (!('schedule' in state)) throw new RangeError('The run has not been created');
  return scrubOf(everyModel(state));
}

function briefOf(run: OpenRun, voter: string): SecondVoteBrief {
  const { view } = run;
  const scrub = scrubFor(run);
  const inOrder = <Item>(about: string, items: readonly Item[]) =>
    seededOrder(seedOf(run), `${about}:${voter}`, items);
  const claimIds = view.refines?.claims ?? [];
  const optionIds = Object.keys(view.ledger?.options ?? {});
  const others = view.seats.map(({ seat }) => seat).filter((seat) => seat !== voter);
  const someOf = (id: string, side: Reason['side'], texts: readonly (string | null)[]): Reason[] =>
    inOrder(
      `reasons:${id}:${side}`,
      texts.filter((text) => text !== null),
    )
      .slice(0, reasonsPerSide)
      .map((text) => ({ id, side, text: scrub(text) }));
  const claims = inOrder('claims', claimIds).map((id) => ({
    id,
    text: scrub(claimText(view, id)),
  }));
  const own = ownVotes(view, voter, scrub);
  const reasons: Reason[] = [
    ...claimIds.flatMap((id) =>
      stances.flatMap((stance) =>
        someOf(
          id,
          stance,
          others.map((seat) => wordsOf(view, seat, id, stance)),
        ),
      ),
    ),
    ...optionIds.flatMap((id) =>
      someOf(
        id,
        'for',
        others.map((seat) =>
          ballotOf(view, seat)?.decision.optionId === id ? decisionReason(view, seat) : null,
        ),
      ),
    ),
  ];
  return {
    claims,
    options: inOrder('options', optionIds).map((id) => ({ id, text: scrub(optionText(view, id)) })),
    reasons,
    own,
    given: givenTo(view),
    changedClaim: view.refines?.claimId ?? null,
    passages: passagesOf(view.files, [...claims, ...reasons]),
  };
}

/** With its own reasons, so that a seat that keeps a vote knows why it cast it. */
function ownVotes(view: RunView, voter: string, scrub: Scrub): SecondVoteBrief['own'] {
  const ballot = ballotOf(view, voter);
  if (ballot === null) return null;
  const scrubbed = ({ reason }: { reason?: string }) =>
    reason === undefined ? {} : { reason: scrub(reason) };
  const votes = Object.entries(ballot.votes).map(
    ([id, vote]) => [id, { stance: vote.stance, ...scrubbed(vote) }] as const,
  );
  const { decision } = ballot;
  return {
    votes: Object.fromEntries(votes),
    decision: { optionId: decision.optionId, ...scrubbed(decision) },
  };
}

/** Of each side as many as every side can have, so that their number says nothing. */
const reasonsPerSide = 2;
const stances: readonly Stance[] = ['agree', 'disagree', 'unsure'];

/** A seat's reason for its vote on a claim; for one that it agrees with, else its own answer. */
function wordsOf(view: RunView, seat: string, claimId: string, stance: Stance): string | null {
  if (ballotOf(view, seat)?.votes[claimId]?.stance !== stance) return null;
  const quotes = stance === 'agree' ? (view.ledger?.claims[claimId]?.quotes ?? []) : [];
  return (
    reasonOf(view, seat, claimId) ?? quotes.find((quote) => quote.seat === seat)?.quote ?? null
  );
}
