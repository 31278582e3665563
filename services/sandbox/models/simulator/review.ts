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
    votes: claims.map(({ id, claim }) => ({ claim_id: id, ...voteOn(plan, seat, id, claim) })),
    decision_vote: {
      option_id: decision?.id ?? '',
      answer_label: best?.label ?? '',
      reason: decision?.label === seat.votes.label ? reasonForOption(plan, seat) : '',
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

/** A seat that finds no objection left of its own is unsure, unless the camps are forced. */
function voteOn(
  plan: Plan,
  seat: PlannedSeat,
  id: string,
  claim: CaseClaim | null,
): { stance: Stance; confidence: number; reason: string } {
  const about = claim?.id ?? id;
  const sure = Math.round(58 + plan.fraction(`sure ${seat.code} ${about}`) * 36);
  const drawn = plan.seats.map((one) => ({ one, stance: stanceOn(plan, one, about, claim) }));
  const against = drawn.filter(({ stance }) => stance === 'disagree').map(({ one }) => one);
  const own = drawn.find(({ one }) => one === seat)?.stance ?? 'unsure';
  if (own === 'agree') return { stance: own, confidence: sure, reason: '' };
  const objection = claim?.disagree[against.indexOf(seat)];
  if (own === 'disagree' && (plan.forced || objection !== undefined))
    return { stance: own, confidence: sure, reason: objection ?? '' };
  const open = drawn.filter(({ one, stance }) => stance === 'unsure' || isSpeechless(one));
  const isFirst = open[0]?.one === seat;
  return {
    stance: 'unsure',
    confidence: Math.round(sure * 0.6),
    reason: isFirst ? (claim?.unsure ?? '') : '',
  };

  function isSpeechless(one: PlannedSeat): boolean {
    return against.includes(one) && claim?.disagree[against.indexOf(one)] === undefined;
  }
}

function stanceOn(plan: Plan, seat: PlannedSeat, about: string, claim: CaseClaim | null): Stance {
  if (!plan.forced) return drawnStance(seat, claim, plan.fraction(`vote ${seat.code} ${about}`));
  const owner = plan.camps.find((option) => claim === null || supports(claim, option));
  return (owner ?? plan.camps[0]) === seat.votes ? 'agree' : 'disagree';
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

/** Each reason for the option once: of the voter's role first, then what other roles leave. */
function reasonForOption({ seats }: Plan, seat: PlannedSeat): string {
  const { closings } = seat.votes;
  const voters = seats.filter(({ votes }) => votes === seat.votes);
  const turnOf = ({ role, code }: PlannedSeat) =>
    voters.filter((one) => one.role === role).findIndex((one) => one.code === code);
  const own = closings[seat.role][turnOf(seat)];
  if (own !== undefined) return own;
  const said = new Set(voters.map((one) => closings[one.role][turnOf(one)]));
  const left = Object.values(closings)
    .flat()
    .filter((text) => !said.has(text));
  const without = voters.filter((one) => closings[one.role][turnOf(one)] === undefined);
  return left[without.findIndex(({ code }) => code === seat.code)] ?? '';
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
