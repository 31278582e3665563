import type { Written } from '#services/recipes/shipped.ts';

export const productRecipes: readonly Written[] = [
  {
    name: 'what-to-build-next',
    title: 'What should I build next?',
    summary: 'Choose one feature from your list, and say no to the others.',
    challenge:
      'My product, {product}, has {number of customers} paying customers. They ask for {requested features}, and most of those who leave say {reason for leaving}. I can finish one thing in the next {weeks} weeks. What should it be?',
    objectives: [
      'One feature, and the effect I should see',
      'The smallest version that shows whether it works',
    ],
    constraints: ['One developer, who is me', 'Nothing that breaks what customers use today'],
    strategy: 'balanced',
    strategy_reason: 'Blind reviews keep the loudest request from winning by default.',
  },
  {
    name: 'validate-idea',
    title: 'Will anyone pay for this idea?',
    summary: 'Test an idea in two weeks before you build it.',
    challenge:
      'My idea is {idea} for {target customer}. Today they use {present solution}. I would charge {price}. How do I find out within two weeks whether enough of them would pay, and which result should make me stop?',
    objectives: [
      'A test that asks for money or time, not opinions',
      'The number at which I build, and the one at which I stop',
      'Where to find the first 20 people to ask',
    ],
    constraints: ['At most $200', "No one pays for something that doesn't exist yet"],
    strategy: 'fast',
    strategy_reason: 'You will learn more from the test than from a longer answer.',
  },
  {
    name: 'reduce-churn',
    title: 'Why do customers leave?',
    summary: 'Find the likeliest cause of churn and the cheapest fix.',
    challenge:
      'About {monthly churn} of the customers of {product} leave each month, most of them after {time until leaving}. Their reasons are {reasons given}, and the data shows {observations}. What is the likeliest cause and what should I change first?',
    objectives: [
      'Causes, most likely first, with a check for each',
      'One change I can ship within two weeks',
    ],
    constraints: ['No tricks that make leaving harder', 'No discount for everyone'],
    strategy: 'reasoning-focused',
    strategy_reason:
      'Cause and effect are easy to confuse here, so the models should think longer.',
  },
];
