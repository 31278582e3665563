import { drawsFor } from './words/draws.ts';
import type { Draws } from './words/draws.ts';
import { comparable, optionIndexOf, pointOf } from './plan.ts';
import type { Plan, Point } from './plan.ts';
import { linesUnder, recommendationIn } from './reading.ts';
import type { Material } from './reading.ts';
import { blames, praises } from './bank/voices.ts';
import type { Place } from './roster.ts';
import { optionOfSlot, partOf } from './seat.ts';
import { fill } from './words/wording.ts';

/** A reviewer's reply, in the shape of `review`. */
export type ReviewReply = {
  ranking: string[][];
  scores: {
    answer_label: string;
    correctness: number;
    relevance: number;
    completeness: number;
    feasibility: number;
    risk_awareness: number;
  }[];
  fatal_flaws: { answer_label: string; text: string }[];
  critique: string;
  votes: { claim_id: string; stance: Stance; confidence: number }[];
  decision_vote: { option_id: string; answer_label: string };
  injection_suspected: string[];
};

type Stance = 'agree' | 'disagree' | 'unsure';
type Judged = { label: string; text: string; option: number; merit: number; injected: boolean };

/**
 * One seat's view of the others. It judges by content and by its camp; labels only name what it
 * speaks of, and the order shown makes no difference.
 */
export function writeReview(
  plan: Plan,
  material: Material,
  place: Place,
  model: string,
): ReviewReply {
  const draws = drawsFor(model, plan.options.map((option) => option.label).join('|'), 'review');
  const stand = standOf(plan, place, draws);
  const judged = material.answers
    .map((answer) => judge(plan, answer, place, stand, draws))
    .toSorted((one, other) => other.merit - one.merit || one.text.localeCompare(other.text, 'en'));
  const ranking = rankGroups(judged, plan.camps.forced);
  const options = listed(material, 'options');
  const optionId = chosenOption(plan, options, stand);
  return {
    ranking,
    scores: scores(ranking, draws),
    fatal_flaws: fatalFlaws(plan, judged, stand, draws),
    critique: critique(plan, judged, place.voice, draws),
    votes: listed(material, 'claims').map(({ id, text }) => ({
      claim_id: id,
      ...vote(plan, text, place, stand, draws),
    })),
    decision_vote: { option_id: optionId, answer_label: bestFor(plan, judged, options, optionId) },
    injection_suspected: judged.filter(({ injected }) => injected).map(({ label }) => label),
  };
}

/** Which option the seat stands for after reading: now and then one is persuaded by the majority. */
function standOf(plan: Plan, place: Place, draws: Draws): number {
  const own = optionOfSlot(plan, place.slot);
  return !plan.camps.forced && own > 0 && draws.fraction('persuaded') < 0.12 ? 0 : own;
}

function judge(
  plan: Plan,
  answer: { label: string; text: string },
  place: Place,
  stand: number,
  draws: Draws,
): Judged {
  const option = optionIndexOf(plan, recommendationIn(answer.text));
  const injected = speaksToReviewers.test(answer.text);
  const content = comparable(linesUnder(answer.text, 'Claims').join(' ') || answer.text);
  const quality = plan.draws.fraction(`quality ${content}`);
  const shared = { label: answer.label, text: answer.text, option, injected };
  // Forced camps read the same order, one from the front and the other from the back.
  if (plan.camps.forced)
    return { ...shared, merit: optionOfSlot(plan, place.slot) === 0 ? quality : -quality };
  const affinity = option === stand ? 0.3 : 0;
  const taste = draws.fraction(`taste ${content}`) * 0.45;
  return { ...shared, merit: quality * 0.75 + affinity + taste - (injected ? 1 : 0) };
}

const speaksToReviewers =
  /\b(?:note|message|instructions?) (?:to|for) (?:the |all )?reviewers?\b|\bignore (?:all |your |any )*(?:previous|prior|earlier)\b|\brank this answer\b/i;

function rankGroups(judged: readonly Judged[], forced: boolean): string[][] {
  const groups: { labels: string[]; merit: number }[] = [];
  for (const { label, merit } of judged) {
    const last = groups.at(-1);
    if (last !== undefined && !forced && last.merit - merit < tieWithin) last.labels.push(label);
    else groups.push({ labels: [label], merit });
  }
  return groups.map(({ labels }) => labels);
}

const tieWithin = 0.012;

// Falls by rank; the jitter takes from one criterion what it gives to another, so means keep order.
function scores(ranking: readonly (readonly string[])[], draws: Draws): ReviewReply['scores'] {
  const leniency = draws.fraction('leniency') * 1.6 - 0.8;
  const drop = 3.4 / Math.max(1, ranking.length - 1);
  return ranking.flatMap((group, rank) =>
    group.map((label) => {
      const level = Math.round(Math.min(9, Math.max(2, 8.3 + leniency - rank * drop)));
      const marks = [level, level, level, level, level] as [number, number, number, number, number];
      const up = draws.below(`up ${rank}`, 5);
      const down = draws.below(`down ${rank}`, 5);
      if (up !== down) {
        marks[up] = (marks[up] ?? level) + 1;
        marks[down] = (marks[down] ?? level) - 1;
      }
      const [correctness, relevance, completeness, feasibility, risk_awareness] = marks;
      return {
        answer_label: label,
        correctness,
        relevance,
        completeness,
        feasibility,
        risk_awareness,
      };
    }),
  );
}

