import type { PlannedSeat, Plan } from './plan.ts';

/** A seat's own answer, in the shape of `opinion`. */
export type OpinionReply = {
  recommendation: { option_label: string; one_line: string };
  reasoning: string[];
  claims: { text: string; importance: 1 | 2 | 3; if_false_flips: boolean }[];
  assumptions: string[];
  missing_info: string[];
  risks: string[];
  stated_confidence: number;
};

export function writeOpinion(plan: Plan, seat: PlannedSeat): OpinionReply {
  const { code, role, recommends: option, turn, rank } = seat;
  const opening = option.openings[role][turn];
  return {
    recommendation: {
      option_label: option.label,
      one_line: inTurn(option.one_lines[role], turn),
    },
    reasoning: [...(opening === undefined ? [] : [opening]), ...seat.whys.map(({ why }) => why)],
    claims: seat.claims.map(({ says, importance, flips }) => ({
      text: says[role],
      importance,
      if_false_flips: flips,
    })),
    assumptions: twoFrom(option.assumptions, rank),
    missing_info: twoFrom(option.missing, rank),
    risks: twoFrom(option.risks, rank),
    stated_confidence: Math.round(56 + plan.fraction(`confidence ${code}`) * 34),
  };
}

/** The same for a caller who asked for no schema. */
export function opinionAsProse({ recommendation, reasoning, risks }: OpinionReply): string {
  return [recommendation.one_line, ...reasoning, ...risks].join('\n\n');
}

function inTurn(texts: readonly string[], turn: number): string {
  return texts[turn % texts.length] ?? '';
}

function twoFrom(texts: readonly string[], rank: number): string[] {
  return [...new Set([inTurn(texts, rank), inTurn(texts, rank + 1)])];
}
