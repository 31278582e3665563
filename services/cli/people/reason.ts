import type { Account } from '#services/identity/accounts/users.ts';
import { UsageError } from '#services/cli/command.ts';

/** The reason outlives the account in the audit log, so it must not name the user. Null: already erased. */
export function reasonOf(given: string, person: Pick<Account, 'email' | 'name'> | null): string {
  const words =
    person === null
      ? []
      : [person.email, ...person.name.split(/\s+/).filter((word) => word.length > 2)];
  const isNamed = words.some((word) => given.toLowerCase().includes(word.toLowerCase()));
  if (!/^[\p{L}\p{N} .,:;#/()_-]{1,80}$/u.test(given) || isNamed)
    throw new UsageError(
      '--reason is at most 80 letters, digits and signs, without the name or address of the person',
    );
  return given;
}
