/**
 * One thing worth weighing, in the words that up to three experts would use for it. The three
 * entries of `says` make the same claim, so that a ledger can merge them; no other two texts of the
 * bank say the same. Figures are written as words and always as something to test, never as a
 * finding. `{business}` stands for the person's business.
 */
export type Consideration = {
  id: string;
  /** A noun phrase for headings and critiques. */
  topic: string;
  /** Beginnings of words; one in the question makes the consideration more relevant. */
  words: readonly string[];
  /** True when it holds whatever is asked; otherwise a word must occur. */
  general: boolean;
  /** It speaks for committing now, or for going slowly; absent when for neither. */
  lean?: 'commit' | 'careful';
  /** Courses that it argues for or against; it is left out where one of them is in question. */
  takesSides?: readonly string[];
  /** Courses that it is about; only who recommends one of them raises it. Absent: any. */
  presupposes?: readonly string[];
  says: readonly [string, string, string];
  why: string;
  watch: string;
  danger: string;
  assumption: string;
  /** What is unknown, as a noun phrase that can end a sentence. */
  gap: string;
  /** An action, as an imperative sentence. */
  step: string;
};
