import { numbersNotIn } from './numbers.ts';
import type { Statement } from './numbers.ts';
import type { Draft } from './reply-schemas.ts';

/** The gate that a recommendation passes before a model verifies it. */

export type DraftSources = {
  /** Every claim of the ledger; other citations do not count. */
  claimIds: readonly string[];
  consensusIds: readonly string[];
  disagreementIds: readonly string[];
  /** Claims that the minority holds against the decision. */
  minorityIds: readonly string[];
  /** The option that the vote chose, or that breaks the tie. */
  optionId: string;
  /** Each needs one reply. */
  flawIds: readonly string[];
  /** Whether the draft refines an earlier result, and has to say what it changes. */
  refines?: boolean;
  /** The person's texts, and all others that a number may come from: files, claims, answers. */
  question: readonly string[];
  corpus: readonly string[];
};

export type DraftCheckName =
  | 'schema'
  | 'decision_not_voted'
  | 'flaw_unanswered'
  | 'consensus_coverage'
  | 'disagreement_coverage'
  | 'citations'
  | 'numbers'
  | 'changed';

export type DraftCheckResult = {
  /** Every cited claim exists. */
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
export function checkDraft(draft: WrittenDraft, sources: DraftSources): DraftCheckResult {
  const statements = [...draft.sections.flatMap((section) => section.blocks), ...draft.next_steps];
  const known = new Set(sources.claimIds);
  const cited = new Set(statements.flatMap((statement) => statement.claim_ids));
  const dissented = new Set(draft.dissent.map((entry) => entry.claim_id));
  const everywhere = new Set([...cited, ...dissented]);

  const schema = [...everywhere].every((id) => known.has(id));
  const unanswered = sources.flawIds.filter((id) => !isAnswered(draft, id));
  const missingConsensus = missing(sources.consensusIds, cited);
  const contested = [...new Set([...sources.disagreementIds, ...sources.minorityIds])];
  const missingContested = missing(contested, everywhere);
  const uncited = statements.filter(
    (statement) => !statement.claim_ids.some((id) => known.has(id)),
  );
  const uncitedShare = statements.length === 0 ? 1 : uncited.length / statements.length;
  const unknownNumbers = numbersNotIn(
    statementsOf(draft),
    [...sources.question, ...sources.corpus],
    sources.question,
  );
  const consensusCoverage = covered(sources.consensusIds, missingConsensus);
  const disagreementCoverage = covered(contested, missingContested);

  const complaints: Partial<Record<DraftCheckName, string>> = {};
  if (!schema) complaints.schema = 'Name only claim ids from the list that you were given.';
  if (draft.option_id !== sources.optionId)
    complaints.decision_not_voted = `The vote chose ${sources.optionId}: take that option and no other.`;
  if (unanswered.length > 0)
    complaints.flaw_unanswered = `Answer each of these fatal flaws once in flaw_replies, in 20 to 400 characters: ${unanswered.join(', ')}.`;
  if (consensusCoverage < leastConsensusCoverage)
    complaints.consensus_coverage = `Cite these consensus claims: ${missingConsensus.join(', ')}.`;
  if (disagreementCoverage < 1)
    complaints.disagreement_coverage = `Cover these contested claims: ${missingContested.join(', ')}.`;
  if (uncitedShare > mostUncited)
    complaints.citations = `${uncited.length} statements cite no claim; cite one or remove them.`;
  if (unknownNumbers.length > 0)
    complaints.numbers = `Remove these numbers, which stand in no source: ${unknownNumbers.join(', ')}.`;

  if (sources.refines === true && (draft.changed ?? '').length < leastChanged)
    complaints.changed =
      'Say in changed what is other than in the earlier decision, or that nothing is, and why.';

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

/** Characters of a sentence that says something. */
const leastChanged = 20;

const reply = { least: 20, most: 400 };

function isAnswered({ flaw_replies }: WrittenDraft, id: string): boolean {
  const [found, ...more] = flaw_replies.filter(({ flaw_id }) => flaw_id === id);
  const length = found?.text.length ?? 0;
  return more.length === 0 && length >= reply.least && length <= reply.most;
}

/** Every text of a draft that a person reads. */
export function statementsOf(draft: WrittenDraft): Statement[] {
  const argued = [
    draft.decision,
    ...draft.sections.flatMap((section) => [
      section.heading,
      ...section.blocks.map((block) => block.text),
    ]),
    ...draft.dissent.map((entry) => entry.text),
    ...draft.flaw_replies.map(({ text }) => text),
    ...draft.uncertainties,
    draft.changed ?? '',
  ];
  const steps = draft.next_steps.flatMap(({ action, owner, measure, stop_if }) => [
    action,
    owner,
    measure,
    stop_if,
  ]);
  return [
    ...argued.map((text) => ({ text, isStep: false })),
    ...steps.map((text) => ({ text, isStep: true })),
  ];
}

const checkNames: readonly DraftCheckName[] = [
  'schema',
  'decision_not_voted',
  'flaw_unanswered',
  'consensus_coverage',
  'disagreement_coverage',
  'citations',
  'numbers',
  'changed',
];

function missing(wanted: readonly string[], present: ReadonlySet<string>): string[] {
  return [...new Set(wanted)].filter((id) => !present.has(id));
}

function covered(wanted: readonly string[], absent: readonly string[]): number {
  const all = new Set(wanted).size;
  return all === 0 ? 1 : (all - absent.length) / all;
}

/** A draft as it is kept; steps of v0.1 have no date. */
export type WrittenDraft = Omit<Draft, 'next_steps'> & { next_steps: StepOf[] };
type StepOf = Omit<Draft['next_steps'][number], 'by_days'> & { by_days: number | null };
