/**
 * Whether a question is about competitors. Its words decide, because none of the eight types of
 * challenge says it, and a person may leave the suggested type as it is.
 */
export function isCompetitive(question: string): boolean {
  return competitiveWords.test(question);
}

const words = [
  'competes?',
  'competed',
  'competing',
  'competitions?',
  'competitive(?:ly|ness)?',
  'competitors?',
  'rivals?',
  'rivalry',
  'incumbents?',
  'market[ -]share',
  'undercut(?:s|ting)?',
  'differentiate[ds]?',
  'differentiating',
  'differentiation',
  'outperform(?:s|ed|ing)?',
  'position(?:ed|ing)? (?:\\w+ ){0,2}against',
];
const competitiveWords = new RegExp(`\\b(?:${words.join('|')})\\b`, 'iu');
