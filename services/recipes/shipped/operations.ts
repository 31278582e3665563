import type { Written } from '#services/recipes/shipped.ts';

export const operationsRecipes: readonly Written[] = [
  {
    name: 'what-to-automate',
    title: 'What should I automate first?',
    summary: 'Find the task whose automation frees the most of your week.',
    challenge:
      'I run {business} alone and work {hours per week} hours a week. The tasks that repeat are {repeating tasks}, and I use {tools}. What should I automate first, with which of my tools, and what should I keep doing myself?',
    objectives: [
      'The first three automations, by hours saved per hour spent',
      'At least four hours a week back within a month',
    ],
    constraints: ['At most $50 a month for new tools', 'A person checks what customers receive'],
    strategy: 'balanced',
    strategy_reason: 'Seven views spot the task you no longer notice.',
  },
  {
    name: 'too-much-demand',
    title: 'More orders than I can deliver',
    summary: 'Handle more demand than you can serve without ruining quality or your health.',
    challenge:
      'I get about {orders per month} orders a month for {service} and can deliver {capacity} well. The wait is now {waiting time}. Should I raise prices, limit intake, hand work to others, or change the offer, and in what order?',
    objectives: [
      'A waiting time I can promise and keep',
      'More profit per hour of work',
      'No customer left without an answer',
    ],
    constraints: ['Quality must not fall', 'No permanent staff this year'],
    strategy: 'balanced',
    strategy_reason: 'Several good answers compete here. A vote shows which one wins.',
  },
  {
    name: 'supplier-risk',
    title: 'I depend on one supplier or platform',
    summary: 'See what happens if it fails, and prepare for it cheaply.',
    challenge:
      'About {share of revenue} of my revenue depends on {supplier or platform}. If it changed its terms or shut down, {what would stop} would stop. What is the cheapest way to become less dependent within {time}, and what should I have ready for the day it happens?',
    objectives: [
      'A plan for the first week after a failure',
      'A second source that is tested, not just known',
    ],
    constraints: ['The current business keeps running', 'At most one day a week for this'],
    strategy: 'premium',
    strategy_reason: 'The strongest models judge rare risks better.',
  },
];
