import { drawsFor } from './words/draws.ts';
import type { Draws } from './words/draws.ts';
import { optionIndexOf, pointOf } from './plan.ts';
import type { Plan, Point } from './plan.ts';
import { recommendationIn } from './reading.ts';
import type { Material } from './reading.ts';
import { suits } from './relevance.ts';
import { sentence } from './words/wording.ts';

/** The synthesiser's reply, in the shape of `draft`. */
export type DraftReply = {
  decision: string;
  option_id: string;
  sections: { heading: string; blocks: Block[] }[];
  next_steps: Block[];
  dissent: { claim_id: string; text: string }[];
  uncertainties: string[];
};

type Block = { text: string; claim_ids: string[] };
type Claim = {
  id: string;
  text: string;
  importance: number;
  agree: number;
  disagree: number;
  unsure: number;
  point: Point | undefined;
};
type Choice = { id: string; text: string; votes: number };

/** Writes the council's recommendation from its claims and votes, and from nothing else. */
export function writeDraft(plan: Plan, material: Material, model: string): DraftReply {
  const claims = readClaims(plan, material);
  const options = readOptions(material);
  const chosen = chooseOption(options, material);
  const index = optionIndexOf(plan, chosen?.text ?? '');
  const draws = drawsFor(model, chosen?.text ?? '', 'draft');
  const contested = contestedIn(material);
  const agreed = claims.filter(
    (claim) => !contested.has(claim.id) && claim.agree > claim.disagree && claim.agree > 0,
  );
  const usable = agreed.length > 0 ? agreed : claims;
  const sections = [
    reasons(plan, usable, index, options, chosen, draws),
    settled(plan, material, usable, index, draws),
    signs(plan, usable, index, draws),
  ].filter((section) => section.blocks.length > 0);
  const draft: DraftReply = {
    decision: decisionOf(plan, chosen, index, draws),
    option_id: chosen?.id ?? '',
    sections: sections.length > 0 ? sections : [plainSection(claims)],
    next_steps: nextSteps(plan, usable, index),
    dissent: dissent(plan, claims, contested, draws),
    uncertainties: uncertainties(plan, claims, index, draws),
  };
  return withEveryConsensus(draft, claims, material, index);
}

function readClaims(plan: Plan, material: Material): Claim[] {
  return material.lines('claims').flatMap((line) => {
    const match =
      /^(\S+) \| importance (\d) \| agree (\d+), disagree (\d+), unsure (\d+) \| (.+)$/.exec(line);
    if (match === null) return [];
    const [, id = '', importance, agree, disagree, unsure, text = ''] = match;
    return [
      {
        id,
        text: sentence(text),
        importance: Number(importance),
        agree: Number(agree),
        disagree: Number(disagree),
        unsure: Number(unsure),
        point: pointOf(plan, text),
      },
    ];
  });
}

function readOptions(material: Material): Choice[] {
  return material.lines('options').flatMap((line) => {
    const match = /^(\S+) \| votes (\d+) \| (.+)$/.exec(line);
    return match === null
      ? []
      : [{ id: match[1] ?? '', votes: Number(match[2]), text: match[3] ?? '' }];
  });
}

// Most votes; between equals the one that the best answer recommends.
function chooseOption(options: readonly Choice[], material: Material): Choice | undefined {
  const most = Math.max(...options.map(({ votes }) => votes));
  const leading = options.filter(({ votes }) => votes === most);
  const best = recommendationIn(material.answers[0]?.text ?? '').toLowerCase();
  return leading.find(({ text }) => text.toLowerCase() === best) ?? leading[0];
}

/** Contested claims with the best argument of each side where one was given. */
function contestedIn(material: Material): Map<string, { for: string; against: string }> {
  const contested = new Map<string, { for: string; against: string }>();
  for (const line of material.lines('disagreements')) {
    const match = /^(\S+) \| for: ?(.*?) ?\| against:\s?(.*)$/.exec(line);
    if (match !== null)
      contested.set(match[1] ?? '', { for: match[2] ?? '', against: match[3] ?? '' });
  }
  const minority = /\bclaims ([^\n|]+)/.exec(material.block('minority'))?.[1] ?? '';
  for (const id of minority.split(/,\s*/).filter((each) => each !== ''))
    if (!contested.has(id)) contested.set(id, { for: '', against: '' });
  return contested;
}

