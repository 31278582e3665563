import { problems } from './problems.ts';
import type { ProblemCode } from './problems.ts';

/**
 * A refusal with a stable code. Deciders, routes and tasks throw it; one handler turns it into an
 * RFC 9457 reply. `message` is the sentence a person may read and never repeats what was sent.
 */
export type FieldError = { field: string; message: string };

export type ProblemExtras = {
  /** A heading for the refusal; one for its status unless given. */
  title?: string;
  /** The sentence for the reply's `detail` where it differs from `message`. */
  detail?: string;
  errors?: readonly FieldError[];
  /** Seconds for the Retry-After header. */
  retryAfterSeconds?: number;
  /** Further members of the reply, such as `shortfall`; plain JSON. */
  members?: Readonly<Record<string, string | number | boolean | null>>;
};

export class Problem extends Error {
  override readonly name = 'Problem';
  readonly status: (typeof problems)[ProblemCode];
  readonly code: ProblemCode;
  readonly extras: ProblemExtras;

  constructor(code: ProblemCode, message: string, extras: ProblemExtras = {}) {
    super(message);
    this.status = problems[code];
    this.code = code;
    this.extras = extras;
  }
}
