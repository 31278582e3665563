import { Stripe } from 'stripe';
import { Problem } from '#services/platform/problem.ts';
import { ProviderRefused } from '#services/payments/provider.ts';

/**
 * What becomes of the provider's errors. Their messages may quote what was sent, so none is passed on:
 * what is kept is their kind, their code and the id of the request, by which the provider finds it.
 */

/** Seconds after which to try again, unless the provider names some. */
const retryAfterSeconds = 5;

/**
 * One call of the provider. `what` names it in the log.
 *
 * @throws Problem 503 `payment-provider`; ProviderRefused
 */
export async function ask<Answer>(what: string, call: () => Promise<Answer>): Promise<Answer> {
  try {
    return await call();
  } catch (error) {
    throw translated(what, error);
  }
}

/** Null when the provider says that there is no such thing. */
export async function askForOne<Answer>(
  what: string,
  call: () => Promise<Answer>,
): Promise<Answer | null> {
  return orNull(ask(what, call));
}

/** The answer, or null where what was asked about is not there. */
export async function orNull<Answer>(asked: Promise<Answer>): Promise<Answer | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ProviderRefused && error.code === 'resource_missing') return null;
    throw error;
  }
}

/** Something answered, and it was not what the provider's answers are: a proxy, or another version. */
export class UnexpectedAnswer extends Error {
  override readonly name = 'UnexpectedAnswer';
  readonly code: string;

  /** `what` was expected: no part of the answer. */
  constructor(what: string) {
    super(`The payment provider's answer is not ${what}`);
    this.code = what;
  }
}

function translated(what: string, error: unknown): unknown {
  if (!(error instanceof Stripe.errors.StripeError)) return error;
  if (error instanceof Stripe.errors.StripeIdempotencyError)
    return new Error(
      `The payment provider was asked for the same ${what} with other figures than before${requestOf(error)}`,
    );
  if (
    error instanceof Stripe.errors.StripeCardError ||
    error instanceof Stripe.errors.StripeInvalidRequestError
  )
    return new ProviderRefused(codeOf(error), fieldOf(error));
  if (
    error instanceof Stripe.errors.StripeAuthenticationError ||
    error instanceof Stripe.errors.StripePermissionError
  )
    return new Error(
      `The payment provider does not accept the key for: ${what}${requestOf(error)}`,
    );
  // A connection that failed, a time-out, too many calls, its own faults, and answers that are no JSON.
  const away = new Problem(
    'payment-provider',
    "The payment provider isn't responding. Please try again in a moment.",
    { retryAfterSeconds: waitOf(error) },
  );
  away.cause = new Error(`${what}: ${error.type} ${error.statusCode ?? ''}${requestOf(error)}`);
  return away;
}

function codeOf(error: InstanceType<typeof Stripe.errors.StripeError>): string {
  const code = error.code ?? error.rawType ?? '';
  return /^[a-z0-9_]{1,80}$/.test(code) ? code : 'invalid_request';
}

function fieldOf({ param }: InstanceType<typeof Stripe.errors.StripeError>): string | null {
  return param !== undefined && /^[a-z0-9_[\]]{1,80}$/.test(param) ? param : null;
}

function requestOf(error: InstanceType<typeof Stripe.errors.StripeError>): string {
  const id = error.requestId ?? '';
  return /^req_\w{1,80}$/.test(id) ? ` (${id})` : '';
}

function waitOf(error: InstanceType<typeof Stripe.errors.StripeError>): number {
  const named = Number(error.headers?.['retry-after']);
  return Number.isSafeInteger(named) && named > 0 && named <= 3600 ? named : retryAfterSeconds;
}
