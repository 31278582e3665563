import { representative, votedOption } from '#services/optimizations/run/events.ts';
import type { Flaw, Repair, Scores } from '#services/optimizations/run/events.ts';
import { ranksOf } from '#services/optimizations/council/ranking.ts';
import type { OpenRun } from '#services/optimizations/reading/read-run.ts';
import { fewestReviewers } from '#services/optimizations/council/verdict.ts';
import {
  claimText,
  flawTexts,
  opinionOf,
  optionText,
  quoteOf,
  reasonOf,
  votedForSince,
} from '#services/optimizations/reading/texts.ts';
import { ballotOf, correctedOf, notesOf } from '#services/optimizations/reading/view.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { draftSlot, verifySlot } from '#services/optimizations/run/slots.ts';
import { labelsFor } from '#services/platform/seeded.ts';
import { checkDraft } from './draft.ts';
import type { DraftSources, WrittenDraft } from './draft.ts';
import { givenTo } from './second-vote.ts';
import { checked, seedOf, TextErased } from './prepared-call.ts';
import type { CheckedCall, PreparedCall } from './prepared-call.ts';
import {
  draftAsText,
  draftPrompt,
  expectedReplyCharacters,
  verificationPrompt,
} from './prompts.ts';
import type { Challenge, DraftBrief, LabelledAnswer, VotedDecision } from './prompts.ts';
import { checkVerification } from './reply-checks.ts';
import { parseReply } from './reply-schemas.ts';
import type { Draft } from './reply-schemas.ts';

/** The calls that write the recommendation, and that compare it with the consensus. */
export function draftCall(
  run: OpenRun,
  asked: Challenge,
  round: number,
  delimiter: string,
): PreparedCall {
  const scores = scoresOf(run);
  const sources = draftSources(run, asked, scores);
  const lastDraft = run.view.calls[draftSlot(round - 1)]?.draft ?? null;
  const brief: DraftBrief = {
    decision: { optionId: sources.optionId, heading: writtenHeading(scores) },
    flaws: standingFlaws(run.view, scores).map((flaw) => ({
      id: flaw.id,
      texts: flawTexts(run.view, flaw).map(({ text }) => text),
    })),
    critiques: lowestCritiques(run.view, scores),
    reasons: disputedClaims(scores).flatMap((claimId) => reasonsAgainst(run.view, scores, claimId)),
    claims: Object.entries(scores.claims).map(([id, votes]) => ({
      id,
      text: claimText(run.view, id),
      importance: run.view.ledger?.claims[id]?.importance ?? 1,
      agree: votes.agree.length,
      disagree: votes.disagree.length,
      unsure: votes.unsure.length,
    })),
    options: Object.keys(run.view.ledger?.options ?? {}).map((id) => ({
      id,
      text: optionText(run.view, id),
      votes: scores.decision.votes[id]?.length ?? 0,
    })),
    topAnswers: topAnswers(run, scores, round),
    consensusIds: sources.consensusIds,
    disagreements: disputedClaims(scores).map((claimId) => ({
      claimId,
      ...argumentsOf(run, scores, claimId),
    })),
    minority: minorityBrief(run, scores),
    ...(run.view.refines === null
      ? {}
      : {
          refines: {
            given: givenTo(run.view),
            decision: run.view.before?.decision ?? null,
            corrected: correctedOf(run.view),
          },
        }),
    complaints: lastDraft === null ? [] : complaintsAbout(run, lastDraft, sources, round - 1),
    lastDraft,
  };
  return {
    request: draftPrompt(asked, brief, { delimiter }),
    expectedCharacters: expectedReplyCharacters.draft,
    check: (reply) =>
      checked(parseReply('draft', reply), (draft, repaired) =>
        checkedDraft(run, draft, repaired, sources),
      ),
  };
}

/** What becomes of a draft that has parsed. */
export function checkedDraft(
  run: OpenRun,
  draft: Draft,
  repaired: readonly Repair[],
  sources: DraftSources,
): CheckedCall {
  const found = checkDraft(draft, sources);
  return {
    outcome: {
      kind: 'draft',
      // Another id is the writer's own text, which no event may hold in clear.
      optionId: Object.hasOwn(run.view.ledger?.options ?? {}, draft.option_id)
        ? draft.option_id
        : '',
      checks: {
        consensusCoverage: rounded(found.consensusCoverage),
        disagreementCoverage: rounded(found.disagreementCoverage),
        uncitedShare: rounded(found.uncitedShare),
        unknownNumbers: found.unknownNumbers.length,
        passed: found.passed,
        failed: found.failed,
      },
    },
    repaired,
    texts: { reply: JSON.stringify(draft) },
  };
}

export function verifyCall(run: OpenRun, round: number, delimiter: string): PreparedCall {
  const draft = run.view.calls[draftSlot(round)]?.draft;
  if (!draft) throw new TextErased('There is no draft to verify');
  const corrected = correctedOf(run.view);
  const consensus = standingConsensus(run.view, scoresOf(run)).map((id) => ({
    id,
    text: claimText(run.view, id),
  }));
  return {
    request: verificationPrompt(draft, consensus, { delimiter, files: run.view.files, corrected }),
    expectedCharacters: expectedReplyCharacters.verification,
    check: (reply) =>
      checked(parseReply('verification', reply), (verification, repaired) => ({
        outcome: {
          kind: 'verify',
          ...checkVerification(
            verification,
            [...consensus, ...corrected].map(({ id }) => id),
            draftAsText(draft),
          ),
        },
        repaired,
        texts: { reply: JSON.stringify(verification) },
      })),
  };
}

