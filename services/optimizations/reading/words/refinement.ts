import type { Optimization } from '#services/optimizations/contract/run.ts';
import { claimText, optionText } from '#services/optimizations/reading/texts.ts';
import { ballotOf, correctedOf, isVotedAgain } from '#services/optimizations/reading/view.ts';
import { changingWords } from './doubts.ts';
import type { ChangingClaim } from './doubts.ts';
import { listed } from '#services/models/seating/words.ts';
import { quoted, seatNames } from './names.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import type { Ballot } from '#services/optimizations/run/events.ts';

/** What refinements say in words: the same on their pages and in their files. */

export const changedTitle = 'What changed';

/** Above answers on the page of a refinement. */
export const firstRoundNote =
  'These are from the first round. In a refinement the models vote again and write no new answers.';

/** Above claims on the page of a refinement. */
export const claimsNote =
  'The claims are as the models made them in the first round. What was said since is not in them.';

export function refinementTitle(number: number): string {
  return `Refinement ${number}`;
}

/** Whether a newer answer differs from this one. */
export function isOutdated({ newer }: Pick<Optimization, 'newer'>): boolean {
  return newer !== null && !newer.same_option;
}

/** The heading of a result; of one that a refinement has changed, with that. */
export function datedHeading(run: Pick<Optimization, 'newer'>, heading: string): string {
  return isOutdated(run) ? `Earlier answer: ${heading}` : heading;
}

type Newer = NonNullable<Optimization['newer']>;

/** Above a result that a refinement has replaced. */
export function newerTitle({ number, same_option: isSame }: Newer): string {
  return isSame
    ? `${refinementTitle(number)} comes to the same answer`
    : `This answer is out of date: ${refinementTitle(number)} changed it`;
}

type Refined = NonNullable<Optimization['refines']>;

/** A fact with its label. */
type Labelled = { label: string; text: string };

/** What the models were given. */
export function givenFacts(
  view: RunView,
  { about, text, claim_id: claim, given_before: before, decision_before: decision }: Refined,
): Labelled[] {
  const given = {
    instruction: 'The instruction',
    fact: 'The changed fact',
    contested: 'Given',
  }[about];
  return [
    {
      label: given,
      text:
        text === null
          ? 'Nothing new. The models voted again on what they contested.'
          : shownText(text),
    },
    ...(claim === null ? [] : [{ label: `About ${claim}`, text: claimText(view, claim) }]),
    ...before.map((earlier) => ({ label: 'Given before', text: shownText(earlier) })),
    ...(decision === null
      ? []
      : [
          {
            label: 'The result before',
            text: [view.before?.heading, decision].filter(Boolean).join(': '),
          },
        ]),
  ];
}

/** A reader of a share link gets an empty text where its owner does not show it. */
function shownText(text: string): string {
  return text === '' ? 'Not shared' : text;
}

// ── who changed their vote ──────────────────────────────────────────────────────────────────────

/** How the vote on the decision stood before a refinement, how it stands now, and who changed. */
export function changedVotes(view: RunView): Labelled[] {
  const seats = view.seats.map(({ seat }) => seat);
  const [first, now] = [choices(view, beforeOf), choices(view, ballotOf)];
  const moved = seats.filter((seat) => first[seat] !== now[seat]);
  const silent = seats.filter((seat) => now[seat] && !isVotedAgain(view, seat, 'decision'));
  return [
    ...(moved.length === 0
      ? [{ label: 'Votes', text: `${tally(view, now)}, as before. No model changed its vote.` }]
      : [
          { label: 'Votes before', text: `${tally(view, first)}.` },
          { label: 'Votes now', text: `${tally(view, now)}.` },
          ...moves(moved, (seat) => `${first[seat] ?? ''} ${now[seat] ?? ''}`).map((by) => ({
            label: 'Changed',
            text: `${seatNames(view.seats, by)}, ${fromTo(view, first[by[0]!], now[by[0]!])}.`,
          })),
        ]),
    ...(silent.length === 0
      ? []
      : [
          {
            label: 'No second vote',
            text: `${seatNames(view.seats, silent)}. ${silent.length === 1 ? 'Its earlier vote still counts' : 'Their earlier votes still count'}.`,
          },
        ]),
  ];
}

/** Who changed their vote on the decision, in sentences. */
export function changedDecisionWords(view: RunView): string {
  const [first, now] = [choices(view, beforeOf), choices(view, ballotOf)];
  const moved = view.seats.map(({ seat }) => seat).filter((seat) => first[seat] !== now[seat]);
  if (moved.length === 0) return 'No model changed its vote on the decision.';
  return moves(moved, (seat) => `${first[seat] ?? ''} ${now[seat] ?? ''}`)
    .map(
      (by) =>
        `${seatNames(view.seats, by)} changed ${its(by)} vote on the decision, ${fromTo(view, first[by[0]!], now[by[0]!])}.`,
    )
    .join(' ');
}

/** The claims on which models changed their vote, of those that were voted on again. */
export function changedClaims(view: RunView): { id: string; text: string }[] {
  return (view.refines?.claims ?? []).flatMap((id) => {
    const first = stances(view, beforeOf, id);
    const now = stances(view, ballotOf, id);
    const moved = view.seats.filter(({ seat }) => first[seat] !== now[seat]);
    if (moved.length === 0) return [];
    const who =
      moved.length > 1 && moved.length === view.seats.length
        ? `all ${moved.length} models`
        : seatNames(
            view.seats,
            moved.map(({ seat }) => seat),
          );
    return [
      {
        id,
        text: `${claimText(view, id)} Before: ${tallyOf(first)}. Now: ${tallyOf(now)}. Changed: ${who}.`,
      },
    ];
  });
}

