import type { Written } from '#services/recipes/shipped.ts';

export const productRecipes: readonly Written[] = [
  {
    name: 'what-to-build-next',
    title: 'What should I build next?',
    summary: 'Choose one feature from your list, and say no to the others.',
    challenge:
      'My product, {product}, has {number of customers} paying customers. They ask for {requested features}, and most of those who leave say {reason for leaving}. I can finish one thing in the next {weeks} weeks. What should it be?',
    objectives: [
      'One feature, with the effect that I should see',
      'The smallest version that shows whether it works',
    ],
    constraints: ['One developer, who is me', 'Nothing that breaks what customers use today'],
    strategy: 'balanced',
    strategy_reason: 'Blind reviews stop the loudest request from winning by itself.',
  },
  {
    name: 'validate-idea',
    title: 'Will anybody pay for this idea?',
    summary: 'Test an idea in two weeks before you build it.',
    challenge:
      'My idea is {idea} for {target customer}, who solve it today with {present solution}. I would charge {price}. How do I find out within two weeks whether enough of them would pay, and which result should make me stop?',
    objectives: [
      'A test that asks for money or time, not for opinions',
      'A figure at which I build, and one at which I stop',
      'Where to find the first 20 people to ask',
    ],
    constraints: ['At most 200 dollars', 'Nobody is charged for what does not exist'],
    strategy: 'fast',
    strategy_reason: 'You will learn more from the test than from a longer answer.',
  },
  {
    name: 'reduce-churn',
    title: 'Why do customers leave?',
    summary: 'Find the likeliest cause of churn and the cheapest repair.',
    challenge:
      'About {monthly churn} of the customers of {product} leave each month, most of them after {time until leaving}. What they say is {reasons given}, and I have seen {observations} in the data. What is the likeliest cause and what should I change first?',
    objectives: [
      'Causes, likeliest first, with a check for each',
      'One change that can be shipped within two weeks',
    ],
    constraints: ['No tricks that make leaving harder', 'No discount for everybody'],
    strategy: 'reasoning-focused',
    strategy_reason: 'Cause and effect are easy to confuse here, so the models should think long.',
  },
];
