import { createHash } from 'node:crypto';
import { vi } from 'vitest';

/**
 * In place of the real hash, in every file that is not about passwords: what the real one takes in
 * time and memory would be most of what these files take.
 */
vi.mock(import('#services/identity/passwords/passwords.ts'), async (original) => ({
  ...(await original()),
  hashPassword: async (password) => quick(password),
  verifyPassword: async (password, stored) => stored === quick(password),
  needsRehash: () => false,
}));

function quick(password: string): string {
  return `quick$${createHash('sha256').update(password).digest('base64url')}`;
}
