import type { Written } from '#services/recipes/shipped.ts';

export const otherRecipes: readonly Written[] = [
  {
    name: 'partnership',
    title: 'Should I enter this partnership?',
    summary: 'Settle shares, duties, and the exit before you shake hands.',
    challenge:
      '{partner} offers to work with me on {project}. They would bring {their contribution}, I would bring {my contribution}, and we would split it {proposed split}. Should I do it, on what terms, and how would we part if it fails?',
    objectives: [
      'The three terms that matter most, in plain words',
      'A small first step that tests the partnership',
    ],
    constraints: ['I keep the rights to my earlier work', 'No unlimited liability'],
    strategy: 'comprehensive',
    strategy_reason: 'More reviewers see more ways a partnership can fail.',
  },
  {
    name: 'quit-or-continue',
    title: 'Should I stop this project?',
    summary: 'Decide without counting what has already been spent.',
    challenge:
      'I have worked on {project} for {how long} and put in about {money and hours}. It now brings {present result}, and I had hoped for {hoped result}. Should I stop, sell, pause, or continue, and what would have to be true for continuing to be right?',
    objectives: ['A decision with a date', 'What I can save, sell, or reuse if I stop'],
    constraints: ["Money already spent doesn't count", 'I keep my promises to customers'],
    strategy: 'reasoning-focused',
    strategy_reason: "It's hard to see when you've worked on it. Models that think longer help.",
  },
  {
    name: 'time-plan',
    title: 'Where should my working hours go?',
    summary: 'Rebuild your week around what earns and what only you can do.',
    challenge:
      'I work {hours per week} hours a week on {business}. They go into {how the hours are spent}. Most of my income comes from {main source of income}. What should I stop, shorten, hand over, or do more of, and what would a good week look like?',
    objectives: ['A week with fixed blocks, hour by hour', 'At least one free day that stays free'],
    constraints: ['No more hours than now', 'Customers get an answer within one business day'],
    strategy: 'economy',
    strategy_reason: 'You can try it next week and change it the week after.',
  },
  {
    name: 'bad-review',
    title: 'Answer a public complaint',
    summary: 'Reply to a bad review or post so that later readers trust you.',
    challenge:
      'On {platform}, someone wrote this about {product}: {what they wrote}. My side of the story is {my side}. Should I answer in public, and what should I say and do?',
    objectives: ['A public reply of at most 120 words', 'A step that resolves it with the person'],
    constraints: ['No excuses and no personal data', 'Nothing that is untrue'],
    strategy: 'ultra-economy',
    strategy_reason: 'Seven quick readers will find the weak spots in a short text.',
  },
];
