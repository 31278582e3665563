import { ApiProblem } from './api.ts';

/** Whether the server certainly did nothing; of any other failure the end is unknown. */
export function isRefusal(error: unknown): error is ApiProblem {
  return (
    error instanceof ApiProblem &&
    error.status >= 400 &&
    error.status < 500 &&
    error.code !== 'in-progress'
  );
}
