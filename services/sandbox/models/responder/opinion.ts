import type { Consideration } from './bank/consideration.ts';
import {
  leadToReason,
  leadToStep,
  leadToWatch,
  oneLines,
  onAim,
  onFact,
  onStop,
  openers,
} from './bank/voices.ts';
import { drawsFor } from './words/draws.ts';
import type { Draws } from './words/draws.ts';
import { capitalize } from './words/grammar.ts';
import type { Plan } from './plan.ts';
import type { Role } from './reading.ts';
import type { Place } from './roster.ts';
import { partOf } from './seat.ts';
import type { Part } from './seat.ts';
import { fill, inTheirWords } from './words/wording.ts';

/** An expert's own answer, in the shape of the `opinion` reply. */
export type OpinionReply = {
  recommendation: { option_label: string; one_line: string };
  reasoning: string[];
  claims: { text: string; importance: 1 | 2 | 3; if_false_flips: boolean }[];
  assumptions: string[];
  missing_info: string[];
  risks: string[];
  stated_confidence: number;
};

export function writeOpinion(plan: Plan, place: Place, role: Role, model: string): OpinionReply {
  const part = partOf(plan, place);
  const draws = drawsFor(model, plan.options[0]?.label ?? '', plan.question.business);
  const voice = (place.voice + plan.draws.below('voices', 8)) % 8;
  // Differs between all seats, where the voice differs within a role only.
  const turn = (place.slot + plan.draws.below('turns', 8)) % 8;
  const values = valuesFor(plan, part);
  const option = plan.options[part.option];
  return {
    recommendation: {
      option_label: option?.label ?? '',
      one_line: say(plan, oneLines[role][voice] ?? oneLines[role][0], values),
    },
    reasoning: reasoning(plan, part, role, voice, turn, values),
    claims: claims(part, draws),
    assumptions: [part.explained.assumption, part.own.assumption],
    missing_info: [
      capitalize(part.feared.gap),
      capitalize(missingFact(plan, part)),
      ...(role === 'risk' ? [capitalize(part.own.gap)] : []),
    ],
    risks: [
      part.feared.danger,
      part.own.danger,
      ...(role === 'risk' ? [say(plan, onStop[voice] ?? onStop[0], values)] : []),
    ],
    stated_confidence: statedConfidence(plan, part, draws),
  };
}

// Some ask what their own option still lacks, some what the other does, and some neither.
function missingFact(plan: Plan, part: Part): string {
  const asked = [plan.options[part.option], plan.options[part.rival], undefined][part.rank % 3];
  return asked?.course.gap ?? part.watched.gap;
}

/** The same in a few paragraphs, for a caller that asked for prose. */
export function opinionAsProse(opinion: OpinionReply): string {
  return [
    opinion.recommendation.one_line,
    ...opinion.reasoning,
    opinion.claims
      .slice(0, 3)
      .map((claim) => claim.text)
      .join(' '),
    opinion.risks.slice(0, 1).join(' '),
  ].join('\n\n');
}

function reasoning(
  plan: Plan,
  part: Part,
  role: Role,
  voice: number,
  turn: number,
  values: Readonly<Record<string, string>>,
): string[] {
  const opener = say(plan, openers[role][voice] ?? openers[role][0], values);
  const personal = aboutThePerson(plan, part, turn, values);
  const led = (leads: typeof leadToReason, offset: number, about: Consideration, text: string) =>
    `${fill(leads[(voice + offset) % 8] ?? leads[0], { topic: about.topic })} ${text}`;
  const { explained, watched, own } = part;
  const practice = {
    strategic: [led(leadToReason, 3, own, own.why), led(leadToStep, 0, watched, watched.step)],
    risk: [led(leadToWatch, 0, watched, watched.watch), led(leadToReason, 3, own, own.why)],
    implementation: [
      led(leadToStep, 0, watched, `${watched.step} ${watched.watch}`),
      led(leadToStep, 3, own, own.step),
    ],
  }[role];
  return [
    personal === null ? opener : `${opener} ${personal}`,
    led(leadToReason, 0, explained, explained.why),
    ...practice,
  ];
}

// Takes turns between the aim and the figures that the person gave, as far as there are any.
function aboutThePerson(
  plan: Plan,
  part: Part,
  turn: number,
  values: Readonly<Record<string, string>>,
): string | null {
  const { aim, facts } = plan.question;
  const figures = facts.filter(
    (fact) => !plan.options.some((option) => option.act.includes(fact.text)),
  );
  const fact = figures[(part.rank + turn) % Math.max(1, figures.length)];
  if (aim !== null && (fact === undefined || turn % 2 === 0))
    return say(plan, onAim[turn] ?? onAim[0], { ...values, aim });
  if (fact === undefined) return null;
  const lines = onFact[fact.kind];
  return say(plan, lines[turn] ?? lines[0], { ...values, fact: fact.text });
}

function claims(part: Part, draws: Draws): OpinionReply['claims'] {
  return part.claims.slice(0, 8).map(({ point, text }, index) => ({
    text,
    importance: index === 0 ? 3 : point.importance,
    if_false_flips:
      (index === 0 && point.kind === 'pro') || draws.fraction(`flips ${index}`) < 0.15,
  }));
}

function say(plan: Plan, wording: string, values: Readonly<Record<string, string>>): string {
  const { audience, business } = plan.question;
  return fill(inTheirWords(wording, audience, business), values);
}

function valuesFor(plan: Plan, part: Part): Record<string, string> {
  const option = plan.options[part.option];
  const rival = plan.options[part.rival];
  const course = option?.course;
  return {
    do: option?.act ?? '',
    doing: option?.doing ?? '',
    rivalDoing: rival?.doing ?? '',
    thing: option?.thing ?? '',
    business: plan.question.business,
    topic: part.explained.topic,
    tail: course?.tails[part.rank % 2] ?? '',
    stop: course?.stops[part.rank % 2] ?? '',
    gap: course?.gap ?? '',
  };
}

function statedConfidence(plan: Plan, part: Part, draws: Draws): number {
  const fellows = plan.camps.ofSlot.filter((each) => each === part.option).length;
  return Math.round(52 + fellows * 3 + draws.fraction('confidence') * 18);
}
