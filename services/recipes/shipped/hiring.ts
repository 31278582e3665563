import type { Written } from '#services/recipes/shipped.ts';

export const hiringRecipes: readonly Written[] = [
  {
    name: 'first-hire',
    title: 'Who should I hire first?',
    summary:
      'Choose the first role, and whether it should be an employee, a freelancer, or a tool.',
    challenge:
      'I run {business} with a monthly profit of {monthly profit}. Most of my hours go into {tasks that take my time}, and what only I can do is {my strength}. Who should I bring in first, for how many hours, and what should I hand over?',
    objectives: [
      'A role with five tasks and a measure of success',
      'At least ten hours a week for what only I can do',
    ],
    constraints: ['At most a third of the profit', 'I can end it within a month'],
    strategy: 'balanced',
    strategy_reason: 'Cost, risk, and gain have to be weighed against each other.',
  },
  {
    name: 'freelancer-or-employee',
    title: 'Freelancer or employee?',
    summary: 'Compare cost, risk, and commitment for one piece of work.',
    challenge:
      'I need someone for {work}, about {hours per week} hours a week. In {country} a freelancer would cost about {freelancer rate} and an employee about {employee cost}. Which should I choose, and what should the agreement say?',
    objectives: [
      'The full cost of both over a year',
      'Questions for a lawyer, most important first',
    ],
    constraints: ['No misclassified contractor', 'My customers’ data stays protected'],
    strategy: 'balanced',
    strategy_reason: 'The risk models matter here as much as the numbers.',
  },
  {
    name: 'trial-task',
    title: 'Design a fair test for candidates',
    summary: 'A short paid task that shows who can do the work.',
    challenge:
      'I am looking for {role} and have {number of candidates} candidates. In the first three months, the person has to {main results}. What task of at most {hours} hours best shows who can do it, and how do I judge the results fairly?',
    objectives: ['A task I can send as is', 'A scale two people would score the same way'],
    constraints: ['The task is paid', 'No customer work comes out of the test'],
    strategy: 'fast',
    strategy_reason: 'A small question with a clear shape.',
  },
];
