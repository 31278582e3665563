/** Why an evaluation cannot begin or continue, as one sentence for the operator. */
export class EvaluationError extends Error {
  override readonly name = 'EvaluationError';
}
