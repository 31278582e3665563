import { Problem } from '#services/platform/problem.ts';
import type { PaymentDependencies } from './dependencies.ts';
import { ProviderRefused } from './provider.ts';

/** How the provider knows a person. Our row of it may outlive what the provider knows. */

/**
 * Asks the provider for something on behalf of a person, who is introduced first. One whom it does not
 * know any more, because the customer was deleted there or is of another of its accounts, is introduced
 * again, once.
 *
 * @throws Problem 409 `account-closed`
 */
export async function withCustomer<Answer>(
  dependencies: PaymentDependencies,
  userId: string,
  ask: (customerId: string) => Promise<Answer>,
): Promise<Answer> {
  const known = await knownCustomer(dependencies, userId);
  const customerId = known ?? (await introduce(dependencies, userId, null));
  try {
    return await ask(customerId);
  } catch (error) {
    if (!isUnknownCustomer(error)) throw error;
    dependencies.log.warn({ user_id: userId }, 'The provider does not know a customer any more');
    return ask(await introduce(dependencies, userId, customerId));
  }
}

export async function knownCustomer(
  { pool }: Pick<PaymentDependencies, 'pool'>,
  userId: string,
): Promise<string | null> {
  const { rows } = await pool.query<{ customer_id: string }>(
    'select customer_id from stripe_customer where user_id = $1',
    [userId],
  );
  return rows[0]?.customer_id ?? null;
}

/** @throws Problem 409 `account-closed` */
export async function requirePerson(
  { billedPerson }: PaymentDependencies,
  userId: string,
): Promise<{ email: string; name: string }> {
  const person = await billedPerson(userId);
  if (person === null) throw new Problem('account-closed', 'This account is closed.');
  return person;
}

/**
 * Two calls at once introduce the same person under the same key and hear of the same customer, so the
 * second row repeats both columns of the first; should the provider make two of it all the same, the later
 * one is taken back. The attempt is written down first: a process that is killed
 * in the middle, or loses the answer, may have left a customer whom an erasure has to find.
 */
async function introduce(
  dependencies: PaymentDependencies,
  userId: string,
  replaces: string | null,
): Promise<string> {
  const { provider } = dependencies;
  const { email, name } = await requirePerson(dependencies, userId);
  const introduction = await beginIntroduction(dependencies, userId);
  const customer = { userId, email, name, replaces };
  const created = await provider.createCustomer(customer).catch(async (error: unknown) => {
    if (hasMadeNone(error)) await endIntroductions(dependencies, [introduction]);
    throw error;
  });
  await keepCustomer(dependencies, userId, { created, replaces });
  const kept = await knownCustomer(dependencies, userId);
  if (kept === null) {
    // Erased meanwhile; or the customer is another user's, and nothing may be sold to them.
    await requirePerson(dependencies, userId);
    throw new Error('The provider knows another user as this person');
  }
  if (kept !== created) await provider.deleteCustomer(created);
  await endIntroductions(dependencies, [introduction]);
  return kept;
}

// --- whom the provider may know without our having its id ---

async function beginIntroduction(
  { pool, clock }: PaymentDependencies,
  userId: string,
): Promise<string> {
  const { rows } = await pool.query<{ id: string }>(
    'insert into customer_introduction (user_id, begun_at) values ($1, $2) returning id::text',
    [userId, new Date(clock())],
  );
  return rows[0]!.id;
}

async function endIntroductions(
  { pool }: PaymentDependencies,
  ids: readonly string[],
): Promise<void> {
  await pool.query('delete from customer_introduction where id = any ($1::bigint[])', [ids]);
}

/** Any other answer may have been lost on its way. */
function hasMadeNone(error: unknown): boolean {
  const isUnavailable = error instanceof Problem && error.code === 'payments-unavailable';
  return isUnavailable || error instanceof ProviderRefused;
}

/** So long a customer may still be in the making, with all repeats of the call. */
const introductionMs = 120_000;
/** Of two clocks one may be ahead. */
const skewMs = 600_000;

/**
 * Takes from the provider whatever it knows of a person: the customer that we have the id of, and those
 * of introductions whose end is unknown. False while one may still be under way.
 */
export async function forgetCustomers(
  dependencies: PaymentDependencies,
  userId: string,
): Promise<boolean> {
  const { pool, provider, clock } = dependencies;
  const known = await knownCustomer(dependencies, userId);
  const begun = await openIntroductions(dependencies, userId);
  if (begun.some(({ at }) => clock() - at < introductionMs)) return false;
  const customers = new Set(known === null ? [] : [known]);
  for (const { at } of begun) {
    const made = { since: at - skewMs, until: at + introductionMs + skewMs };
    for (const id of await provider.findCustomers(userId, made)) customers.add(id);
  }
  for (const id of customers) await provider.deleteCustomer(id);
  await pool.query('delete from stripe_customer where user_id = $1 and customer_id = $2', [
    userId,
    known,
  ]);
  await endIntroductions(
    dependencies,
    begun.map(({ id }) => id),
  );
  return true;
}

type Introduction = { id: string; at: number };

async function openIntroductions(
  { pool }: PaymentDependencies,
  userId: string,
): Promise<Introduction[]> {
  const { rows } = await pool.query<{ id: string; begun_at: Date }>(
    'select id::text, begun_at from customer_introduction where user_id = $1 order by id',
    [userId],
  );
  return rows.map(({ id, begun_at: begunAt }) => ({ id, at: begunAt.getTime() }));
}

async function keepCustomer(
  { pool, clock }: PaymentDependencies,
  userId: string,
  { created, replaces }: { created: string; replaces: string | null },
): Promise<void> {
  const at = new Date(clock());
  if (replaces === null)
    await pool.query(
      `insert into stripe_customer (user_id, customer_id, created_at) values ($1, $2, $3)
       on conflict do nothing`,
      [userId, created, at],
    );
  else
    await pool.query(
      `update stripe_customer set customer_id = $2, created_at = $3
       where user_id = $1 and customer_id = $4`,
      [userId, created, at, replaces],
    );
}

function isUnknownCustomer(error: unknown): boolean {
  return (
    error instanceof ProviderRefused &&
    error.code === 'resource_missing' &&
    error.field === 'customer'
  );
}
