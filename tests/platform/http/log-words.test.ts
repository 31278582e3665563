import pg from 'pg';
import { expect, test } from 'vitest';
import { logWords } from '#services/platform/http/log-words.ts';

const canceled = Object.assign(new pg.DatabaseError('canceling statement', 19, 'error'), {
  code: '57014',
});
const duplicate = Object.assign(new pg.DatabaseError('duplicate key', 13, 'error'), {
  code: '23505',
});
const unconnected = new Error('timeout exceeded when trying to connect');

test.each([
  [canceled, 'GET', '/api/optimizations', 'Database query timeout'],
  [unconnected, 'GET', '/api/recipes', 'Database query timeout'],
  [canceled, 'POST', '/api/auth/signup', 'Database insert timeout'],
  [unconnected, 'GET', '/api/auth/session', 'Auth user fetch timeout'],
  [canceled, 'GET', '/api/users/me', 'Auth user fetch timeout'],
  [duplicate, 'POST', '/api/auth/signup', 'A request failed'],
  [new TypeError('x is not a function'), 'GET', '/api/users/me', 'A request failed'],
])('the log calls %s at %s %s "%s"', (error, method, path, words) => {
  expect(logWords(error, { method, path })).toBe(words);
});
