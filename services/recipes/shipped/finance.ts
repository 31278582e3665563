import type { Written } from '#services/recipes/shipped.ts';

export const financeRecipes: readonly Written[] = [
  {
    name: 'cash-runway',
    title: 'How do I get through a thin quarter?',
    summary: 'Keep paying what must be paid when income falls behind.',
    challenge:
      'I have {cash} in the bank, fixed costs of {monthly costs} a month and expect {expected income} over the next three months. Open invoices come to {open invoices}. What should I cut, collect, postpone or sell, and in which order?',
    objectives: [
      'A plan for each of the next twelve weeks',
      'At least one month of costs left at the end',
      'Nothing cut that earns more than it costs',
    ],
    constraints: ['Taxes and wages are paid on time', 'No loan at more than 10 percent a year'],
    strategy: 'reasoning-focused',
    strategy_reason: 'The order of the steps matters, and each changes the next.',
  },
  {
    name: 'subscription-or-once',
    title: 'Subscription or one-time price?',
    summary: 'Choose how customers pay, by what they use and what you must deliver.',
    challenge:
      'I sell {product} for {one-time price} and customers use it {how often}. It costs me {monthly cost per customer} a month to serve one of them. Should I charge once, monthly, yearly or in a mix, and how do I move the customers that I have?',
    objectives: [
      'Predictable income that covers the fixed costs',
      'A price that a new customer understands in ten seconds',
    ],
    constraints: ['Whoever has paid once keeps what they bought', 'Cancelling takes one click'],
    strategy: 'balanced',
    strategy_reason: 'Both answers have good arguments; you want to see who dissents.',
  },
  {
    name: 'big-purchase',
    title: 'Is this investment worth it?',
    summary: 'Test a large purchase against what else the money could do.',
    challenge:
      'I am thinking of spending {amount} on {purchase}. I expect it to {expected effect} within {time}. My profit is about {monthly profit} a month. Should I buy it, rent it, wait or do something else with the money?',
    objectives: [
      'The break-even point, with the assumptions behind it',
      'The one assumption that would change the answer',
    ],
    constraints: [
      'Three months of costs stay in the bank',
      'No decision because of a deadline of the seller',
    ],
    strategy: 'balanced',
    strategy_reason: 'Reviews by other models catch the assumption that was too kind.',
  },
];
