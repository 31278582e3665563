import { comparable, optionIndexOf, pointOf } from './plan.ts';
import type { Plan, Point } from './plan.ts';
import { linesUnder, recommendationIn } from './reading.ts';
import type { Material } from './reading.ts';

/** The extractor's reply, in the shape of `claim_ledger`. */
export type LedgerReply = {
  claims: {
    claim_id: string;
    text: string;
    importance: 1 | 2 | 3;
    supporting_quotes: { answer_label: string; quote: string }[];
  }[];
  options: { option_id: string; text: string; answer_labels: string[] }[];
};

type Group = { text: string; point: Point | undefined; quotes: { label: string; quote: string }[] };

/**
 * Merges the claims of the answers shown. Claims of the plan are recognised by their wordings; those
 * of anybody else, such as a real model on the panel, by the words they share.
 */
export function writeLedger(plan: Plan, material: Material): LedgerReply {
  const groups: Group[] = [];
  for (const { label, text } of material.answers)
    for (const claim of claimLines(text)) {
      const point = pointOf(plan, claim);
      const group = groups.find((each) =>
        point === undefined
          ? each.point === undefined && alike(each.text, claim)
          : each.point === point,
      );
      if (group === undefined)
        groups.push({ text: claim, point, quotes: [{ label, quote: claim }] });
      else if (group.quotes.every((quote) => quote.label !== label))
        group.quotes.push({ label, quote: claim });
    }
  const kept = groups
    .map((group) => ({ ...group, text: neutralText(group), weight: weightOf(group) }))
    .toSorted((one, other) => other.weight - one.weight || one.text.localeCompare(other.text, 'en'))
    .slice(0, mostClaims);
  return {
    claims: kept.map((group, index) => ({
      claim_id: `c${index + 1}`,
      text: group.text,
      importance: importanceOf(group),
      supporting_quotes: group.quotes.map(({ label, quote }) => ({ answer_label: label, quote })),
    })),
    options: optionsOf(plan, material),
  };
}

const mostClaims = 22;

function claimLines(answer: string): string[] {
  const listed = linesUnder(answer, 'Claims');
  if (listed.length > 0) return listed.slice(0, 8);
  return (answer.match(/[^.!?\n]{30,300}[.!?]/g) ?? []).slice(0, 4).map((each) => each.trim());
}

// The plan's first wording, whoever used it, so that the text does not depend on who is missing.
function neutralText(group: Group): string {
  return group.point?.wordings[0] ?? group.text;
}

function importanceOf(group: Group): 1 | 2 | 3 {
  if (group.point !== undefined) return group.point.importance;
  return group.quotes.length > 2 ? 3 : 2;
}

function weightOf(group: Group): number {
  return importanceOf(group) * 2 + group.quotes.length + (group.point?.kind === 'given' ? 2 : 0);
}

function optionsOf(plan: Plan, material: Material): LedgerReply['options'] {
  const byOption = new Map<string, { text: string; rank: number; labels: string[] }>();
  for (const { label, text } of material.answers) {
    const wording = recommendationIn(text);
    const index = optionIndexOf(plan, wording);
    const key = index < 0 ? comparable(wording) : `option ${index}`;
    const option = byOption.get(key) ?? {
      text: plan.options[index]?.label ?? wording,
      rank: index < 0 ? plan.options.length : index,
      labels: [],
    };
    option.labels.push(label);
    byOption.set(key, option);
  }
  return [...byOption.values()]
    .toSorted((one, other) => one.rank - other.rank || one.text.localeCompare(other.text, 'en'))
    .map((option, index) => ({
      option_id: `o${index + 1}`,
      text: option.text.slice(0, 180),
      answer_labels: option.labels,
    }));
}

function alike(one: string, other: string): boolean {
  const first = contentWords(one);
  const second = contentWords(other);
  const shared = [...first].filter((word) => second.has(word)).length;
  return shared / Math.max(1, first.size + second.size - shared) >= 0.5;
}

/** Distinct longer words in lower case. */
export function contentWords(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? []);
}
