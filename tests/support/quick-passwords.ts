import { createHash } from 'node:crypto';
import { vi } from 'vitest';

/**
 * Replaces the real hash in every test that is not about passwords, because the real one would take most
 * of their time and memory.
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
