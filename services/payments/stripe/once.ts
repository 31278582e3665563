import { Stripe } from 'stripe';

/** A key is tried no further: after so many faults the buyer begins another purchase. */
const keysAtMost = 20;

type Making<Made> = {
  make: (options: Stripe.RequestOptions) => Promise<Made>;
  /** What an earlier try has made; null when there is none. */
  find: () => Promise<Made | null>;
};

/**
 * Makes something once under a key. The provider keeps its first answer to a key for a day, and a fault
 * of its own (5xx) is such an answer, whether or not the thing was made. So it is looked for, and where
 * it is not there it is made under the next key. The keys follow each other in the same order for
 * everybody, so two who ask at once are answered with the same thing; and the next one is used only
 * after a fault that was read from memory: that try has certainly ended.
 *
 * Only for what is harmless should it come to be twice after all, unknown to anybody: never for money.
 *
 * @throws StripeError of the last try
 */
export async function makeOnce<Made>(key: string, { make, find }: Making<Made>): Promise<Made> {
  for (let count = 1; ; count += 1) {
    try {
      return await make({ idempotencyKey: count === 1 ? key : `${key}:${count}` });
    } catch (error) {
      if (!isFault(error)) throw error;
      const made = await find();
      if (made !== null) return made;
      if (count === keysAtMost || !isFromMemory(error)) throw error;
    }
  }
}

type StripeError = InstanceType<typeof Stripe.errors.StripeError>;

function isFault(error: unknown): error is StripeError {
  return error instanceof Stripe.errors.StripeError && (error.statusCode ?? 0) >= 500;
}

function isFromMemory({ headers }: StripeError): boolean {
  return headers?.['idempotent-replayed'] === 'true';
}