function decisionOf(plan: Plan, chosen: Choice | undefined, index: number, draws: Draws): string {
  const option = plan.options[index];
  if (option !== undefined) return `${option.label}, ${draws.pick('tail', option.course.tails)}.`;
  return sentence(chosen?.text ?? 'Take the smallest step that can be undone');
}

function reasons(
  plan: Plan,
  agreed: readonly Claim[],
  index: number,
  options: readonly Choice[],
  chosen: Choice | undefined,
  draws: Draws,
): DraftReply['sections'][number] {
  const speaking = agreed.filter(({ point }) => point?.kind === 'pro' && point.option === index);
  const against = agreed.filter(({ point }) => point?.kind === 'con' && point.option !== index);
  const foreign = agreed.filter(({ point }) => point === undefined).slice(0, 4);
  const lead = speaking.length > 0 ? speaking : foreign.length > 0 ? foreign : agreed.slice(0, 2);
  const heading = draws.pick('reasons', [
    'Why this road',
    'What speaks for it',
    'The case for it',
    'Why we come down on this side',
  ]);
  const standing = standingOf(options, chosen);
  const [first, ...rest] = pairs(lead);
  const opening =
    first === undefined ? [] : [{ text: `${standing} ${first.text}`, claim_ids: first.claim_ids }];
  return { heading, blocks: [...opening, ...rest, ...alternatives(plan, against, index, draws)] };
}

function standingOf(options: readonly Choice[], chosen: Choice | undefined): string {
  const all = options.reduce((sum, { votes }) => sum + votes, 0);
  const share = all === 0 ? 0 : (chosen?.votes ?? 0) / all;
  if (share === 1) return 'Every seat came to this decision, though not by the same way.';
  if (share >= 0.7) return 'A clear majority of the council recommends this.';
  if (share > 0.5)
    return 'A majority recommends this, against serious objections that are set out below.';
  return 'The council was divided, and this is the largest of its camps rather than its common voice.';
}

function alternatives(plan: Plan, against: readonly Claim[], index: number, draws: Draws): Block[] {
  const [first, ...rest] = pairs(against);
  if (first === undefined) return [];
  const rival = plan.options.find(
    (_option, at) =>
      at !== index && against.some(({ point }) => point?.kind === 'con' && point.option === at),
  );
  const lead = draws.pick('alternative', [
    `The alternative, ${rival?.doing ?? 'the other road'}, was weighed and set aside for now.`,
    `As for ${rival?.doing ?? 'the other road'}, the objections weighed more than the promise.`,
    `Why not ${rival?.doing ?? 'the other road'}?`,
  ]);
  return [{ text: `${lead} ${first.text}`, claim_ids: first.claim_ids }, ...rest];
}

function settled(
  plan: Plan,
  material: Material,
  agreed: readonly Claim[],
  index: number,
  draws: Draws,
): DraftReply['sections'][number] {
  const consensus = new Set(material.lines('consensus'));
  const general = agreed
    .filter(({ point }) => point?.kind === 'consideration' || point?.kind === 'given')
    .toSorted(
      (one, other) =>
        Number(consensus.has(other.id)) - Number(consensus.has(one.id)) ||
        other.importance - one.importance ||
        other.agree - one.agree,
    );
  const explained = applicable(plan, general, index)
    .slice(0, 3)
    .map((claim) => ({ text: `${claim.text} ${whyOf(claim)}`.trim(), claim_ids: [claim.id] }));
  const given = general.filter(({ point }) => point?.kind === 'given');
  const taken = new Set(explained.flatMap(({ claim_ids }) => claim_ids));
  const others = general.filter(
    (claim) =>
      claim.point?.kind === 'consideration' && !taken.has(claim.id) && consensus.has(claim.id),
  );
  return {
    heading: draws.pick('settled', [
      'What has to be right first',
      'What the council agrees on either way',
      'The conditions that decide its success',
      'What matters more than the choice itself',
    ]),
    blocks: [...pairs(given), ...explained, ...inBrief(others)],
  };
}

