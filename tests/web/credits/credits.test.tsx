import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReasonCode, TransactionType } from '#services/credits/contract.ts';
import { ApiProblem } from '#web/api/api.ts';
import {
  barShares,
  consumptionSentence,
  longDay,
  longMonth,
  shareOf,
  shortDay,
  shortMonth,
} from '#web/features/credits/consumption.ts';
import { filtered, foundSentence, monthsOf } from '#web/features/credits/history/history-filter.ts';
import {
  refundFailure,
  refundOf,
  refundWords,
} from '#web/features/credits/purchases/purchase-words.ts';
import { purchasesQuery } from '#web/features/credits/purchases/purchase-queries.ts';
import {
  statementMonthsQuery,
  statementQuery,
} from '#web/features/credits/statement/statement-queries.ts';
import { takenBackWords } from '#web/features/credits/purchases/taken-back.ts';
import { creditTier, lowCredits, stockWords } from '#web/features/credits/tier.ts';
import {
  lineTarget,
  lineWords,
  transactionWords,
} from '#web/features/credits/history/transaction-words.ts';
import { historyCsv } from '#services/credits/history-csv.ts';
import { csvFile } from '#services/platform/csv.ts';
import { money } from '#web/ui/text/figures.ts';
import {
  costWords,
  partWords,
  shareOfCredits,
  tokenWords,
} from '#web/features/credits/models/model-words.ts';
import { analytics } from '#tests/web/support/member-site.ts';
import { ledger, purchaseOf } from '#tests/web/support/credit-story.ts';

describe('the tier of a balance', () => {
  it('the tier of a balance changes at 50, 20 and 10 credits', () => {
    expect([500, 50, 49, 20, 19, 10, 9, 0].map(creditTier)).toEqual([
      'plenty',
      'plenty',
      'enough',
      'enough',
      'low',
      'low',
      'very-low',
      'very-low',
    ]);
  });

  it('the page offers more credits below 20', () => {
    expect(lowCredits).toBe(20);
  });

  it('a balance is well stocked above 20 credits, not at 20', () => {
    const wordsOf = (available_credits: number) =>
      stockWords({ available_credits, debt_credits: 0, spending_frozen: false });
    expect([21, 20, 0].map(wordsOf)).toEqual(['Well stocked', 'Running low', 'Running low']);
  });
});

describe('what was bought, used and is left', () => {
  const nothing = {
    available_credits: 0,
    reserved_credits: 0,
    debt_credits: 0,
    spending_frozen: false,
    total_purchased: 0,
    total_consumed: 0,
    total_credits: 0,
    used_credits: 0,
  };
  const bought = { total_purchased: 20, total_credits: 20 };
  const used = { total_consumed: 14, used_credits: 14 };

  it.each([
    ['nothing', nothing, null],
    ['an unused rest', { ...nothing, ...bought, ...used, available_credits: 6 }, null],
    ['a held rest', { ...nothing, ...bought, ...used, reserved_credits: 6 }, null],
    ['a refund', { ...nothing, ...bought, ...used }, '6 refunded or reversed'],
    [
      'a dispute of credits that were used, too',
      { ...nothing, ...bought, ...used, debt_credits: 14 },
      '20 refunded or reversed',
    ],
    ['figures of two moments', { ...nothing, ...bought, ...used, available_credits: 20 }, null],
  ])('bought, used and returned credits add up: %s', (_, balance, words) => {
    expect(takenBackWords(balance, 'en-US')).toBe(words);
  });
});

describe('the bars of the chart', () => {
  const months = [
    { period: '2026-09', credits: 0 },
    { period: '2026-10', credits: 28 },
    { period: '2026-11', credits: 14 },
  ];

  it('the bars start at zero and are scaled to the tallest', () => {
    expect(barShares(months)).toEqual([0, 1, 0.5]);
  });

  it('a month with more returned than used has a bar of 0', () => {
    expect(barShares([{ period: '2026-11', credits: -7 }])).toEqual([0]);
  });

  it('the bars never leave their frame', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -1_000_000, max: 1_000_000 })), (amounts) => {
        const shares = barShares(amounts.map((credits) => ({ period: '2026-11', credits })));
        return shares.every((share) => share >= 0 && share <= 1);
      }),
    );
  });

  it('the bars name UTC months and days in every time zone', () => {
    expect(shortMonth('2026-11', 'en-US')).toBe('Nov');
    expect(longMonth('2026-01', 'en-US')).toBe('January 2026');
    expect(longDay('2026-01-01', 'en-US')).toBe('January 1, 2026');
  });

  it('the bars are summarised in a sentence', () => {
    expect(consumptionSentence(months, 'month', 'en-US')).toBe(
      'Credits used, September 2026 to November 2026. 14 this month. Highest: 28 in October 2026.',
    );
    const days = [
      { period: '2026-11-19', credits: 14 },
      { period: '2026-11-20', credits: 0 },
    ];
    expect(consumptionSentence(days, 'day', 'en-US')).toBe(
      'Credits used, November 19, 2026 to November 20, 2026. 0 today. Highest: 14 on November 19, 2026.',
    );
    expect(consumptionSentence([], 'day')).toBe('No usage yet.');
  });
});

