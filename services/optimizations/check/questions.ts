/** What the question check may say, for the schemas of its reply, the form and the command line. */

export const checkLimits = {
  questions: 3,
  /** Characters. */
  question: 160,
  why: 240,
  /** The most that a check may delay a start. */
  seconds: 8,
} as const;

export type Answered = { question: string; answer: string };

/** The context with what was answered behind it; questions without an answer are left out. */
export function withAnswers(context: string, answered: readonly Answered[]): string {
  const given = answered
    .map(({ question, answer }) => ({ question, answer: answer.trim() }))
    .filter(({ answer }) => answer !== '')
    .map(({ question, answer }) => `Q: ${question}\nA: ${answer}`);
  return [context.trim(), given.join('\n')].filter((part) => part !== '').join('\n\n');
}
