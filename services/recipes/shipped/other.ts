import type { Written } from '#services/recipes/shipped.ts';

export const otherRecipes: readonly Written[] = [
  {
    name: 'partnership',
    title: 'Should I enter this partnership?',
    summary: 'Look at shares, duties and the exit before you shake hands.',
    challenge:
      '{partner} offers to work with me on {project}. They would bring {their contribution}, I would bring {my contribution}, and we would share {proposed split}. Should I do it, under which terms, and how would we part if it fails?',
    objectives: [
      'The three terms that matter most, in plain words',
      'A small first step that tests the partnership',
    ],
    constraints: ['I keep the rights to what I made before', 'No unlimited liability'],
    strategy: 'comprehensive',
    strategy_reason: 'Many people see more ways in which a partnership can go wrong.',
  },
  {
    name: 'quit-or-continue',
    title: 'Should I stop this project?',
    summary: 'Decide without counting what has already been spent.',
    challenge:
      'I have worked on {project} for {how long} and put in about {money and hours}. It now brings {present result}, and I had hoped for {hoped result}. Should I stop, sell, pause or go on, and what would have to be true for going on to be right?',
    objectives: ['A decision with a date', 'What can be saved, sold or reused if I stop'],
    constraints: ['What is spent does not count', 'Promises to customers are kept'],
    strategy: 'reasoning-focused',
    strategy_reason: 'It is hard to see for whoever has worked on it; models that think long help.',
  },
  {
    name: 'time-plan',
    title: 'Where should my working hours go?',
    summary: 'Rebuild your week around what earns and what only you can do.',
    challenge:
      'I work {hours per week} hours a week on {business}. They go into {how the hours are spent}. Most of my income comes from {main source of income}. What should I stop, shorten, hand over or do more of, and what would a good week look like?',
    objectives: ['A week with fixed blocks, hour by hour', 'At least one free day that stays free'],
    constraints: ['No more hours than now', 'Answers to customers within one working day'],
    strategy: 'economy',
    strategy_reason: 'You can try it next week and change it the week after.',
  },
  {
    name: 'bad-review',
    title: 'Answer a public complaint',
    summary: 'Reply to a bad review or post so that later readers trust you.',
    challenge:
      'On {platform} somebody wrote this about {product}: {what they wrote}. What happened from my side is {my side}. Should I answer in public, and what should I say and do?',
    objectives: ['A public answer of at most 120 words', 'A step that settles it with the person'],
    constraints: ['No excuses and no personal data', 'Nothing that is untrue'],
    strategy: 'ultra-economy',
    strategy_reason: 'A small text whose weaknesses seven quick readers will find.',
  },
];
