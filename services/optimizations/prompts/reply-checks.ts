import { normalizeSpace } from './plain-text.ts';
import { contains, quotable, quotedWords } from './quotes.ts';
import { undecidableOption } from '#services/optimizations/run/events.ts';
import { malformed } from './reply-schemas.ts';
import type { Checked, ClaimLedger, Opinion, Review, Verification } from './reply-schemas.ts';

/** Checks of a well-formed reply against what the model was shown. */

/** An answer as the extractor saw it. `claims` are the author's own, for what would flip it. */
export type ShownAnswer = { label: string; text: string; claims?: Opinion['claims'] };

export type CheckedClaim = {
  /** c1, c2 … in the ledger's order. */
  id: string;
  text: string;
  importance: 1 | 2 | 3;
  quotes: readonly { label: string; quote: string }[];
  /** Labels of the answers with a verified quote. */
  authors: readonly string[];
  /** Authors who said that their recommendation flips if this is false. */
  flips: readonly string[];
};

export type CheckedLedger = {
  /** Empty when the extractor gave none. */
  title: string;
  claims: readonly CheckedClaim[];
  /** Ids are o1, o2 … and `undecidable`; an answer belongs to one option only. */
  options: readonly { id: string; text: string; labels: readonly string[] }[];
  rejectedQuotes: number;
  /** A quote counted although it was not copied to the letter. */
  quotesRepaired: boolean;
  /** Claims without any verified quote. */
  droppedClaims: number;
  /** Answers that the ledger put under no option. */
  unplaced: readonly string[];
};

/**
 * Grounds a ledger: a quote counts only when the answer it names holds it (`quotes.ts`), and is kept
 * in that answer's words; a claim without a quote is dropped. Ids are renamed c1… and o1…, so that
 * nothing the extractor wrote is ever used as an id.
 */
export function checkLedger(
  ledger: ClaimLedger,
  answers: readonly ShownAnswer[],
): Checked<CheckedLedger> {
  if (hasRepeats(ledger.claims.map((claim) => claim.claim_id)))
    return malformed('claims: a claim_id occurs twice');
  if (hasRepeats(ledger.options.map((option) => option.option_id.toLowerCase())))
    return malformed('options: an option_id occurs twice');

  const shown = new Map(
    answers.map((answer) => [
      answer.label,
      { text: quotable(answer.text), claims: answer.claims ?? [] },
    ]),
  );
  let rejectedQuotes = 0;
  let quotesRepaired = false;
  const grounded: CheckedClaim[] = [];
  for (const claim of ledger.claims) {
    const quotes = claim.supporting_quotes.flatMap(({ answer_label: label, quote }) => {
      const answer = shown.get(label);
      const own = answer === undefined ? null : quotedWords(answer.text, quote);
      if (own === null) return [];
      quotesRepaired ||= own !== quote.replace(/\s+/g, ' ').trim();
      return [{ label, quote: own }];
    });
    rejectedQuotes += claim.supporting_quotes.length - quotes.length;
    if (quotes.length === 0) continue;
    const flips = quotes
      .filter(({ label, quote }) => flipsOn(shown.get(label)?.claims ?? [], quote))
      .map(({ label }) => label);
    grounded.push({
      id: `c${grounded.length + 1}`,
      text: claim.text,
      importance: claim.importance,
      quotes,
      authors: unique(quotes.map(({ label }) => label)),
      flips: unique(flips),
    });
  }
  if (grounded.length === 0) return malformed('claims: no quote stands in the answers');

  const placed = new Set<string>();
  let numbered = 0;
  const options = ledger.options.map((option) => {
    const labels = unique(option.answer_labels).filter(
      (label) => shown.has(label) && !placed.has(label),
    );
    for (const label of labels) placed.add(label);
    const isUndecidable = option.option_id.toLowerCase() === undecidableOption;
    const id = isUndecidable ? undecidableOption : `o${(numbered += 1)}`;
    return { id, text: option.text, labels };
  });
  return {
    ok: true,
    value: {
      title: ledger.title,
      claims: grounded,
      options,
      rejectedQuotes,
      quotesRepaired,
      droppedClaims: ledger.claims.length - grounded.length,
      unplaced: answers.map(({ label }) => label).filter((label) => !placed.has(label)),
    },
  };
}

