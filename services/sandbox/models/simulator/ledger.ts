import { isExact, optionsOf } from '#services/sandbox/models/cases.ts';
import type { PreparedCase } from '#services/sandbox/models/cases.ts';
import { claimsIn, recommendationIn } from './material.ts';
import type { Material } from './material.ts';

/** The extractor's reply, in the shape of `claim_ledger`. */
export type LedgerReply = {
  /** Empty for a question that only resembles the case's: its title would be another's. */
  title: string;
  claims: {
    claim_id: string;
    text: string;
    importance: 1 | 2 | 3;
    supporting_quotes: { answer_label: string; quote: string }[];
  }[];
  options: { option_id: string; text: string; answer_labels: string[] }[];
};

type Entry = Omit<LedgerReply['claims'][number], 'claim_id'>;

const mostClaims = 24;

/**
 * The case's claims that somebody made, in its order; then the sentences of answers that no case wrote,
 * such as those of a real model on the panel, each as a claim of its own.
 */
export function writeLedger(prepared: PreparedCase, { answers, asked }: Material): LedgerReply {
  const said = answers.flatMap(({ label, text }) =>
    claimsIn(text).map((quote) => ({ answer_label: label, quote })),
  );
  const quotesOf = (sentences: readonly string[]) =>
    said.filter(({ quote }) => sentences.includes(quote));
  const known: Entry[] = prepared.claims.map(({ text, importance, says }) => ({
    text,
    importance,
    supporting_quotes: quotesOf(Object.values(says)),
  }));
  const prepare = new Set(prepared.claims.flatMap(({ says }) => Object.values(says)));
  const foreign = [...new Set(said.map(({ quote }) => quote))].filter((each) => !prepare.has(each));
  const others: Entry[] = foreign.map((sentence) => ({
    text: sentence,
    importance: 2,
    supporting_quotes: quotesOf([sentence]),
  }));
  const made = known.filter(({ supporting_quotes }) => supporting_quotes.length > 0);
  const labels = optionsOf(prepared).map(({ label }) => label);
  const recommended = answers.map(({ text }) => recommendationIn(text));
  const undecided = prepared.undecidable.label;
  const options = [...new Set([...labels, ...recommended])].filter(
    (label) => recommended.includes(label) || label === undecided,
  );
  return {
    title: isExact(prepared, asked) ? prepared.question.title : '',
    claims: [...made, ...others]
      .slice(0, mostClaims)
      .map((entry, index) => ({ claim_id: `c${index + 1}`, ...entry })),
    options: options.map((text, index) => ({
      option_id: text === undecided ? prepared.undecidable.id : `o${index + 1}`,
      text,
      answer_labels: answers.flatMap(({ label }, at) => (recommended[at] === text ? [label] : [])),
    })),
  };
}
