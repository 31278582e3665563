import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { numbersNotIn } from '#services/optimizations/prompts/numbers.ts';

const argued = (text: string) => [{ text, isStep: false }];
const step = (text: string) => [{ text, isStep: true }];

describe('the number check', () => {
  // cspell:disable
  it.each([
    ['1,000 buyers', '1000'],
    ['$5k', '5,000'],
    ['€2.5 million', '2500000'],
    ['$5.0', '5'],
    ['12.500 €', '12,500'],
    ['1.500 €', '1500'],
    ['3 Mio. €', '3,000,000'],
    ['CHF 12’000', '12000'],
    ['30%', '30 percent'],
    ['0,5 Prozent', '0.5 %'],
    ['$79', 'charge 79'],
    ['€1,250', '1 250 € im Monat'],
    ['1.250 €', '1\u202f250 €'],
    ['12 500 €', '12,500'],
    ['560 orders last month', 'Orders per month: 120 340 560'],
    ['Revenue fell from $950 to $720.', 'Revenue 950 880 720'],
    ['Revenue fell from $950 to $720.5.', 'Month,950,880,720.5\nRevenue'],
    ['€1,250 and €880', '1 250 880'],
    ['450 €', 'Room 12 450 €'],
    ['€340k', '120 340 k€'],
    ["2 millions d'euros", '2 000 000 €'],
    ['1.1 million', '1,100,000'],
    ['3 milliards', '3 Mrd. €'],
    ['2 mil millones de euros', '2,000,000,000'],
    ['90 mil euros', '90,000'],
    ['90 mil. Kč', '90 000 000'],
    ['₹12.5 lakh', '12,50,000'],
    ['₹3 crore', '₹30,000,000'],
    ['12 T€', '12000'],
    ['$2B', '2 billion'],
    ['$12MM', '12,000,000'],
  ])('the number check finds "%s" in "%s"', (text, source) => {
    expect(numbersNotIn(argued(text), [source], [])).toEqual([]);
  });

  it.each([
    ['$80', '$79', '$80'],
    ['12%', '10% and 20%', '12%'],
    ['1500 €', '$150', '1500 €'],
    ['250 calls', '25 calls', '250'],
    ['€3k', '3 €', '€3k'],
    ['34 customers', '30 customers', '34'],
    ['€12,000', '12 customers', '€12,000'],
    ['90.000 €', '90 days', '90.000 €'],
    ['€5 000 000', '5 hours', '€5 000 000'],
    ['＄９９９９９', '$9', '$99999'],
    ['120 340 €', 'from 120 to 340', '120 340 €'],
    ['€120,340', '120 and 340', '€120,340'],
    ['€120k', '120 340 k€', '€120k'],
    ['€250', '€1,250 and 3,250 clients', '€250'],
    ['12 millions € tout de suite', '12 clients', '12 millions €'],
    ...['mln', 'milliards', 'mil', 'lakh', 'crore', 'mille', 'MM', 'млн'].map(
      (word): [string, string, string] => [`12 ${word}`, '12 clients', `12 ${word}`],
    ),
    ['€12·000', '12', '€12·000'],
    ...[
      '₹99',
      'Rs. 99',
      'Rs99',
      'R$99',
      'kr 99',
      '99 kr',
      '99 zł',
      'SEK 99',
      '99 rupees',
      '₿9',
    ].map((price): [string, string, string] => [price, '98', price]),
  ])('the number check names "%s", which "%s" does not hold', (text, source, named) => {
    expect(numbersNotIn(argued(text), [source], [source])).toEqual([named]);
  });

  it.each([
    'Q3 and B2B',
    'claim c12',
    'in 2027',
    '3 of 5 calls',
    'on 14 March',
    'a gap of 12 mm',
    '9 ft wide',
    'try 5 of them',
    '3 millennials',
    '8 krill',
    'for 30 sek',
  ])('the number check passes "%s", which is no figure of the question', (text) => {
    expect(numbersNotIn(argued(text), [], [])).toEqual([]);
  });

  it('the number check checks the units of the question, however small the number', () => {
    const question = ['I have 34 customers and 2 employees.'];
    expect(numbersNotIn(argued('5 customers leave.'), question, question)).toEqual(['5']);
    expect(numbersNotIn(argued('5 letters leave.'), question, question)).toEqual([]);
  });

  it.each(['Call 8 customers.', 'Within 60 days.', 'By 14 March', 'nach 6 Wochen'])(
    'the number check lets the step "%s" choose its own small counts, durations and dates',
    (text) => {
      const question = ['34 customers, 30 days, 10 March, 4 Wochen'];
      expect(numbersNotIn(step(text), question, question)).toEqual([]);
    },
  );

  it.each(['Offer 20%.', 'Spend $500.', 'Write to 400 people.'])(
    'the number check names the invented figure of the step "%s"',
    (text) => {
      expect(numbersNotIn(step(text), [], [])).toHaveLength(1);
    },
  );
  // cspell:enable

  it('the number check names a number as written, once', () => {
    expect(numbersNotIn(argued('$700 of $100, then $700 again, $1,5'), ['100'], [])).toEqual([
      '$700',
      '$1,5',
    ]);
  });

  it('the number check knows all numbers of a text that is its own source', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(numbersNotIn(argued(text), [text], [text])).toEqual([]);
      }),
    );
  });
});