/**
 * Assumptions and missing facts that two or more authors named, in their first author's words. Two
 * wordings are one note when three fifths of their distinct content words are the same.
 */
export function sharedNotes(
  opinions: readonly { author: string; opinion: Opinion }[],
): readonly { id: string; kind: 'assumption' | 'missing_info'; text: string; authors: string[] }[] {
  const kinds = [
    { kind: 'assumption', of: (opinion: Opinion) => opinion.assumptions },
    { kind: 'missing_info', of: (opinion: Opinion) => opinion.missing_info },
  ] as const;
  return kinds
    .flatMap(({ kind, of }) => {
      const groups: { text: string; content: Set<string>; authors: string[] }[] = [];
      for (const { author, opinion } of opinions)
        for (const note of of(opinion)) {
          const content = contentWords(note);
          const group = groups.find((known) => overlap(known.content, content) >= sameNoteOverlap);
          if (group === undefined) groups.push({ text: note, content, authors: [author] });
          else if (!group.authors.includes(author)) group.authors.push(author);
        }
      return groups
        .filter((group) => group.authors.length >= 2)
        .map((group) => ({ kind, text: group.text, authors: group.authors }));
    })
    .map((note, index) => ({ id: `n${index + 1}`, ...note }));
}

export type CheckedReview = {
  /** Labels shown, each exactly once, best first; labels in one group are tied. */
  ranking: readonly (readonly string[])[];
  scores: Readonly<
    Record<
      string,
      {
        correctness: number;
        relevance: number;
        completeness: number;
        feasibility: number;
        riskAwareness: number;
      }
    >
  >;
  /** Known claims only; the first vote on a claim counts. */
  votes: Readonly<Record<string, { stance: 'agree' | 'disagree' | 'unsure'; confidence: number }>>;
  /** By claim; claims without a reason are absent. */
  reasons: Readonly<Record<string, string>>;
  /** `label` is null when the reviewer prefers an answer it was not shown, such as its own. */
  decision: { optionId: string; label: string | null; reason: string };
  suspects: readonly string[];
  fatalFlaws: readonly { label: string; text: string }[];
  critique: string;
  /** A higher-ranked answer has a lower rubric mean than a lower-ranked one; the ranking counts. */
  scoresContradict: boolean;
};

/** A review against what its writer was shown; anything not covered is malformed. */
export function checkReview(
  review: Review,
  shown: {
    labels: readonly string[];
    claimIds: readonly string[];
    optionIds: readonly string[];
  },
): Checked<CheckedReview> {
  const known = new Set(shown.labels);
  const ranked = review.ranking.flat();
  if (ranked.some((label) => !known.has(label))) return malformed('ranking: a label not shown');
  if (hasRepeats(ranked)) return malformed('ranking: a label occurs twice');
  if (ranked.length < known.size) return malformed('ranking: a label is missing');

  const scored = review.scores.filter(({ answer_label }) => known.has(answer_label));
  if (hasRepeats(scored.map(({ answer_label }) => answer_label)))
    return malformed('scores: a label occurs twice');
  if (scored.length < known.size) return malformed('scores: a label is missing');
  if (!shown.optionIds.includes(review.decision_vote.option_id))
    return malformed('decision_vote: an option not shown');

  const ranking = review.ranking.filter((group) => group.length > 0);
  const claimIds = new Set(shown.claimIds);
  // The first vote must win, and the later of two equal keys would.
  const votes = review.votes.filter(({ claim_id }) => claimIds.has(claim_id)).toReversed();
  const { option_id, answer_label, reason } = review.decision_vote;
  return {
    ok: true,
    value: {
      ranking,
      scores: Object.fromEntries(
        scored.map(({ answer_label: label, risk_awareness, ...rest }) => [
          label,
          { ...rest, riskAwareness: risk_awareness },
        ]),
      ),
      votes: Object.fromEntries(
        votes.map(({ claim_id, stance, confidence }) => [claim_id, { stance, confidence }]),
      ),
      reasons: Object.fromEntries(
        votes.filter((vote) => vote.reason !== '').map((vote) => [vote.claim_id, vote.reason]),
      ),
      decision: {
        optionId: option_id,
        label: known.has(answer_label) ? answer_label : null,
        reason,
      },
      suspects: unique(review.injection_suspected).filter((label) => known.has(label)),
      fatalFlaws: review.fatal_flaws
        .filter((flaw) => known.has(flaw.answer_label))
        .map((flaw) => ({ label: flaw.answer_label, text: flaw.text })),
      critique: review.critique,
      scoresContradict: contradicts(ranking, meanScores(scored)),
    },
  };
}

