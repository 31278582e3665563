import type { Written } from '#services/recipes/shipped.ts';

export const financeRecipes: readonly Written[] = [
  {
    name: 'cash-runway',
    title: 'How do I get through a slow quarter?',
    summary: 'Keep paying what you must when income slips.',
    challenge:
      'I have {cash} in the bank, fixed costs of {monthly costs} a month, and expected income of {expected income} over the next three months. Unpaid invoices come to {open invoices}. What should I cut, collect, postpone, or sell, and in what order?',
    objectives: [
      'A plan for each of the next twelve weeks',
      'At least one month of costs left at the end',
      'Nothing cut that earns more than it costs',
    ],
    constraints: ['Taxes and wages are paid on time', 'No loan at more than 10% a year'],
    strategy: 'reasoning-focused',
    strategy_reason: 'The order of the steps matters, and each changes the next.',
  },
  {
    name: 'subscription-or-once',
    title: 'Subscription or one-time price?',
    summary: 'Decide how customers pay, based on what they use and what you must deliver.',
    challenge:
      'I sell {product} for {one-time price} and customers use it {how often}. Serving one customer costs me {monthly cost per customer} a month. Should I charge once, monthly, yearly, or in a mix, and how do I move my existing customers?',
    objectives: [
      'Predictable income that covers the fixed costs',
      'A price that a new customer understands in ten seconds',
    ],
    constraints: ['Customers who already paid keep what they bought', 'Canceling takes one click'],
    strategy: 'balanced',
    strategy_reason: 'Both answers have good arguments, so you want to see who dissents.',
  },
  {
    name: 'big-purchase',
    title: 'Is this investment worth it?',
    summary: 'Test a large purchase against what else the money could do.',
    challenge:
      'I am thinking of spending {amount} on {purchase}. I expect it to {expected effect} within {time}. My profit is about {monthly profit} a month. Should I buy it, rent it, wait, or do something else with the money?',
    objectives: [
      'The break-even point, with the assumptions behind it',
      'The one assumption that would change the answer',
    ],
    constraints: [
      'Three months of costs stay in the bank',
      "Don't let the seller's deadline force the decision",
    ],
    strategy: 'balanced',
    strategy_reason: 'Peer review catches the assumption that was too generous.',
  },
];
