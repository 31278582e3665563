import type { Written } from '#services/recipes/shipped.ts';

export const operationsRecipes: readonly Written[] = [
  {
    name: 'what-to-automate',
    title: 'What should I automate first?',
    summary: 'Find the task whose automation frees the most of your week.',
    challenge:
      'I run {business} alone and work {hours per week} hours a week. The tasks that repeat are {repeating tasks}, and I use {tools}. What should I automate first, with which of my tools, and what should stay in my hands?',
    objectives: [
      'The first three automations, by hours saved for each hour spent',
      'At least four hours a week back within a month',
    ],
    constraints: [
      'At most 50 dollars a month for new tools',
      'A person checks what customers receive',
    ],
    strategy: 'balanced',
    strategy_reason: 'Seven views find the task that you no longer notice.',
  },
  {
    name: 'too-much-demand',
    title: 'More orders than I can deliver',
    summary: 'Handle demand beyond your capacity without ruining quality or health.',
    challenge:
      'I get about {orders per month} orders a month for {service} and can deliver {capacity} well. The waiting time is now {waiting time}. Should I raise prices, limit intake, hand work to others or change the offer, and in which order?',
    objectives: [
      'A waiting time that I can promise and keep',
      'More profit for each hour of work',
      'No customer who is left without an answer',
    ],
    constraints: ['Quality may not fall', 'No permanent staff this year'],
    strategy: 'balanced',
    strategy_reason: 'Four good answers compete here; a vote shows which one carries.',
  },
  {
    name: 'supplier-risk',
    title: 'I depend on one supplier or platform',
    summary: 'Measure what happens if it fails, and prepare for it cheaply.',
    challenge:
      'About {share of revenue} of my revenue depends on {supplier or platform}. If it changed its terms or went away, {what would stop} would stop. What is the cheapest way to become less dependent within {time}, and what should I keep ready for the day it happens?',
    objectives: [
      'A plan for the first week after a failure',
      'A second source that is tested, not only known',
    ],
    constraints: ['The present business goes on meanwhile', 'At most one day a week for this'],
    strategy: 'premium',
    strategy_reason: 'Rare risks are judged better by the strongest models.',
  },
];
