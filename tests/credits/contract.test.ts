import { describe, expect, test } from 'vitest';
import * as v from 'valibot';
import { CheckUsageRequest, HistoryQuery } from '#services/credits/contract.ts';

describe('the query of the history', () => {
  test('the query of the history takes up to 200 lines, as JSON or CSV', () => {
    expect(v.parse(HistoryQuery, {})).toEqual({ format: 'json' });
    expect(v.parse(HistoryQuery, { limit: '200', format: 'csv' })).toEqual({
      limit: 200,
      format: 'csv',
    });
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
    { format: 'pdf' },
  ])('the query of the history refuses %o', (query) => {
    expect(v.safeParse(HistoryQuery, query).success).toBe(false);
  });
});

describe('usage checks', () => {
  test.each([0, -14, 14.5, 1e9, '14', null])(
    'a usage check of %s credits is refused',
    (required_credits) => {
      expect(v.safeParse(CheckUsageRequest, { required_credits }).success).toBe(false);
    },
  );
});