/** Considerations that make sense for the option decided on, those about it in particular first. */
function applicable(plan: Plan, claims: readonly Claim[], index: number): Claim[] {
  const rank = ({ point, importance, agree }: Claim) =>
    importance +
    agree / 10 +
    (point?.kind === 'consideration' && point.consideration.presupposes !== undefined ? 1.5 : 0);
  return claims
    .filter(
      ({ point }) =>
        point?.kind === 'consideration' && suits(point.consideration, plan.options[index]),
    )
    .toSorted((one, other) => rank(other) - rank(one));
}

/** What else was agreed, by its subjects only; the claims themselves are cited. */
function inBrief(claims: readonly Claim[]): Block[] {
  const topics = [...new Set(claims.map(({ point }) => point?.topic ?? ''))].filter(
    (topic) => topic !== '',
  );
  if (topics.length < 2) return pairs(claims);
  const last = topics.at(-1) ?? '';
  return [
    {
      text: `There was agreement, too, about ${topics.slice(0, -1).join(', about ')} and about ${last}.`,
      claim_ids: claims.map(({ id }) => id),
    },
  ];
}

function signs(
  plan: Plan,
  agreed: readonly Claim[],
  index: number,
  draws: Draws,
): DraftReply['sections'][number] {
  const watched = applicable(plan, agreed, index)
    .slice(0, 2)
    .map((claim) => ({ text: watchOf(claim), claim_ids: [claim.id] }));
  const course = plan.options[index]?.course;
  const basis =
    agreed.find(({ point }) => point?.kind === 'pro' && point.option === index) ?? agreed[0];
  const stop =
    course === undefined || basis === undefined
      ? []
      : [
          {
            text: draws.pick('stop', [
              `Stop if ${course.stops[0]}, or if ${course.stops[1]}.`,
              `Two signs mean no: ${course.stops[0]}; ${course.stops[1]}.`,
              `Give it up without regret when ${course.stops[0]}, and equally when ${course.stops[1]}.`,
            ]),
            claim_ids: [basis.id],
          },
        ];
  return {
    heading: draws.pick('signs', [
      'What to watch and when to stop',
      'How you will know',
      'Signs to go on and signs to stop',
    ]),
    blocks: [...watched, ...stop],
  };
}

function nextSteps(plan: Plan, agreed: readonly Claim[], index: number): Block[] {
  const course = plan.options[index]?.course;
  const basis =
    agreed.find(({ point }) => point?.kind === 'pro' && point.option === index) ?? agreed[0];
  const cited = basis === undefined ? [] : [basis.id];
  const prepared = applicable(plan, agreed, index)
    .slice(0, 3)
    .flatMap((claim) =>
      claim.point?.kind === 'consideration'
        ? [{ text: claim.point.consideration.step, claim_ids: [claim.id] }]
        : [],
    );
  if (course === undefined)
    return prepared.length > 0
      ? prepared
      : agreed.slice(0, 3).map(({ id, text }) => ({ text, claim_ids: [id] }));
  const [first, second] = course.steps;
  return [
    ...prepared.slice(0, 1),
    { text: first, claim_ids: cited },
    ...prepared.slice(1),
    { text: second, claim_ids: cited },
  ];
}

function dissent(
  plan: Plan,
  claims: readonly Claim[],
  contested: ReadonlyMap<string, { for: string; against: string }>,
  draws: Draws,
): DraftReply['dissent'] {
  const start = draws.below('frame', disputeFrames.length);
  const used = new Set<string>();
  return [...contested].flatMap(([id, sides], position) => {
    const claim = claims.find((each) => each.id === id);
    if (claim === undefined) return [];
    const reply = objectionTo(claim, sides.against, claims, used);
    const turn = start + position;
    const disputed =
      reply === null
        ? `${claim.text} ${bareObjections[turn % bareObjections.length] ?? ''}`
        : (disputeFrames[turn % disputeFrames.length]?.(claim.text, reply) ?? claim.text);
    return [{ claim_id: id, text: `${disputed} ${settlingOf(plan, claim, position)}` }];
  });
}

const disputeFrames: readonly ((claim: string, reply: string) => string)[] = [
  (claim, reply) => `${claim} Part of the council does not accept this. ${reply}`,
  (claim, reply) => `The seats parted over one sentence: ${claim} The other side: ${reply}`,
  (claim, reply) => `${claim} So say some. ${reply}`,
  (claim, reply) => `It remained in dispute whether this holds: ${claim} The objection: ${reply}`,
];
const bareObjections = [
  'Not every seat would sign this, at least not for this case.',
  'Some find it true in general and not decisive here.',
  'Those who object miss the evidence for it.',
];

