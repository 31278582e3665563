import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { createSemaphore } from '#services/platform/semaphore.ts';

/**
 * argon2id with the parameters of OWASP's first choice for low memory (19 MiB, 2 passes, 1 lane), as
 * a PHC string. At most four hashes run at once: each takes a core for tens of milliseconds, and a
 * burst of logins must not take the whole process.
 */
const cost = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 } as const;
const atOnce = createSemaphore(4);
const hashWith = promisify(argon2);

export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const hash = await argon2id(password, salt);
  return `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${plain64(salt)}$${plain64(hash)}`;
}

/** Takes the same work when there is no hash to compare with, so that time tells nothing. */
export async function verifyPassword(password: string, stored: string | null): Promise<boolean> {
  const parts = stored === null ? null : phcPattern.exec(stored);
  const salt = Buffer.from(parts?.[1] ?? unknownSalt, 'base64');
  const hash = await argon2id(password, salt);
  const expected = parts ? Buffer.from(parts[2] ?? '', 'base64') : null;
  return expected !== null && expected.length === hash.length && timingSafeEqual(expected, hash);
}

const phcPattern = new RegExp(
  `^\\$argon2id\\$v=19\\$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}\\$([^$]+)\\$([^$]+)$`,
);
const unknownSalt = randomBytes(16).toString('base64');

async function argon2id(password: string, salt: Buffer): Promise<Buffer> {
  return atOnce.run(async () =>
    hashWith('argon2id', { message: Buffer.from(password, 'utf8'), nonce: salt, ...cost }),
  );
}

function plain64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
