import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import pLimit from 'p-limit';
import { Problem } from '#services/platform/problem.ts';

/**
 * argon2id with the parameters of OWASP's first choice for low memory (19 MiB, 2 passes, 1 lane), as
 * a PHC string that carries them. So they can be raised: older hashes still verify, and a login replaces
 * them. At most four hashes run at once, because each takes a core for tens of milliseconds.
 */
const current: Cost = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };

const passwordLimits = { hashesAtOnce: 4, waiting: 256, retryAfterSeconds: 2 } as const;

const atOnce = pLimit(passwordLimits.hashesAtOnce);
const hashWith = promisify(argon2);
let underWay = 0;

type Cost = { memory: number; passes: number; parallelism: number; tagLength: number };

/** @throws Problem 503 `busy` when too many hashes are waiting */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const hash = await argon2id(password, salt, current);
  const { memory, passes, parallelism } = current;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${plain64(salt)}$${plain64(hash)}`;
}

/**
 * Does the same work when there is no hash to compare with, so that the time reveals nothing.
 *
 * @throws Problem 503 `busy` when too many hashes are waiting
 */
export async function verifyPassword(password: string, stored: string | null): Promise<boolean> {
  const known = stored === null ? null : parsePhc(stored);
  const { salt, expected, cost } = known ?? noAccount;
  const hash = await argon2id(password, salt, cost);
  return timingSafeEqual(expected, hash) && known !== null;
}

/** Whether passwords can be tried against a stored hash more cheaply than against one made today. */
export function needsRehash(stored: string): boolean {
  const known = parsePhc(stored);
  if (known === null) return true;
  const { memory, passes, tagLength } = known.cost;
  return memory < current.memory || passes < current.passes || tagLength < current.tagLength;
}

type Stored = { salt: Buffer; expected: Buffer; cost: Cost };

const noAccount: Stored = {
  salt: randomBytes(16),
  expected: randomBytes(current.tagLength),
  cost: current,
};

const phcPattern =
  /^\$argon2id\$v=19\$m=(\d{1,8}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

function parsePhc(stored: string): Stored | null {
  const match = phcPattern.exec(stored);
  if (match === null) return null;
  const [, memory, passes, parallelism, salt = '', hash = ''] = match;
  const expected = Buffer.from(hash, 'base64');
  return {
    salt: Buffer.from(salt, 'base64'),
    expected,
    cost: {
      memory: Number(memory),
      passes: Number(passes),
      parallelism: Number(parallelism),
      tagLength: expected.length,
    },
  };
}

async function argon2id(password: string, salt: Buffer, cost: Cost): Promise<Buffer> {
  if (underWay >= passwordLimits.waiting)
    throw new Problem('busy', 'Sign-in is busy right now. Please try again in a moment.', {
      retryAfterSeconds: passwordLimits.retryAfterSeconds,
    });
  underWay += 1;
  try {
    return await atOnce(async () =>
      hashWith('argon2id', { message: Buffer.from(password, 'utf8'), nonce: salt, ...cost }),
    );
  } finally {
    underWay -= 1;
  }
}

function plain64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