// A claim that points the other way, each once; for a claim from elsewhere the other side's words.
function objectionTo(
  claim: Claim,
  against: string,
  claims: readonly Claim[],
  used: Set<string>,
): string | null {
  const { point } = claim;
  if (point === undefined) return against === '' ? null : sentence(against);
  const opposing = claims.find(
    (other) =>
      !used.has(other.id) &&
      ((point.kind === 'pro' && other.point?.kind === 'con') ||
        (point.kind === 'con' && other.point?.kind === 'pro')) &&
      point.option === other.point.option,
  );
  if (opposing === undefined) return null;
  used.add(opposing.id);
  return opposing.text;
}

function settlingOf(plan: Plan, claim: Claim, position: number): string {
  const { point } = claim;
  const gap =
    point?.kind === 'consideration'
      ? point.consideration.gap
      : point?.kind === 'pro' || point?.kind === 'con'
        ? plan.options[point.option]?.course.gap
        : undefined;
  if (gap === undefined) return 'A small trial with a date would settle it.';
  const frames = [
    `What would settle it is ${gap}.`,
    `The missing fact is ${gap}.`,
    `It turns on ${gap}.`,
    `To decide it, find out ${gap}.`,
  ];
  return frames[position % frames.length] ?? '';
}

function uncertainties(
  plan: Plan,
  claims: readonly Claim[],
  index: number,
  draws: Draws,
): string[] {
  const unsure = claims
    .filter((claim) => claim.unsure > 0 && claim.point?.kind === 'consideration')
    .toSorted((one, other) => other.unsure - one.unsure);
  const gaps = [
    plan.options[index]?.course.gap,
    ...unsure.map(({ point }) =>
      point?.kind === 'consideration' ? point.consideration.gap : undefined,
    ),
    ...draws
      .shuffled('gaps', claims)
      .map(({ point }) => (point?.kind === 'consideration' ? point.consideration.gap : undefined)),
  ].filter((gap) => gap !== undefined);
  const frames = [
    (gap: string) => `Nobody on the council could know ${gap}.`,
    (gap: string) => `The answer also depends on ${gap}.`,
    (gap: string) => `Your description leaves open ${gap}.`,
  ];
  return [...new Set(gaps)].slice(0, 3).map((gap, at) => frames[at]?.(gap) ?? gap);
}

/** Every consensus claim has to be cited; what found no place so far is stated as it is. */
function withEveryConsensus(
  draft: DraftReply,
  claims: readonly Claim[],
  material: Material,
  index: number,
): DraftReply {
  const cited = new Set(
    [...draft.sections.flatMap(({ blocks }) => blocks), ...draft.next_steps].flatMap(
      ({ claim_ids }) => claim_ids,
    ),
  );
  const missing = material
    .lines('consensus')
    .map((id) => claims.find((claim) => claim.id === id))
    .filter((claim) => claim !== undefined)
    .filter(({ id }) => !cited.has(id));
  const against = missing.filter(({ point }) => point?.kind === 'con' && point.option === index);
  const others = missing.filter((claim) => !against.includes(claim));
  return {
    ...draft,
    sections: [
      ...draft.sections,
      ...(against.length === 0
        ? []
        : [{ heading: 'What still speaks against it', blocks: pairs(against) }]),
      ...(others.length === 0 ? [] : [{ heading: 'Also agreed', blocks: pairs(others) }]),
    ],
  };
}

function plainSection(claims: readonly Claim[]): DraftReply['sections'][number] {
  return { heading: 'What was said', blocks: pairs(claims.slice(0, 8)) };
}

/** Two claims to a paragraph. */
function pairs(claims: readonly Claim[]): Block[] {
  const blocks: Block[] = [];
  for (let at = 0; at < claims.length; at += 2) {
    const two = claims.slice(at, at + 2);
    blocks.push({
      text: two.map(({ text }) => text).join(' '),
      claim_ids: two.map(({ id }) => id),
    });
  }
  return blocks;
}

function whyOf(claim: Claim): string {
  return claim.point?.kind === 'consideration' ? claim.point.consideration.why : '';
}

function watchOf(claim: Claim): string {
  return claim.point?.kind === 'consideration' ? claim.point.consideration.watch : claim.text;
}
