import type { Written } from '#services/recipes/shipped.ts';

export const strategyRecipes: readonly Written[] = [
  {
    name: 'raise-prices',
    title: 'Should I raise my prices?',
    summary: 'Decide whether to raise prices, by how much, and in what order.',
    challenge:
      'I sell {product or service} at {current price} to about {number of customers} customers and have not raised the price since {last change}. I am considering {new price}. Should I raise it, for whom first, and how do I tell the people who already pay me?',
    objectives: [
      'Higher profit, even after some customers leave',
      'A message I can send to existing customers',
      'A test that shows within a month whether it works',
    ],
    constraints: [
      'No fake discounts or deadlines',
      'Customers under contract keep their price until it ends',
    ],
    strategy: 'balanced',
    strategy_reason: 'Strategists and skeptics see prices differently. Hear both.',
  },
  {
    name: 'niche-down',
    title: 'Which niche should I focus on?',
    summary: 'Choose one group of customers to serve first, and say what to stop doing.',
    challenge:
      'I offer {service} to {groups of customers I serve today}. Monthly revenue is {monthly revenue}, and the work I enjoy most is {favorite work}. Which one niche should I focus on for the next six months, and what would I have to turn down?',
    objectives: [
      'One niche, with the evidence that it pays',
      'A list of what to stop offering',
      'The first ten people or companies to approach',
    ],
    constraints: ['Revenue must not fall by more than a fifth while I switch', 'I work alone'],
    strategy: 'reasoning-focused',
    strategy_reason: "Many moving parts, and a choice that's expensive to undo.",
  },
  {
    name: 'side-project-full-time',
    title: 'Should I go full time?',
    summary: 'Weigh leaving your job against what your side business earns and needs.',
    challenge:
      'My side business, {business}, earns {monthly profit} a month on about {hours per week} hours a week. My salary is {salary} and I have savings for {months of savings} months. Should I leave my job now, later, or not at all, and which number should decide it?',
    objectives: [
      'A clear threshold for leaving, in numbers',
      'A plan for the first 90 days',
      "A way back if it doesn't work",
    ],
    constraints: [
      'My household needs its fixed costs covered every month',
      'No loans secured by my home',
    ],
    strategy: 'comprehensive',
    strategy_reason: 'A decision about your livelihood deserves the widest range of views.',
  },
  {
    name: 'competitor-response',
    title: 'A competitor is undercutting me. What now?',
    summary: 'Answer a cheaper or larger competitor without a price war.',
    challenge:
      '{competitor} has started to offer {their offer} to my customers. I sell {my product} at {my price}, and so far I have seen {what has changed}. How should I answer, and what should I leave alone?',
    objectives: [
      'Keep the customers who earn me the most',
      "A difference customers notice and the competitor can't copy quickly",
    ],
    constraints: [
      "I can't win on price alone",
      "No claims about the competitor that I can't prove",
    ],
    strategy: 'balanced',
    strategy_reason: 'You need both sides of the argument more than depth.',
  },
];
