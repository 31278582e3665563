import type { Written } from '#services/recipes/shipped.ts';

export const salesRecipes: readonly Written[] = [
  {
    name: 'first-ten-customers',
    title: 'Win the first ten customers',
    summary: 'A direct way to your first paying customers, without advertising.',
    challenge:
      'I offer {product or service} for {price} to {target customer} and have almost no customers so far. I know {my network} and can spend {hours per week} hours a week on selling. How do I win the first ten customers within two months?',
    objectives: [
      'A list of people to write to, in order',
      'A first message of at most 100 words',
      'What to ask in the first conversation',
    ],
    constraints: ['No purchased contact lists', 'No advertising'],
    strategy: 'economy',
    strategy_reason: 'The work is in the doing, so a sound plan is enough.',
  },
  {
    name: 'proposal-lost',
    title: 'Why do my proposals fail?',
    summary: 'Find what loses deals between the first talk and the signature.',
    challenge:
      'In the last six months I won {proposals won} of {proposals sent} proposals for {service}. A typical price is {typical price}, and those who declined said {reasons given}. What loses these deals, and how should I change the proposal and the steps before it?',
    objectives: ['Win a third more proposals', "Fewer hours on proposals I can't win"],
    constraints: ["Prices don't drop", "I don't promise anything I can't deliver"],
    strategy: 'balanced',
    strategy_reason: 'Risk and strategy models see different weak spots in a deal.',
  },
  {
    name: 'large-client-offer',
    title: 'Price an offer for a large client',
    summary: 'Set scope, price, and terms when one client could change your year.',
    challenge:
      '{client} asks me for {project}. I estimate {days of work} days of work, and my usual rate is {usual rate}. It would be about {share of year} of my year. What scope, price, and terms should I offer, and where is my limit?',
    objectives: [
      'Three options for the client, with a price for each',
      'Payment terms that protect me',
      'The point at which I decline',
    ],
    constraints: ['No neglecting other clients', 'No work before a first payment'],
    strategy: 'premium',
    strategy_reason: 'A large sum depends on it, so the price of the run hardly matters.',
  },
];
