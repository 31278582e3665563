/**
 * Joins the questions of one turn of the event loop into one statement. Each is answered by a statement that
 * began after it was asked, so nothing is older than with a statement of its own.
 *
 * @param answer the answers to these questions, by question; a missing one is undefined
 */
export function inOneTurn<Question, Answer>(
  answer: (questions: readonly Question[]) => Promise<ReadonlyMap<Question, Answer>>,
): (question: Question) => Promise<Answer | undefined> {
  let next: { questions: Set<Question>; answers: Promise<ReadonlyMap<Question, Answer>> } | null =
    null;

  function openTurn() {
    const questions = new Set<Question>();
    const answers = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      next = null;
      return answer([...questions]);
    });
    return { questions, answers };
  }

  return async (question) => {
    next ??= openTurn();
    next.questions.add(question);
    return (await next.answers).get(question);
  };
}
