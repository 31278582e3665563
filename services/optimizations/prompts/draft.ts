import { flattenMarkdown } from './plain-text.ts';
import type { Draft } from './reply-schemas.ts';

/**
 * The gate that a recommendation passes before a model verifies it, and the recommendation as
 * Markdown.
 */

export type DraftSources = {
  /** Every claim and option of the ledger; other citations do not count. */
  claimIds: readonly string[];
  optionIds: readonly string[];
  consensusIds: readonly string[];
  disagreementIds: readonly string[];
  /** Claims that the minority holds against the decision. */
  minorityIds: readonly string[];
  /** Every text a number may come from: the question, its files, the claims, the answers. */
  corpus: readonly string[];
};

export type DraftCheckName =
  | 'schema'
  | 'consensus_coverage'
  | 'disagreement_coverage'
  | 'citations'
  | 'numbers';

export type DraftCheckResult = {
  /** The option and every cited claim exist. */
  schema: boolean;
  /** Shares 0–1; 1 when there is nothing to cover. */
  consensusCoverage: number;
  disagreementCoverage: number;
  /** Share of statements (blocks and steps) that cite no known claim. */
  uncitedShare: number;
  /** Numbers of the draft that are in no source, as written there. */
  unknownNumbers: readonly string[];
  failed: readonly DraftCheckName[];
  passed: boolean;
  /** The faults of this draft for the next prompt, one sentence per failed check. */
  complaints: readonly string[];
};

const leastConsensusCoverage = 0.9;
const mostUncited = 0.1;

/** The code checks of a draft that has parsed: references, coverage, citations and numbers. */
export function checkDraft(draft: Draft, sources: DraftSources): DraftCheckResult {
  const statements = [...draft.sections.flatMap((section) => section.blocks), ...draft.next_steps];
  const known = new Set(sources.claimIds);
  const cited = new Set(statements.flatMap((statement) => statement.claim_ids));
  const dissented = new Set(draft.dissent.map((entry) => entry.claim_id));
  const everywhere = new Set([...cited, ...dissented]);

  const schema =
    sources.optionIds.includes(draft.option_id) && [...everywhere].every((id) => known.has(id));
  const missingConsensus = missing(sources.consensusIds, cited);
  const contested = [...new Set([...sources.disagreementIds, ...sources.minorityIds])];
  const missingContested = missing(contested, everywhere);
  const uncited = statements.filter(
    (statement) => !statement.claim_ids.some((id) => known.has(id)),
  );
  const uncitedShare = statements.length === 0 ? 1 : uncited.length / statements.length;
  const unknownNumbers = numbersNotIn(draftTexts(draft), sources.corpus);
  const consensusCoverage = covered(sources.consensusIds, missingConsensus);
  const disagreementCoverage = covered(contested, missingContested);

  const complaints: Partial<Record<DraftCheckName, string>> = {};
  if (!schema)
    complaints.schema = 'Name one option id and only claim ids from the lists that you were given.';
  if (consensusCoverage < leastConsensusCoverage)
    complaints.consensus_coverage = `Cite these consensus claims: ${missingConsensus.join(', ')}.`;
  if (disagreementCoverage < 1)
    complaints.disagreement_coverage = `Cover these contested claims: ${missingContested.join(', ')}.`;
  if (uncitedShare > mostUncited)
    complaints.citations = `${uncited.length} statements cite no claim; cite one or remove them.`;
  if (unknownNumbers.length > 0)
    complaints.numbers = `Remove these numbers, which stand in no source: ${unknownNumbers.join(', ')}.`;

  const failed = checkNames.filter((name) => complaints[name] !== undefined);
  return {
    schema,
    consensusCoverage,
    disagreementCoverage,
    uncitedShare,
    unknownNumbers,
    failed,
    passed: failed.length === 0,
    complaints: failed.map((name) => complaints[name] ?? name),
  };
}

/**
 * Numbers in the texts that occur in no source, as written, each once. 1,000, 1000 and 1k are one
 * number, and so are 5 and 5.0; a number inside a word (Q3, c12) is a name and not counted.
 */
export function numbersNotIn(texts: readonly string[], corpus: readonly string[]): string[] {
  const known = new Set(corpus.flatMap(numbersIn).map(({ value }) => value));
  const unknown = texts
    .flatMap(numbersIn)
    .filter(({ value }) => !known.has(value))
    .map(({ written }) => written);
  return [...new Set(unknown)];
}

/**
 * The recommendation as Markdown. Model text is flattened and escaped, so that nothing in it becomes
 * a link, an image or HTML where the Markdown is pasted. `claims` are listed when cited.
 */
