import type { Written } from '#services/recipes/shipped.ts';

export const hiringRecipes: readonly Written[] = [
  {
    name: 'first-hire',
    title: 'Whom should I hire first?',
    summary: 'Choose the first role, and whether it is a person, a freelancer or a tool.',
    challenge:
      'I run {business} with a monthly profit of {monthly profit}. Most of my hours go into {tasks that take my time}, and what only I can do is {my strength}. Whom should I bring in first, for how many hours, and what should I hand over?',
    objectives: [
      'A role with five tasks and a measure of success',
      'At least ten hours a week for what only I can do',
    ],
    constraints: ['At most a third of the profit', 'It can be ended within a month'],
    strategy: 'balanced',
    strategy_reason: 'Cost, risk and gain have to be weighed against one another.',
  },
  {
    name: 'freelancer-or-employee',
    title: 'Freelancer or employee?',
    summary: 'Compare cost, risk and commitment for one piece of work.',
    challenge:
      'I need somebody for {work}, about {hours per week} hours a week. In {country} a freelancer would cost about {freelancer rate} and an employee about {employee cost}. Which should I choose, and what should the agreement say?',
    objectives: [
      'The full cost of both over a year',
      'The questions to take to a lawyer, in order of weight',
    ],
    constraints: ['No false self-employment', 'My customers’ data stays protected'],
    strategy: 'balanced',
    strategy_reason: 'The risk seats matter here as much as the figures.',
  },
  {
    name: 'trial-task',
    title: 'Design a fair test for candidates',
    summary: 'A short paid task that shows who can do the work.',
    challenge:
      'I am looking for {role} and have {number of candidates} candidates. In the first three months the person has to {main results}. What task of at most {hours} hours shows best who can do it, and how do I judge the results fairly?',
    objectives: ['A task that can be sent as it is', 'A scale that two people would use alike'],
    constraints: ['The task is paid', 'No real work for customers is taken from it'],
    strategy: 'fast',
    strategy_reason: 'A small question with a clear shape.',
  },
];