describe('what a model cost', () => {
  it.each([
    [0, '0'],
    [1, '<0.1'],
    [49, '<0.1'],
    [50, '0.1'],
    [285, '0.3'],
    [8260, '8.3'],
    [14_000, '14'],
  ])('a share of %i thousandths of a credit is shown as %s', (millicredits, words) => {
    expect(shareOfCredits(millicredits, 'en-US')).toBe(words);
  });

  it('a small share of the credits is below one percent and never nothing', () => {
    expect([partWords(5, 1000), partWords(120, 1000), partWords(0, 1000), partWords(0, 0)]).toEqual(
      ['<1%', '12%', '0%', '--'],
    );
  });

  it('a cost is a lower bound while a call of it is not priced', () => {
    const [model] = analytics.models;
    if (!model) throw new Error('The analytics have a model');
    expect(costWords(model, 'en-US')).toBe('$0.021');
    expect(costWords({ ...model, cost_is_minimum: true }, 'en-US')).toBe('at least $0.021');
    expect(tokenWords(model, 'en-US')).toBe('8,123 in, 2,345 out');
    expect(tokenWords({ ...model, input_tokens: 0, output_tokens: 0 })).toBe('--');
  });
});

describe('a line of the ledger in words', () => {
  it('every type and cause of a line has a word, whatever its sign', () => {
    expect(TransactionType.options.map((type) => transactionWords[type])).toEqual([
      'Purchase',
      'Consumption',
      'Refund',
      'Bonus',
      'Other',
    ]);
    for (const reason_code of ReasonCode.options)
      for (const amount of [7, -7]) expect(lineWords({ reason_code, amount }).word).not.toBe('');
  });

  it.each([
    ['cash_refund', -12, 'Money refunded'],
    ['cash_refund', 12, 'Refund failed'],
    ['dispute', -12, 'Dispute'],
    ['dispute', 12, 'Dispute closed'],
    ['inquiry', -12, 'Inquiry'],
    ['inquiry', 12, 'Inquiry ended'],
    ['debt', -12, 'Debt'],
    ['debt', 12, 'Debt cleared'],
  ] as const)(
    'a line %s of %i credits is called "%s" and says why',
    (reason_code, amount, word) => {
      const words = lineWords({ reason_code, amount });
      expect(words.word).toBe(word);
      expect(words.note).not.toBeNull();
    },
  );

  it('a line links to its run, else to its purchase, else to the purchase of its lot', () => {
    const ofRun = { reason_code: 'run', run_id: 'opt_1', lot_id: 'lot_1' } as const;
    expect(lineTarget(ofRun)).toEqual({ kind: 'run', runId: 'opt_1' });
    expect(lineTarget({ reason_code: 'purchase', purchase_id: 'pur_1', lot_id: 'lot_1' })).toEqual({
      kind: 'purchase',
      anchor: 'purchase-pur_1',
    });
    expect(lineTarget({ reason_code: 'dispute', lot_id: 'lot_1' })).toEqual({
      kind: 'purchase',
      anchor: 'lot-lot_1',
    });
    // Nothing was paid for it, so there is no purchase to show.
    expect(lineTarget({ reason_code: 'bonus', lot_id: 'lot_1' })).toBeNull();
  });
});

