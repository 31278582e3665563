import { describe, expect, test } from 'vitest';
import * as v from 'valibot';
import {
  CheckUsageReply,
  CheckUsageRequest,
  HistoryQuery,
  checkUsage,
} from '#services/credits/contract.ts';

describe('the query of the history', () => {
  test('reads 50 lines unless told', () => {
    expect(v.parse(HistoryQuery, {})).toEqual({ limit: 50 });
    expect(v.parse(HistoryQuery, { limit: '200' })).toEqual({ limit: 200 });
  });

  test.each([
    { limit: '0' },
    { limit: '201' },
    { limit: '-1' },
    { limit: '1.5' },
    { limit: '5e1' },
    { limit: '' },
    { limit: 'ten' },
    { before: 'not an id' },
    { limits: '5' },
  ])('refuses %o', (query) => {
    expect(v.safeParse(HistoryQuery, query).success).toBe(false);
  });
});

describe('a usage check', () => {
  test.each([0, -14, 14.5, 1e9, '14', null])('of %s credits is refused', (required_credits) => {
    expect(v.safeParse(CheckUsageRequest, { required_credits }).success).toBe(false);
  });

  test.each([
    [14, 14, 0, true, 0],
    [14, 20, 0, true, 0],
    [14, 10, 0, false, 4],
    [14, 20, 1, false, 0],
  ])('of %i on %i with a debt of %i', (required, available, debt, sufficient, shortfall) => {
    const reply = checkUsage(required, {
      available_credits: available,
      debt_credits: debt,
      spending_frozen: false,
    });
    expect(v.parse(CheckUsageReply, reply)).toEqual({
      has_sufficient_credits: sufficient,
      spending_frozen: false,
      required_credits: required,
      current_balance: available,
      shortfall,
    });
  });
});
