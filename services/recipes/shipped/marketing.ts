import type { Written } from '#services/recipes/shipped.ts';

export const marketingRecipes: readonly Written[] = [
  {
    name: 'first-channel',
    title: 'Which marketing channel comes first?',
    summary: 'Pick the one channel worth your next 90 days, and a test for it.',
    challenge:
      'I sell {product} to {ideal customer}. I can spend {monthly budget} and {hours per week} hours a week on marketing, and have tried {what I tried} so far. Which one channel should I work on for the next 90 days?',
    objectives: [
      'One channel, and why not the others',
      'A weekly routine that fits my hours',
      'A number that tells me after 30 days whether to continue',
    ],
    constraints: ['No agency and no staff', "The budget can't grow"],
    strategy: 'balanced',
    strategy_reason: 'Models disagree about channels in a way that is worth seeing.',
  },
  {
    name: 'landing-page-promise',
    title: 'What should my landing page promise?',
    summary: 'Find the one sentence that makes the right visitor stay.',
    challenge:
      'My page sells {product} for {price}. Visitors come from {source of visitors} and about {conversion rate} of them buy. The headline is now: {current headline}. What should the page promise first, and what proof should appear beside it?',
    objectives: [
      'Three headlines to test, best first',
      'The objection that keeps most visitors from buying, answered',
    ],
    constraints: ['Only claims I can prove', 'No rebuild of the site'],
    strategy: 'fast',
    strategy_reason: 'Headlines are cheap to test, so a quick answer is enough to start.',
  },
  {
    name: 'launch-plan',
    title: 'Plan a launch on a small budget',
    summary: 'A four-week launch that one person can run.',
    challenge:
      "I am launching {product} on {launch date}. My list has {number of subscribers} people, my budget is {budget}, and it's a success if I reach {goal}. What should I do in the four weeks before, on the day, and in the two weeks after?",
    objectives: [
      'A calendar with at most one large task a day',
      'The three actions that matter most, named',
      'What to do if the first week is quiet',
    ],
    constraints: ['One person does everything', 'No paid influencers'],
    strategy: 'balanced',
    strategy_reason: 'A launch plan gets better when several models look for holes.',
  },
  {
    name: 'newsletter-growth',
    title: 'Make my newsletter bring customers',
    summary: 'Turn readers into buyers without losing their trust.',
    challenge:
      'My newsletter about {topic} has {number of readers} readers and goes out {how often}. It leads to about {sales per month} sales of {product} a month. What should I change so it brings more customers and people still like reading it?',
    objectives: ['A format for the next eight issues', 'A first offer that fits the readers'],
    constraints: ['At most four hours per issue', 'Readers can leave with one click'],
    strategy: 'economy',
    strategy_reason: "You can try these ideas next week, so you don't need the largest models.",
  },
];