describe('a history that is filtered', () => {
  it('the history keeps the lines of a type, and all without one', () => {
    expect(filtered(ledger, 'bonus').map(({ amount }) => amount)).toEqual([50]);
    expect(filtered(ledger, undefined)).toHaveLength(ledger.length);
  });

  it('the history counts returned money as a refund', () => {
    const refunds = filtered(ledger, 'refund').map((line) => line.reason_code);
    expect(refunds).toContain('cash_refund');
    expect(refunds).toContain('run_return');
  });

  it('the history names the months of its lines once each, newest first', () => {
    const lines = [
      '2026-11-20T09:00:00.000Z',
      '2026-11-01T00:00:00.000Z',
      '2026-10-31T23:59:59.999Z',
    ].flatMap((created_at) => ledger.slice(0, 1).map((line) => ({ ...line, created_at })));
    expect(monthsOf(lines)).toEqual(['2026-11', '2026-10']);
  });

  it('the history says what it left out and how far it was searched', () => {
    const said = (filter: Parameters<typeof foundSentence>[0], isAll: boolean) =>
      foundSentence(filter, { shown: 2, searched: 50, isAll }, 'en-US');
    expect(said({}, true)).toBeNull();
    expect(said({ type: 'refund' }, false)).toBe(
      'Refund: 2 of the newest 50 transactions. Load more to search older ones.',
    );
    expect(said({ type: 'refund' }, true)).toBe('Refund: 2 of all 50 transactions.');
    expect(said({ month: '2026-11' }, true)).toBe('50 transactions in November 2026.');
    expect(said({ type: 'refund', month: '2026-11' }, true)).toBe(
      'Refund: 2 of 50 transactions in November 2026.',
    );
  });
});

describe('a table for spreadsheets', () => {
  it('a CSV quotes what would end a cell, and contains no formulas', () => {
    const table = csvFile([
      ['a,b', 'say "x"', -3, undefined],
      ['=1+1', '-2', ' @x', 'line\nline'],
    ]);
    expect(table).toBe(`\uFEFF"a,b","say ""x""",-3,\r\n'=1+1,'-2,' @x,"line\nline"\r\n`);
  });

  it("the history's CSV has a column for every member of a line, and a row for each line", () => {
    const [head, first, ...rest] = historyCsv(ledger).split('\r\n');
    expect(head).toBe(
      '\uFEFFid,created_at,transaction_type,reason_code,description,amount,balance_after,run_id,purchase_id,lot_id',
    );
    expect(first).toContain(',consumption,run,Balanced run,-14,86,opt_');
    expect(rest).toHaveLength(ledger.length);
  });
});

describe('money', () => {
  it('an amount is written to its smallest unit, with its minus first', () => {
    expect(money(1_000, 'usd', 'en-US')).toBe('$10.00');
    expect(money(-615, 'usd', 'en-US')).toBe('−$6.15');
    expect(money(1_850, 'eur', 'en-US')).toBe('€18.50');
    expect(money(500, 'jpy', 'en-US')).toBe('¥500');
  });

  it('a refund names its money and credits with its outcome', () => {
    const refund = { credits: 1, amount_cents: 50, currency: 'usd' };
    const amount = money(50, 'usd');
    expect(refundWords({ ...refund, status: 'pending' }).note).toBe(
      `${amount} for 1 credit is on its way to you.`,
    );
    expect(refundWords({ ...refund, status: 'failed' }).note).toBe(
      `We couldn't refund ${amount}. 1 credit is back in your balance.`,
    );
  });

  it('the refund of an account is the sum of its purchases', () => {
    const refundable = { credits: 12, amount_cents: 600, until: '', ends_plan: false };
    expect(refundOf([purchaseOf(1, { refundable }), purchaseOf(2, { refundable })])).toEqual({
      credits: 24,
      money: '$12.00',
    });
    expect(refundOf([purchaseOf(3, { refundable: null })])).toBeNull();
  });

  it('a refund without a response may have happened, and a refused one has not', () => {
    const failure = (status: number) =>
      refundFailure(new ApiProblem({ status, code: 'any', message: 'No.' }));
    for (const status of [0, 500, 503]) {
      expect(failure(status).certainty).toContain("We don't know");
      expect(failure(status).isFinal).toBe(false);
    }
    for (const status of [400, 404, 409])
      expect(failure(status)).toEqual({
        sentence: 'No.',
        certainty: 'Nothing was refunded.',
        isFinal: true,
      });
    for (const status of [401, 429]) expect(failure(status).isFinal).toBe(false);
  });
});

describe('a share of what was used', () => {
  it('a share is never above 1 nor below 0', () => {
    expect([shareOf(8, 16), shareOf(5, 0), shareOf(20, 14), shareOf(-1, 14)]).toEqual([
      0.5, 0, 1, 0,
    ]);
  });
});

describe('what follows from the ledger', () => {
  it('every query of the ledger is cached below the key that the stream invalidates', () => {
    for (const { queryKey } of [purchasesQuery, statementMonthsQuery, statementQuery('2026-11')])
      expect(queryKey[0]).toBe('credits');
  });
});

describe('the day of a line', () => {
  it('the day of a line is a UTC day', () => {
    expect(shortDay('2026-11-01T00:00:00.000Z', 'en-US')).toBe('Nov 1');
  });
});
