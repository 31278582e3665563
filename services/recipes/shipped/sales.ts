import type { Written } from '#services/recipes/shipped.ts';

export const salesRecipes: readonly Written[] = [
  {
    name: 'first-ten-customers',
    title: 'Win the first ten customers',
    summary: 'A direct way to the first people who pay, without advertising.',
    challenge:
      'I offer {product or service} for {price} to {target customer} and have hardly any customers so far. I know {my network} and can spend {hours per week} hours a week on selling. How do I win the first ten customers within two months?',
    objectives: [
      'A list of whom to write to, and in which order',
      'A first message of at most 100 words',
      'What to ask in the first conversation',
    ],
    constraints: ['No bought address lists', 'No advertising'],
    strategy: 'economy',
    strategy_reason: 'The work is in the doing; a sound plan is enough.',
  },
  {
    name: 'proposal-lost',
    title: 'Why do my proposals fail?',
    summary: 'Find what loses deals between the first talk and the signature.',
    challenge:
      'Of {proposals sent} proposals for {service} I won {proposals won} in the last six months. A typical price is {typical price}, and those who declined said {reasons given}. What loses these deals, and how should I change the proposal and the steps before it?',
    objectives: [
      'A share of won proposals that is a third higher',
      'Fewer hours for proposals that cannot be won',
    ],
    constraints: ['The price does not fall', 'Nothing is promised that I cannot deliver'],
    strategy: 'balanced',
    strategy_reason: 'Risk and strategy seats see different weak places in a deal.',
  },
  {
    name: 'large-client-offer',
    title: 'Price an offer for a large client',
    summary: 'Set scope, price and terms when one client could change your year.',
    challenge:
      '{client} asks me for {project}. I estimate {days of work} days of work, and my usual rate is {usual rate}. It would be about {share of year} of my year. What scope, price and terms should I offer, and where is my limit?',
    objectives: [
      'Three options for the client, with a price for each',
      'Terms of payment that protect me',
      'The point at which I decline',
    ],
    constraints: ['Other clients may not be neglected', 'No work before a first payment'],
    strategy: 'premium',
    strategy_reason: 'A large sum depends on it; the price of the run does not matter beside it.',
  },
];
