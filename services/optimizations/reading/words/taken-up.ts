import { claimText, optionText } from '#services/optimizations/reading/texts.ts';
import { ballotOf, isVotedAgain } from '#services/optimizations/reading/view.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { counted } from '#services/platform/numbers.ts';
import { quoted, seatName } from './names.ts';
import { changedClaimsWords, changedDecisionWords } from './refinement.ts';

/** What the models did with what a refinement gave them: from their votes and reasons alone. */

/** A reason of a second vote, with whose it is and what it is about. */
export type TakenUp = { seat: string; about: string; label: string; text: string };

/** New reasons that go with a changed vote, or that use words which only the new text has. */
export function takenUp(view: RunView): TakenUp[] {
  const words = newWords(view);
  const least = Math.min(2, words.size);
  return ['decision', ...(view.refines?.claims ?? [])].flatMap((about) =>
    view.seats.flatMap(({ seat }) => {
      const [first, now] = [voteBefore(view, seat, about), voteNow(view, seat, about)];
      const text = now?.reason ?? '';
      if (!isVotedAgain(view, seat, about) || text === '' || text === first?.reason) return [];
      const used = [...wordsOf(text)].filter((word) => words.has(word)).length;
      const isMoved = first?.choice !== now?.choice;
      if (!isMoved && (least === 0 || used < least)) return [];
      return [{ seat, about, label: labelOf(view, seat, about, now?.choice ?? ''), text }];
    }),
  );
}

/** "2 reasons go with a changed vote or use words from the changed fact."; null when nothing can be said. */
export function takenUpWords(view: RunView): string | null {
  const count = takenUp(view).length;
  const hasNew = newWords(view).size > 0;
  const what = view.refines?.about === 'instruction' ? 'the instruction' : 'the changed fact';
  if (count === 0) return hasNew ? `No reason in the second vote uses words from ${what}.` : null;
  const [goes, uses] = count === 1 ? ['goes', 'uses'] : ['go', 'use'];
  const moved = `${counted(count, 'reason')} ${goes} with a changed vote`;
  return hasNew ? `${moved} or ${uses} words from ${what}.` : `${moved}.`;
}

/** What was given and what came of it, in a few sentences; null before the votes are counted. */
export function takenUpSummary(view: RunView): string | null {
  if (view.refines === null || view.scores === null) return null;
  const { text } = view.refines;
  return [
    text === null ? null : `You gave ${quoted(text)}.`,
    changedDecisionWords(view),
    changedClaimsWords(view),
    takenUpWords(view),
  ]
    .filter((sentence) => sentence !== null)
    .join(' ');
}

type Choice = { choice: string; reason: string | null };

const voteNow = (view: RunView, seat: string, about: string): Choice | null =>
  choiceOf(ballotOf(view, seat), about);

const voteBefore = (view: RunView, seat: string, about: string): Choice | null =>
  choiceOf(view.before?.reviews[seat]?.ballot ?? null, about);

function choiceOf(ballot: ReturnType<typeof ballotOf>, about: string): Choice | null {
  if (ballot === null) return null;
  const { decision, votes } = ballot;
  const { reason = null } = about === 'decision' ? decision : (votes[about] ?? {});
  const choice = about === 'decision' ? decision.optionId : votes[about]?.stance;
  return choice === undefined ? null : { choice, reason };
}

function labelOf(view: RunView, seat: string, about: string, choice: string): string {
  const name = seatName(view.seats, seat);
  return about === 'decision'
    ? `${name}, for ${quoted(optionText(view, choice))}`
    : `${name}, ${choice} on ${about}, ${quoted(claimText(view, about))}`;
}

/** Figures and words of at least four letters that the question does not have. */
function newWords({ refines, challenge, context, objectives, constraints }: RunView): Set<string> {
  const asked = wordsOf([challenge, context, ...objectives, ...constraints].join(' '));
  return new Set([...wordsOf(refines?.text ?? '')].filter((word) => !asked.has(word)));
}

function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/\p{N}+(?:[.,]\p{N}+)*|\p{L}{4,}/gu));
}