function vote(
  plan: Plan,
  text: string,
  place: Place,
  stand: number,
  draws: Draws,
): { stance: Stance; confidence: number } {
  const point = pointOf(plan, text);
  const drawn = draws.fraction(`vote ${comparable(text)}`);
  const confidence = Math.round(58 + draws.fraction(`sure ${comparable(text)}`) * 36);
  if (plan.camps.forced)
    return {
      stance: ownerOf(plan, point) === optionOfSlot(plan, place.slot) ? 'agree' : 'disagree',
      confidence,
    };
  const own = partOf(plan, place).claims.some((claim) => claim.point === point);
  const stance = own ? 'agree' : stanceBy(agreeableness(plan, point, text, stand), drawn);
  return { stance, confidence: stance === 'unsure' ? Math.round(confidence * 0.6) : confidence };
}

/** The camp whose claim it is: claims that nobody disputes by nature belong to the majority. */
function ownerOf(plan: Plan, point: Point | undefined): number {
  if (point?.kind === 'pro') return point.option;
  if (point?.kind === 'con') return point.option === 0 ? minorityOf(plan) : 0;
  return 0;
}

function minorityOf(plan: Plan): number {
  return plan.camps.ofSlot.find((option) => option > 0) ?? 1;
}

/** The share of reviewers who would agree, given where this one stands. */
function agreeableness(plan: Plan, point: Point | undefined, text: string, stand: number): number {
  if (point?.kind === 'pro') return point.option === stand ? 0.95 : 0.5;
  if (point?.kind === 'con') return point.option === stand ? 0.45 : 0.93;
  const contested = plan.draws.fraction(`contested ${comparable(text)}`) < 0.1;
  if (point?.kind === 'consideration' && point.consideration.lean !== undefined) {
    const bold = (plan.options[stand]?.course.boldness ?? 0) > 0;
    const suits = (point.consideration.lean === 'commit') === bold;
    return suits ? 0.96 : contested ? 0.45 : 0.86;
  }
  return contested ? 0.6 : 0.95;
}

function stanceBy(agreeing: number, drawn: number): Stance {
  if (drawn < agreeing) return 'agree';
  return drawn < agreeing + (1 - agreeing) * 0.3 ? 'unsure' : 'disagree';
}

function listed(material: Material, kind: string): { id: string; text: string }[] {
  return material.lines(kind).map((line) => {
    const cut = line.indexOf(' | ');
    return { id: line.slice(0, cut), text: line.slice(cut + 3) };
  });
}

function chosenOption(
  plan: Plan,
  options: readonly { id: string; text: string }[],
  stand: number,
): string {
  const own = options.find(({ text }) => optionIndexOf(plan, text) === stand);
  const majority = options.find(({ text }) => optionIndexOf(plan, text) === 0);
  const ordered = options.toSorted((one, other) => one.text.localeCompare(other.text, 'en'));
  return (own ?? majority ?? ordered[stand % Math.max(1, ordered.length)] ?? options[0])?.id ?? '';
}

function bestFor(
  plan: Plan,
  judged: readonly Judged[],
  options: readonly { id: string; text: string }[],
  optionId: string,
): string {
  const text = options.find(({ id }) => id === optionId)?.text ?? '';
  const index = optionIndexOf(plan, text);
  const match = judged.find((answer) =>
    index < 0
      ? comparable(recommendationIn(answer.text)) === comparable(text)
      : answer.option === index,
  );
  return match?.label ?? '';
}

function fatalFlaws(
  plan: Plan,
  judged: readonly Judged[],
  stand: number,
  draws: Draws,
): ReviewReply['fatal_flaws'] {
  const worst = judged.at(-1);
  if (worst === undefined || worst.option === stand || draws.fraction('fatal') > 0.16) return [];
  const option = plan.options[worst.option];
  if (option === undefined) return [];
  return [
    {
      answer_label: worst.label,
      text: `It commits to ${option.doing} without knowing ${option.course.gap}.`,
    },
  ];
}

function critique(plan: Plan, judged: readonly Judged[], voice: number, draws: Draws): string {
  const best = judged[0];
  const worst = judged.at(-1);
  if (best === undefined || worst === undefined) return '';
  const weak = topicsIn(plan, worst.text);
  const only = draws
    .shuffled('topics', topicsIn(plan, best.text))
    .filter((topic) => !weak.includes(topic));
  const strength = only[0] ?? 'the main doubt';
  const gap = only[1] ?? 'the first step';
  return [
    fill(praises[voice] ?? praises[0], { topic: strength }),
    fill(blames[(voice + 3) % blames.length] ?? blames[0], { topic: gap }),
  ].join(' ');
}

function topicsIn(plan: Plan, answer: string): string[] {
  return linesUnder(answer, 'Claims')
    .map((claim) => pointOf(plan, claim))
    .filter((point) => point?.kind === 'consideration')
    .map((point) => point?.topic ?? '');
}