/**
 * A verdict limited to the points shown, with words that the draft holds: a contradiction of an unknown
 * point, or of words that nobody wrote, is no finding.
 */
export function checkVerification(
  verification: Verification,
  consensusIds: readonly string[],
  draft: string,
): { contradicts: boolean; claimIds: readonly string[] } {
  const searched = quotable(draft);
  const claimIds = unique(
    verification.contradictions
      .filter(({ quote }) => quotedWords(searched, quote) !== null)
      .map(({ claim_id }) => claim_id),
  ).filter((id) => consensusIds.includes(id));
  return { contradicts: verification.contradicts_consensus && claimIds.length > 0, claimIds };
}

const sameNoteOverlap = 0.6;

/**
 * The canonical plain text of an opinion, before `scrub`. Stated confidence, importance and what
 * would flip the recommendation stay out of it: a reviewer should weigh arguments, not their volume.
 */
export function opinionText(opinion: Opinion): string {
  const { option_label, one_line } = opinion.recommendation;
  return [
    `Recommended option: ${option_label}\n${one_line}`,
    section('Reasoning', opinion.reasoning),
    section(
      'Claims',
      opinion.claims.map((claim) => claim.text),
    ),
    section('Assumptions', opinion.assumptions),
    section('Missing information', opinion.missing_info),
    section('Risks', opinion.risks),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function section(heading: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `${heading}:\n${lines.join('\n')}`;
}

function meanScores(scores: Review['scores']): ReadonlyMap<string, number> {
  return new Map(
    scores.map(({ answer_label, ...marks }) => {
      const values = Object.values(marks);
      return [answer_label, values.reduce((sum, mark) => sum + mark, 0) / values.length];
    }),
  );
}

function contradicts(
  ranking: readonly (readonly string[])[],
  means: ReadonlyMap<string, number>,
): boolean {
  let lowestAbove = Infinity;
  for (const group of ranking) {
    const marks = group.map((label) => means.get(label) ?? 0);
    if (Math.max(...marks) > lowestAbove) return true;
    lowestAbove = Math.min(lowestAbove, ...marks);
  }
  return false;
}

function flipsOn(claims: Opinion['claims'], quote: string): boolean {
  const quoted = normalizeSpace(quote);
  return claims.some((claim) => {
    const own = normalizeSpace(claim.text);
    return claim.if_false_flips && (contains(own, quoted) || contains(quoted, own));
  });
}

function hasRepeats(values: readonly string[]): boolean {
  return new Set(values).size < values.length;
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}

function words(value: string): string[] {
  return value.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

function contentWords(value: string): Set<string> {
  return new Set(words(value).filter((word) => word.length > 3));
}

function overlap(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  const shared = [...one].filter((word) => other.has(word)).length;
  const all = one.size + other.size - shared;
  return all === 0 ? 0 : shared / all;
}