export function draftMarkdown(
  draft: Draft,
  claims: readonly { id: string; text: string }[],
): string {
  const order = citedOrder(draft, claims);
  const number = new Map(order.map((claim, index) => [claim.id, index + 1]));
  const marks = (ids: readonly string[]) => {
    const found = ids.map((id) => number.get(id)).filter((mark) => mark !== undefined);
    return found.length === 0 ? '' : ` (${[...new Set(found)].join(', ')})`;
  };
  const parts = [
    `**${escapeMarkdown(draft.decision)}**`,
    ...draft.sections.map((section) =>
      [
        `## ${escapeMarkdown(section.heading)}`,
        ...section.blocks.map((block) => escapeMarkdown(block.text) + marks(block.claim_ids)),
      ].join('\n\n'),
    ),
    listed(
      '## Next steps',
      draft.next_steps.map(
        (step, index) => `${index + 1}. ${escapeMarkdown(step.text)}${marks(step.claim_ids)}`,
      ),
    ),
    listed(
      '## Where the council disagreed',
      draft.dissent.map((entry) => `- ${escapeMarkdown(entry.text)}${marks([entry.claim_id])}`),
    ),
    listed(
      '## Still uncertain',
      draft.uncertainties.map((point) => `- ${escapeMarkdown(point)}`),
    ),
    listed(
      '## Claims',
      order.map((claim, index) => `${index + 1}. ${escapeMarkdown(claim.text)}`),
    ),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

/** Every text of a draft that a person reads. */
export function draftTexts(draft: Draft): string[] {
  return [
    draft.decision,
    ...draft.sections.flatMap((section) => [
      section.heading,
      ...section.blocks.map((block) => block.text),
    ]),
    ...draft.next_steps.map((step) => step.text),
    ...draft.dissent.map((entry) => entry.text),
    ...draft.uncertainties,
  ];
}

const checkNames: readonly DraftCheckName[] = [
  'schema',
  'consensus_coverage',
  'disagreement_coverage',
  'citations',
  'numbers',
];

function missing(wanted: readonly string[], present: ReadonlySet<string>): string[] {
  return [...new Set(wanted)].filter((id) => !present.has(id));
}

function covered(wanted: readonly string[], absent: readonly string[]): number {
  const all = new Set(wanted).size;
  return all === 0 ? 1 : (all - absent.length) / all;
}

const numberPattern =
  /(?<![\p{L}\p{N}_])(\d+(?:[.,\u00a0\u202f']\d+)*)(?:\s?(k|m|bn|thousand|million|billion)(?![\p{L}\p{N}]))?/giu;
const magnitudes: Readonly<Record<string, number>> = {
  k: 1e3,
  thousand: 1e3,
  m: 1e6,
  million: 1e6,
  bn: 1e9,
  billion: 1e9,
};

function numbersIn(text: string): { written: string; value: number }[] {
  return [...text.matchAll(numberPattern)].map(([written, digits = '', magnitude]) => ({
    written: written.trim(),
    value: decimal(digits) * (magnitudes[magnitude?.toLowerCase() ?? ''] ?? 1),
  }));
}

// Groups of three behind a separator are thousands (1,000; 12.500); anything else is a decimal part.
function decimal(digits: string): number {
  if (/^\d{1,3}(?:[.,\u00a0\u202f']\d{3})+$/.test(digits)) return Number(digits.replace(/\D/g, ''));
  const [whole = '0', ...rest] = digits.split(/[.,\u00a0\u202f']/);
  return rest.length === 0 ? Number(whole) : Number(`${whole}.${rest.join('')}`);
}

function citedOrder(
  draft: Draft,
  claims: readonly { id: string; text: string }[],
): { id: string; text: string }[] {
  const ids = [
    ...draft.sections.flatMap((section) => section.blocks.flatMap((block) => block.claim_ids)),
    ...draft.next_steps.flatMap((step) => step.claim_ids),
    ...draft.dissent.map((entry) => entry.claim_id),
  ];
  const byId = new Map(claims.map((claim) => [claim.id, claim]));
  return [...new Set(ids)].map((id) => byId.get(id)).filter((claim) => claim !== undefined);
}

function listed(heading: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `${heading}\n\n${lines.join('\n')}`;
}

export function escapeMarkdown(text: string): string {
  return (
    flattenMarkdown(text)
      .replace(/\n+/g, ' ')
      // A terminal obeys control characters, and an override of the direction hides what is written.
      .replace(/[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu, '')
      .replace(/[\\`*_[\]<>|]/g, '\\$&')
      .replace(/^([#+-]|\d+[.)])(?=\s)/, '\\$1')
      .replace(/&(?=#?[a-z\d]{1,32};)/gi, '\\&')
      // GFM makes links of bare addresses, also of escaped ones; an invisible word joiner prevents it.
      .replace(/:(?=\/\/)|www(?=\.)|@/gi, '$&\u2060')
  );
}
