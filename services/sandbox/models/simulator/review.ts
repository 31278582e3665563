import { seededInteger } from '#services/platform/seeded.ts';
import { claimStated, optionsOf } from '#services/sandbox/models/cases.ts';
import type { CaseClaim, CaseOption } from '#services/sandbox/models/cases.ts';
import { recommendationIn } from './material.ts';
import type { Material } from './material.ts';
import { supports } from './plan.ts';
import type { PlannedSeat, Plan } from './plan.ts';

export type Stance = 'agree' | 'disagree' | 'unsure';
type Marks = Record<(typeof criteria)[number], number>;

/** A reviewer's reply, in the shape of `review`. */
export type ReviewReply = {
  ranking: string[][];
  scores: ({ answer_label: string } & Marks)[];
  fatal_flaws: { answer_label: string; text: string }[];
  critique: string;
  votes: { claim_id: string; stance: Stance; confidence: number; reason: string }[];
  decision_vote: { option_id: string; answer_label: string; reason: string };
  injection_suspected: string[];
};

const criteria = [
  'correctness',
  'relevance',
  'completeness',
  'feasibility',
  'risk_awareness',
] as const;

type Judged = {
  label: string;
  option: CaseOption | null;
  /** To all reviewers alike, and to this one. */
  quality: number;
  merit: number;
  injected: boolean;
};

/** One seat's view of the others. Labels only name what it speaks of; their order changes nothing. */
export function writeReview(plan: Plan, seat: PlannedSeat, material: Material): ReviewReply {
  const judged = material.answers
    .map((answer) => judge(plan, seat, answer))
    .toSorted((one, other) => other.merit - one.merit);
  const ranking = judged.map(({ label }) => [label]);
  const claims = material.rows('claims').map(([id = '', ...text]) => ({
    id,
    claim: claimStated(plan.prepared, text.join(' | ')),
  }));
  const listed = material
    .rows('options')
    .map(([id = '', ...text]) => ({ id, label: text.join(' | ') }));
  const decision =
    listed.find(({ label }) => label === seat.votes.label) ??
    listed.find(({ label }) => label === seat.recommends.label) ??
    listed[0];
  const best = judged.find(({ option }) => option?.label === decision?.label);
  return {
    ranking,
    scores: scores(plan, seat, judged),
    fatal_flaws: fatalFlaws(plan, seat, judged, claims),
    critique: critique(plan, seat, judged[0]?.option ?? null),
    votes: claims.map(({ id, claim }) => {
      const vote = voteOn(plan, seat, id, claim);
      return { claim_id: id, ...vote, reason: reasonOf(plan, seat, id, claim, vote.stance) };
    }),
    decision_vote: {
      option_id: decision?.id ?? '',
      answer_label: best?.label ?? '',
      reason: decision?.label === seat.votes.label ? reasonForOption(plan, seat, claims) : '',
    },
    injection_suspected: judged.filter(({ injected }) => injected).map(({ label }) => label),
  };
}

const speaksToReviewers =
  /\b(?:note|message|instructions?) (?:to|for) (?:the |all )?reviewers?\b|\bignore (?:all |your |any )*(?:previous|prior|earlier)\b|\brank this answer\b/i;

/** An answer for the reviewer's own option comes before any other. */
function judge(plan: Plan, seat: PlannedSeat, answer: { label: string; text: string }): Judged {
  const { label, text } = answer;
  const recommended = recommendationIn(text);
  const option = optionsOf(plan.prepared).find((each) => each.label === recommended) ?? null;
  const injected = speaksToReviewers.test(text);
  const drawn = (by: string) => seededInteger(`${by}|${text}`, 'merit', 1_000_000) / 1_000_000;
  const quality = drawn(plan.prepared.case);
  const shared = { label, option, quality, injected };
  // Forced camps read the same order, one from the front and the others from the back.
  if (plan.forced) return { ...shared, merit: seat.votes === plan.camps[0] ? quality : -quality };
  const merit = quality * 0.6 + drawn(seat.code) * 0.4 + (option === seat.votes ? 1 : 0);
  return { ...shared, merit: merit - (injected ? 2 : 0) };
}

// Falls by rank; what one criterion gains another loses, so that the means keep the order.
function scores(
  plan: Plan,
  { code }: PlannedSeat,
  judged: readonly Judged[],
): ReviewReply['scores'] {
  const leniency = plan.fraction(`leniency ${code}`) * 1.6 - 0.8;
  const drop = 3.4 / Math.max(1, judged.length - 1);
  return judged.map(({ label }, rank) => {
    const level = Math.round(Math.min(9, Math.max(2, 8.3 + leniency - rank * drop)));
    const up = Math.floor(plan.fraction(`up ${code} ${rank}`) * criteria.length);
    const down = Math.floor(plan.fraction(`down ${code} ${rank}`) * criteria.length);
    const marks = criteria.map(
      (name, index) => [name, level + Number(index === up) - Number(index === down)] as const,
    );
    return { answer_label: label, ...(Object.fromEntries(marks) as Marks) };
  });
}