function writtenHeading({ verdict }: Scores): VotedDecision['heading'] {
  const heading = verdict?.heading ?? 'recommendation';
  // Without a ledger there is nothing to write, so no call is made.
  return heading === 'best_single_answer' ? 'recommendation' : heading;
}

function draftSources(run: OpenRun, asked: Challenge, scores: Scores): DraftSources {
  const { view } = run;
  const claimIds = Object.keys(view.ledger?.claims ?? {});
  const minority = scores.minority?.seat;
  return {
    claimIds,
    optionId: votedOption(scores) ?? '',
    flawIds: standingFlaws(view, scores).map(({ id }) => id),
    consensusIds: standingConsensus(view, scores),
    disagreementIds: disputedClaims(scores),
    minorityIds: disputedClaims(scores).filter(
      (id) =>
        minority !== undefined && view.ledger?.claims[id]?.authors.includes(minority) === true,
    ),
    refines: view.refines !== null,
    question: [
      asked.challenge,
      asked.context,
      ...asked.objectives,
      ...asked.constraints,
      ...givenTo(view),
    ],
    corpus: [
      ...view.files.map(({ text }) => text),
      ...claimIds.map((id) => claimText(view, id)),
      ...Object.keys(view.ledger?.options ?? {}).map((id) => optionText(view, id)),
      ...Object.values(run.shown),
      view.before?.decision ?? '',
      // The writer answers these, so it may name their numbers.
      ...standingFlaws(view, scores).flatMap((flaw) =>
        flawTexts(view, flaw).map(({ text }) => text),
      ),
      ...disputedClaims(scores).flatMap((id) =>
        reasonsAgainst(view, scores, id).map(({ text }) => text),
      ),
      ...lowestCritiques(view, scores),
    ],
  };
}

/** The flaws that a recommendation has to answer: enough of their reviewers have not changed sides. */
function standingFlaws(view: RunView, { flaws = [] }: Pick<Scores, 'flaws'>): Flaw[] {
  return flaws.filter(
    (flaw) => flaw.reviewers.length - votedForSince(view, flaw).length >= fewestReviewers,
  );
}

function complaintsAbout(
  run: OpenRun,
  draft: WrittenDraft,
  sources: DraftSources,
  round: number,
): readonly string[] {
  const contradicted = [1, 2].flatMap((verifier) => {
    const outcome = run.view.calls[verifySlot(round, verifier)]?.outcome;
    return outcome?.kind === 'verify' && outcome.contradicts ? outcome.claimIds : [];
  });
  const corrected = correctedOf(run.view).map(({ id }) => id);
  const named = [...new Set(contradicted)].map((id) =>
    corrected.includes(id) ? `the fact in place of ${id}` : id,
  );
  return [
    ...checkDraft(draft, sources).complaints,
    ...(contradicted.length === 0
      ? []
      : [`Two readers compared it with the consensus; it contradicts ${named.join(', ')}.`]),
  ];
}

function topAnswers(run: OpenRun, scores: Scores, round: number): LabelledAnswer[] {
  const best = scores.order.slice(0, 3);
  const labels = labelsFor(seedOf(run), `draft:${round}`, best);
  return best.map((seat) => ({ label: labels[seat] ?? '', text: run.shown[seat] ?? '' }));
}

/** What the panel agrees on; a fact that the person gave has replaced the others. */
function standingConsensus(view: RunView, { consensus }: Pick<Scores, 'consensus'>): string[] {
  const corrected = correctedOf(view).map(({ id }) => id);
  return consensus.filter((id) => !corrected.includes(id));
}

function disputedClaims(scores: Scores): string[] {
  return scores.disagreements.map((area) => area.about).filter((about) => about !== 'decision');
}

function argumentsOf(
  run: OpenRun,
  scores: Scores,
  about: string,
): { for: string; against: string } {
  const votes = scores.claims[about];
  const words = (stance: 'agree' | 'disagree') =>
    quoteOf(run.view, scores, about, { stance, seats: votes?.[stance] ?? [] })?.text ??
    'no reason given';
  return { for: words('agree'), against: words('disagree') };
}

function reasonsAgainst(view: RunView, scores: Scores, claimId: string) {
  return (scores.claims[claimId]?.disagree ?? []).flatMap((seat) => {
    const text = reasonOf(view, seat, claimId);
    return text === null ? [] : [{ claimId, text }];
  });
}

/** What the two reviewers who placed the best answer lowest wrote. */
function lowestCritiques(view: RunView, scores: Scores): string[] {
  const best = representative(scores);
  if (best === null) return [];
  const placed = view.seats.flatMap(({ seat }) => {
    const ballot = ballotOf(view, seat);
    const place =
      ballot === null ? undefined : ranksOf({ reviewer: seat, ballot }, scores.order).get(best);
    const critique = notesOf(view, seat)?.critique ?? '';
    return place === undefined || place === 0 || critique === '' ? [] : [{ place, critique }];
  });
  return placed
    .toSorted((one, other) => other.place - one.place)
    .slice(0, 2)
    .map(({ critique }) => critique);
}

function minorityBrief(run: OpenRun, scores: Scores): DraftBrief['minority'] {
  if (!scores.minority) return null;
  const { seat, optionId } = scores.minority;
  return {
    text: run.shown[seat] ?? opinionOf(run.view, seat)?.recommendation.one_line ?? '',
    optionId,
    claimIds: disputedClaims(scores).filter((id) =>
      run.view.ledger?.claims[id]?.authors.includes(seat),
    ),
  };
}

function scoresOf(run: OpenRun): Scores {
  if (!run.view.scores) throw new RangeError('No synthesis before the scores are computed');
  return run.view.scores;
}

function rounded(share: number): number {
  return Math.round(share * 10_000) / 10_000;
}