/** "Votes changed on 3 of the 10 claims that were voted on again." */
export function changedClaimsWords(view: RunView): string {
  const all = view.refines?.claims.length ?? 0;
  const changed = changedClaims(view).length;
  if (all === 0) return 'No claim was voted on again.';
  const again =
    all === 1 ? 'the claim that was voted on again' : `the ${all} claims that were voted on again`;
  if (changed === 0) return `No vote changed on ${again}.`;
  return `Votes changed on ${all === 1 ? '' : `${changed} of `}${again}.`;
}

type BallotsOf = (view: RunView, seat: string) => Ballot | null;

const beforeOf: BallotsOf = ({ before }, seat) => before?.reviews[seat]?.ballot ?? null;

/** By seat, the option that it votes for. */
function choices(view: RunView, ballots: BallotsOf): Record<string, string | undefined> {
  return Object.fromEntries(
    view.seats.map(({ seat }) => [seat, ballots(view, seat)?.decision.optionId]),
  );
}

/** By seat, its stance on a claim. */
function stances(
  view: RunView,
  ballots: BallotsOf,
  claim: string,
): Record<string, string | undefined> {
  return Object.fromEntries(
    view.seats.map(({ seat }) => [seat, ballots(view, seat)?.votes[claim]?.stance]),
  );
}

function tally(view: RunView, votes: Record<string, string | undefined>): string {
  return listed(
    counts(votes).map(([option, count]) => `${count} for ${quoted(optionText(view, option))}`),
  );
}

/** "5 agree, 1 disagree, 1 unsure". */
function tallyOf(votes: Record<string, string | undefined>): string {
  const all = counts(votes).map(([stance, count]) => `${count} ${stance}`);
  return all.length === 0 ? 'no vote' : all.join(', ');
}

/** Each choice with its number of votes, the most first. */
function counts(votes: Record<string, string | undefined>): [choice: string, count: number][] {
  const given = Object.values(votes).filter((choice) => choice !== undefined);
  const by = Map.groupBy(given, (choice) => choice);
  return [...by]
    .map(([choice, all]) => [choice, all.length] as [string, number])
    .toSorted(([, one], [, other]) => other - one);
}

/** Seats that made the same move, together. */
function moves(seats: readonly string[], moveOf: (seat: string) => string): string[][] {
  return [...Map.groupBy(seats, moveOf).values()];
}

function fromTo(view: RunView, first: string | undefined, now: string | undefined): string {
  const to = `to ${quoted(optionText(view, now ?? ''))}`;
  return first === undefined
    ? `without an earlier vote, ${to}`
    : `from ${quoted(optionText(view, first))} ${to}`;
}

// ── what would change a result ──────────────────────────────────────────────────────────────────

/**
 * What a claim's seats would do if it were false; where they have voted since, what they did. Empty for
 * a claim that an earlier fact was about.
 */
export function changeWords(view: RunView, { id, ...changing }: ChangingClaim): string {
  if (view.refines === null) return changingWords(view.seats, changing);
  const seats = [...changing.seats, ...changing.others];
  if (view.refines.claimId === id) return didWords(view, seats);
  if (differentWords(view, id) !== null) return '';
  const doubting = seats.filter(
    (seat) =>
      isVotedAgain(view, seat, id) && ballotOf(view, seat)?.votes[id]?.stance === 'disagree',
  );
  const said = `${listed(seats)} said in the first round that ${seats.length === 1 ? 'it' : 'they'} would change ${its(seats)} advice if this is wrong.`;
  const { others } = changing;
  const otherwise = others.length === 0 ? [] : [`${listed(others)} voted otherwise.`];
  if (doubting.length === 0) return [said, ...otherwise].join(' ');
  const doubts = `${listed(doubting)} now ${doubting.length === 1 ? 'disagrees' : 'disagree'} with it.`;
  return [said, ...otherwise, doubts, didWords(view, doubting)].join(' ');
}

/** What the person said about a claim; null where nothing. */
export function differentWords(view: RunView, id: string): string | null {
  const corrected = correctedOf(view).find((one) => one.id === id);
  if (corrected === undefined) return null;
  const { fact } = corrected;
  return fact === '' ? differentMark(view) : `${differentMark(view)}: “${fact}”`;
}

/** Beside the id of such a claim, where a text cites it. */
export function differentMark({ shared }: Pick<RunView, 'shared'>): string {
  return shared ? 'Corrected since' : 'You said this is different';
}

export function isDifferent(view: RunView, id: string): boolean {
  return correctedOf(view).some((one) => one.id === id);
}

/** Of a claim on which no model voted again in this refinement: how old its votes are. */
export function olderVotesWords(view: RunView, id: string): string | null {
  const { refines } = view;
  if (refines === null || view.seats.some(({ seat }) => isVotedAgain(view, seat, id))) return null;
  return `The votes on this are from before ${refinementTitle(refines.number)}.`;
}

/** Who changed the option that it votes for. */
function didWords(view: RunView, seats: readonly string[]): string {
  const [first, now] = [choices(view, beforeOf), choices(view, ballotOf)];
  const again = seats.filter((seat) => isVotedAgain(view, seat, 'decision'));
  const silent = seats.filter((seat) => !again.includes(seat));
  return [
    { did: 'changed', by: again.filter((seat) => first[seat] !== now[seat]) },
    { did: 'kept', by: again.filter((seat) => first[seat] === now[seat]) },
    { did: 'did not repeat', by: silent },
  ]
    .filter(({ by }) => by.length > 0)
    .map(({ did, by }) => `${listed(by)} ${did} ${its(by)} vote on the decision.`)
    .join(' ');
}

const its = (seats: readonly string[]): string => (seats.length === 1 ? 'its' : 'their');