function voteOn(
  plan: Plan,
  seat: PlannedSeat,
  id: string,
  claim: CaseClaim | null,
): { stance: Stance; confidence: number } {
  const about = `${seat.code} ${claim?.id ?? id}`;
  const sure = Math.round(58 + plan.fraction(`sure ${about}`) * 36);
  if (plan.forced) {
    const owner = plan.camps.find((option) => claim === null || supports(claim, option));
    return {
      stance: (owner ?? plan.camps[0]) === seat.votes ? 'agree' : 'disagree',
      confidence: sure,
    };
  }
  const stance = drawnStance(seat, claim, plan.fraction(`vote ${about}`));
  return { stance, confidence: stance === 'unsure' ? Math.round(sure * 0.6) : sure };
}

/** A seat disagrees where a claim weakens its option; seldom elsewhere, as a sceptic. */
function drawnStance(seat: PlannedSeat, claim: CaseClaim | null, drawn: number): Stance {
  if (claim !== null && seat.votes === seat.recommends && seat.claims.includes(claim))
    return 'agree';
  if (claim?.supports.includes(seat.votes.id)) return drawn < 0.95 ? 'agree' : 'unsure';
  if (claim?.weakens.includes(seat.votes.id)) {
    if (drawn < 0.7) return 'disagree';
    return drawn < 0.85 ? 'unsure' : 'agree';
  }
  if (drawn < 0.86) return 'agree';
  return drawn < 0.94 ? 'unsure' : 'disagree';
}

/** Each sentence of the case against a claim once: those who disagree take them in turn. */
function reasonOf(
  plan: Plan,
  seat: PlannedSeat,
  id: string,
  claim: CaseClaim | null,
  stance: Stance,
): string {
  if (claim === null || stance === 'agree') return '';
  if (stance === 'unsure') return claim.unsure;
  const against = plan.seats.filter((one) => voteOn(plan, one, id, claim).stance === 'disagree');
  return claim.disagree[against.indexOf(seat)] ?? '';
}

/** What a claim for this option alone means to the role; without one what the option says in a line. */
function reasonForOption(
  { seats }: Plan,
  { role, votes, code }: PlannedSeat,
  claims: readonly { claim: CaseClaim | null }[],
): string {
  const voters = seats.filter((one) => one.votes === votes);
  const turn = voters.findIndex((one) => one.code === code);
  const said = claims
    .flatMap(({ claim }) => (claim === null || votes.id === 'undecidable' ? [] : [claim]))
    .filter(({ supports: [only, ...others] }) => only === votes.id && others.length === 0)
    .map(({ says }) => says[role])
    .filter(isShort);
  const lines = votes.one_lines[role].filter(isShort);
  const all = said.length > 0 ? said : lines;
  return all[turn % Math.max(1, all.length)] ?? '';
}

/** A reason has at most 25 words. */
export function isShort(text: string): boolean {
  return text.split(/\s+/).length <= 25;
}

function fatalFlaws(
  plan: Plan,
  seat: PlannedSeat,
  judged: readonly Judged[],
  claims: readonly { claim: CaseClaim | null }[],
): ReviewReply['fatal_flaws'] {
  const target = flawedBy(plan, seat);
  if (target === null) return [];
  // Reviewers who see a flaw in an option see it in the same answer.
  const [answer] = judged
    .filter(({ option }) => option === target)
    .toSorted((one, other) => other.quality - one.quality);
  const listed = new Set(claims.map(({ claim }) => claim?.id));
  const { text, claim_ids } = target.fatal_flaw;
  return answer !== undefined && claim_ids.every((id) => listed.has(id))
    ? [{ answer_label: answer.label, text }]
    : [];
}

/** The option whose fatal flaw a seat names, if it names any: the winner's, or the next one's. */
function flawedBy({ camps, fraction }: Plan, { code, votes }: PlannedSeat): CaseOption | null {
  const [winner, rival] = camps;
  const target = votes === winner ? rival : winner;
  const share = votes === winner ? 0.12 : 0.5;
  return target !== undefined && fraction(`flaw ${code}`) < share ? target : null;
}

/** Each critique of an option once: its voters take them in turn, then the others. */
function critique(plan: Plan, seat: PlannedSeat, first: CaseOption | null): string {
  if (first === null) return '';
  const voters = plan.seats.filter(({ votes }) => votes === first);
  const others = plan.seats.filter(({ votes }) => votes !== first);
  return first.critiques[[...voters, ...others].indexOf(seat)] ?? '';
}
