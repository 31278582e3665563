/**
 * Sentences in which a seat speaks: how it opens, how it sums up, and how it takes up the person's
 * own aim, figures, objectives and constraints. Eight of each, one per voice, so that no two seats of
 * one role use the same in one run. Slots in braces are filled from the question.
 */
type Eight = readonly [string, string, string, string, string, string, string, string];

export const oneLines: Readonly<Record<'strategic' | 'risk' | 'implementation', Eight>> = {
  strategic: [
    '{Do}, {tail}.',
    'Choose this over {rivalDoing}, because it builds on what {business} already has and leaves the other road open for later.',
    'Do this now and treat the first ninety days of {doing} as the price of finding out.',
    'Between the two, {do}: it settles the larger question first.',
    'The stronger position comes from {doing}, provided that {topic} is settled before any money moves.',
    'Give this quarter to {doing}, and put {rivalDoing} on the list for the next one.',
    'Take the road that teaches you most, which is {doing}, and let its result decide about the rest.',
    '{Doing} is the move that fits, as long as it is done with {topic} in view.',
  ],
  risk: [
    'Go this way, {tail}, and leave {rivalDoing} alone until the result is in.',
    'Start, but only after writing down the result at which {doing} would have to end.',
    'On balance {do}, and turn back as soon as {stop}.',
    'Do it in a form that can be undone within a month, and commit further on evidence alone.',
    'The safer of the two is to {do}, once {topic} has been looked at honestly.',
    'Agree to {doing} with a fixed limit on money and weeks, and with somebody who will ask about both.',
    'I lean towards {doing}, and I would not go past the first step until it is known {gap}.',
    'The larger danger lies in {rivalDoing}, where a mistake shows too late, so {do}.',
  ],
  implementation: [
    'Start this month, {tail}, and note the first result before the month is out.',
    'Proceed in three moves: a cheap test of {doing}, then a decision on its figures, then the real thing.',
    'This month, {do}, and keep everything else as it is so that the effect can be read.',
    'Set aside two fixed half-days a week for {doing}, and review it after six weeks.',
    'Begin with {doing} in the smallest form that a customer would notice, and widen it when the numbers hold.',
    'Clear the calendar first and then {do}, for without room for {topic} the work would start twice.',
    'Take the first step of {doing} this week, as it costs little and shows the next one.',
    'Put the first piece of {doing} on Monday’s list and finish it by Friday.',
  ],
};

export const openers: Readonly<Record<'strategic' | 'risk' | 'implementation', Eight>> = {
  strategic: [
    'Behind this choice stands another one, namely what {business} should be known for in two years, and {doing} answers that more directly than {rivalDoing}.',
    'Both roads cost attention, so the one to take is the one whose success would open further doors; here that is {doing}.',
    'What speaks for {doing} is what becomes possible afterwards, whereas {rivalDoing} would be a good answer to a narrower question.',
    'I compared the two by what would still be there after a failure, and {doing} leaves more behind than {rivalDoing}.',
    'If both worked equally well, {doing} would still be preferable, for it leaves you with more choices next year.',
    'Attention is the scarcest thing in a small business: {doing} asks for it once where {rivalDoing} keeps asking.',
    'It is tempting to compare the two at their best. Compared at their most likely, {doing} comes out ahead of {rivalDoing}.',
    'With {doing} you get better at something that you will need again; {rivalDoing} would mostly move things around.',
  ],
  risk: [
    'Seen from the side of loss, the two differ in how late a mistake would be noticed, and with {doing} it would be noticed sooner.',
    'Neither road is safe. The dangers of {doing} are the ones I would rather have, since they can be named and watched.',
    'The worst plausible outcome decides for me: after {doing} it would be an unpleasant quarter, after {rivalDoing} it could be a lost year.',
    'Before comparing gains I struck out whatever could not be survived, and nothing about {doing} had to go.',
    'I looked for the point of no return in each plan. With {doing} it comes late, which is most of my reason.',
    'A plan deserves trust in proportion to how clearly it shows when it is wrong, and {doing} can be made to show it.',
    'What worries me about {rivalDoing} is the number of guesses that have to hold together; {doing} needs fewer.',
    'My first question was who carries the loss if the guess is wrong. In the case of {doing} it stays small enough to carry alone.',
  ],
  implementation: [
    'On Monday morning {doing} turns into tasks that one person can begin, while {rivalDoing} turns into preparations.',
    'Put into a calendar, {doing} fits the weeks as they are, and {rivalDoing} needs weeks that do not exist yet.',
    'I counted the steps between today and the first reaction of a customer; for {doing} there are fewer of them.',
    'The order of work decides here: {doing} can come first without blocking {rivalDoing}, and the reverse does not hold.',
    'Whatever is chosen has to survive an ordinary week with interruptions, and {doing} can be cut into pieces that do.',
    'Of the two, {doing} has a first step that could be finished by Friday, and that is how I choose when everything else is close.',
    'Less has to exist before the first result of {doing} than of {rivalDoing}, and shorter chains break less often.',
    'The work behind {doing} is known work; behind {rivalDoing} stands a list of things still to be found out.',
  ],
};

export const onAim: Eight = [
  'To {aim}, something has to stop standing in the way, and my reading is that {doing} removes more of it.',
  'The aim is to {aim}, which {doing} works on directly and {rivalDoing} by a detour.',
  'There are many ways to {aim}; the ones that last begin with what is already going well, and {doing} does.',
  'Whoever wants to {aim} should first ask which customers it would have to come from. The answer points towards {doing}.',
  'Nobody manages to {aim} by doing more of everything, so I looked for the single change with the longest reach.',
  'A plan to {aim} needs a first sign of progress within a month, and I would expect it from {doing} before anything else.',
  'If the wish to {aim} is the measure, then effort that customers never notice does not count, however sensible it looks.',
  'To {aim} within a bearable time, the work has to sit close to the sale; {rivalDoing} sits further away from it.',
];

export const onFact: Readonly<Record<'money' | 'count' | 'share' | 'time', Eight>> = {
  money: [
    'Measured against the {fact} you name, the first step should be so cheap that its failure would not show in the month.',
    'I would keep one figure in view, {fact}: within a quarter the plan has to move it or protect it.',
    'Recalculate whatever is decided with half of the hoped-for effect on {fact}; it should still make sense.',
    'With {fact} on the table, the honest comparison is what each road does to that figure by the end of the second month.',
    'The {fact} in your description is a starting point that can be checked, which is more than most plans have.',
    'Ask of every expense how it relates to {fact}; most ideas shrink to their real size at that point.',
    'A sum like {fact} tempts one to think in totals. What it leaves over after all hours are paid is the better question.',
    'I read {fact} as a limit and not as a target: the plan has to work without touching it at first.',
  ],
  count: [
    'The {fact} you mention are the cheapest test group there is, and a tenth of them would be enough to begin with.',
    'Start from the {fact}: what they do next says more than any figure about the market.',
    'With {fact} the numbers are small enough to look at one by one, which beats any average.',
    'You have {fact}, and that is evidence of something; the task is to find out of what, before adding to it.',
    'A figure such as {fact} is the most useful line in your description, because a plan can be checked against it.',
    'Among {fact} there is a handful on whom most of the result depends. I would know their names before deciding.',
    'What would change for the {fact} you mention is a fair test of both options, and it can be asked this week.',
    'The number that matters next is not a larger version of {fact} but the share of them who would come back.',
  ],
  share: [
    'A figure like {fact} has to be split before it means anything: by kind of customer, by month, by first purchase.',
    'There is leverage in {fact}; a small change there outweighs a large one elsewhere.',
    'I would ask first how {fact} came about, since a share hides whether the upper or the lower number moved.',
    'Before any plan, {fact} should be followed for three months, for a single reading may be chance.',
    'What strikes me is {fact}. It makes some of the choice, as a business with that figure is exposed in one place.',
    'The plan should say what it will do to {fact}, and by when.',
    'If {fact} is right, then much of the answer is settled by whoever stands behind it.',
    'Your {fact} is a dial that can be read each month, and so it belongs at the top of the plan.',
  ],
  time: [
    'The {fact} you mention set the size of the plan more than any opinion about the market.',
    'If {fact} are the frame, the first result has to be readable at half-time.',
    'I took {fact} literally, and several attractive ideas fell away at once.',
    'Against {fact} every step can be weighed: does it return them, or does it use them up?',
    'You name {fact}. I would plan with two thirds of that, because the rest is always taken.',
    'A plan that respects {fact} looks modest on paper and is the only kind that gets finished.',
    'It is {fact} that make the difference between the two roads, as one asks for them at once and the other over time.',
    'Whatever fits into {fact} is possible, and the rest is a wish; I sorted the steps by that line.',
  ],
};

/** Claims about a constraint or an objective; `{quote}` is the person's wording. Four each. */
type Four = readonly [string, string, string, string];

export const onConstraint: readonly { words: RegExp; topic: string; says: Four }[] = [
  {
    words:
      /\b(?:no|not|without|avoid|never)\b.*\b(?:ads?|advert\w*|paid|cold|outreach|social media)\b/i,
    topic: 'the channel that is ruled out',
    says: [
      '“{quote}” takes away the quickest supply of strangers, so the first results have to come from people who are near already.',
      'Under “{quote}” growth runs through recommendation and repetition, both of which need a reason worth repeating.',
      'With “{quote}” in force, the people who know the business have to carry the news, and the plan should give them some.',
      'Because of “{quote}”, what existing customers say becomes the main channel and deserves to be treated as one.',
    ],
  },
  {
    words:
      /^(?:no|not|never|without|avoid|don['\u2019]t|must not|cannot)\b(?!.*\b(?:hour|time|week|day|more than|less than|\$|€|£))/i,
    topic: 'what you ruled out',
    says: [
      '“{quote}” closes one road and makes the choice easier, for what remains can be given full attention.',
      'A rule such as “{quote}” is worth more than a preference, as it ends a discussion that would return every month.',
      'As long as “{quote}” holds, the remaining roads have to be compared with each other and no longer with the closed one.',
      'Keeping to “{quote}” has a price, which should be estimated once and then accepted.',
    ],
  },
  {
    words: /[$€£]|\b(?:budget|money|cost|spend|cash|loan|fund|cheap|paid|afford)/i,
    topic: 'the limit on money',
    says: [
      '“{quote}” settles the size of the first step: it may cost no more than could be lost without a second thought.',
      'Under the limit “{quote}” the sensible question is what a failure would cost, and only after that what a success would bring.',
      'Since “{quote}” is fixed, spending has to follow the first sign of demand and must not come before it.',
      'The limit you set, “{quote}”, is no obstacle to starting, only to starting big.',
    ],
  },
  {
    words: /\b(?:hour|time|week|month|deadline|day|by |before|evening|quarter)/i,
    topic: 'the limit on time',
    says: [
      'With “{quote}” as a rule, something has to be stopped before anything is started.',
      '“{quote}” means that hours run out before ideas do, so the plan needs a task that makes way for it.',
      'The rule “{quote}” can be kept only if the new work replaces old work instead of joining it.',
      'Taking “{quote}” seriously, the first decision is what to leave undone.',
    ],
  },
  {
    words: /\b(?:alone|solo|hire|employ|staff|team|people|freelanc|no one|nobody|myself)/i,
    topic: 'the number of hands',
    says: [
      'Because of “{quote}”, whatever is chosen must still work in a week in which you are ill.',
      '“{quote}” rules out every step that needs constant attention, however profitable it looks.',
      'Under “{quote}” the plan has to be judged by its worst week and not by its average one.',
      'The condition “{quote}” makes upkeep matter more than set-up, since nobody else will do it.',
    ],
  },
  {
    words:
      /\b(?:quality|brand|legal|customer|client|existing|premium|trust|privacy|values|sustainab|reputation)/i,
    topic: 'what must not suffer',
    says: [
      '“{quote}” has to be visible in the first version already, for it will not be added later.',
      'A trial that leaves “{quote}” aside would test something other than what is going to be sold.',
      'If “{quote}” is serious, it costs some speed, and that price should be named at the outset.',
      'The promise behind “{quote}” is part of the offer and belongs in front of customers as such.',
    ],
  },
  {
    words: /./,
    topic: 'the condition you set',
    says: [
      '“{quote}” should be treated as fixed, and the first version cut until it fits.',
      'A plan that stretches “{quote}” a little will stretch it a lot, so it has to fit from the beginning.',
      'The condition “{quote}” leaves room for the small version of each option and for the large version of none.',
      'Whether “{quote}” can be kept will show in the first month, and it should be checked there before going on.',
    ],
  },
];

export const onObjective: readonly { words: RegExp; topic: string; says: Four }[] = [
  {
    words: /[$€£%]|\b(?:revenue|profit|income|sales|margin|mrr|money|earn|cash|turnover)/i,
    topic: 'the income that is wanted',
    says: [
      '“{quote}” has to be turned into a number of sales a week before it can guide anything.',
      'Divided by an average sale, “{quote}” becomes a number of customers, and only that number can be planned for.',
      'As long as “{quote}” is not expressed in sales per week, nobody can say whether a step brings it nearer.',
      'The goal “{quote}” is reached through a count of purchases, so the plan should name that count.',
    ],
  },
  {
    words:
      /\b(?:customer|client|subscriber|user|audience|lead|booking|member|follower|grow|student|reach|sign)/i,
    topic: 'the growth that is wanted',
    says: [
      '“{quote}” depends more on what present customers tell others than on being seen by more strangers.',
      'The nearest way to “{quote}” leads through the people who are satisfied already.',
      'For “{quote}” the share of people who return or recommend counts for more than the number who are reached.',
      'Whoever aims at “{quote}” should first look at how the best of the present ones came.',
    ],
  },
  {
    words:
      /\b(?:(?:less|fewer|save|free up|reduce|win back|own) (?:\w+ )?(?:time|hours|work|stress)|free time|balance|stress|holidays?|burn\w*|automat\w*|four-day|weekends?)\b/i,
    topic: 'the relief that is wanted',
    says: [
      '“{quote}” will not follow from growth by itself and has to be secured by a rule about what is declined.',
      'Success makes “{quote}” harder and not easier, unless work is given up along the way.',
      'To reach “{quote}”, some income has to be left lying, and it is better to choose which.',
      'The aim “{quote}” needs a boundary in the calendar before it needs a better method.',
    ],
  },
  {
    words: /./,
    topic: 'the aim you named',
    says: [
      '“{quote}” can be judged only when it has a figure and a date.',
      'Two people could disagree on whether “{quote}” has been reached, and that should be settled before the start.',
      'As it stands, “{quote}” describes a direction, and a direction cannot be missed or met.',
      'The aim “{quote}” should be written so that a stranger could tell in a year whether it came true.',
    ],
  },
];

/** `{stop}` is a clause: "two months pass without an order". */
export const onStop: Eight = [
  'If {stop}, that is the moment to end it.',
  'There is one sign at which I would turn back without discussion: {stop}.',
  'I would not carry on once {stop}.',
  'Should it happen that {stop}, the idea was wrong and not only its execution.',
  'Count it as a failure if {stop}, and do so in writing.',
  'Agree today that it ends when {stop}.',
  'A clear no would look like this: {stop}.',
  'There is no good reason to go on when {stop}.',
];

/**
 * How a seat leads over to a consideration. `{topic}` is a noun phrase; the sentence that follows it
 * stands by itself.
 */
export const leadToReason: Eight = [
  'Much hangs on {topic}.',
  'I would begin with the question of {topic}.',
  'What is easily passed over is {topic}.',
  'Underneath lies the question of {topic}.',
  'The point that weighs most with me is {topic}.',
  'Nobody should decide this without a look at {topic}.',
  'Then there is the question of {topic}.',
  'My second reason concerns {topic}.',
];
export const leadToStep: Eight = [
  'On {topic}, one practical step.',
  'As to {topic}, begin small.',
  'One task brings clarity about {topic}.',
  'Something can be done about {topic} at once.',
  'To settle {topic}, do this first.',
  'A morning is enough to make a start on {topic}.',
  'A first move, with {topic} in mind.',
  'Part of the work this month belongs to {topic}.',
];
export const leadToWatch: Eight = [
  'There is a way to check {topic}.',
  'It can be measured how things stand with {topic}.',
  'A threshold worth testing concerns {topic}.',
  'I would keep an eye on {topic}.',
  'Early warning can be had about {topic}.',
  'Do not guess about {topic}.',
  'The figure to follow belongs to {topic}.',
  'There should be a number for {topic}.',
];

/** What a reviewer says of the best and of the last answer; `{topic}` is what one has and one lacks. */
export const praises: Eight = [
  'The best answer earns its place by facing {topic} head-on.',
  'What lifts the first one is that it deals with {topic} before it recommends anything.',
  'First place goes to the answer that takes up {topic} and says what to do about it.',
  'The strongest reasoning starts from {topic}, which others mention in passing at most.',
  'I put the one first that could be acted on tomorrow, not least because it settles {topic}.',
  'Only the leading answer asks about {topic}, and the whole choice looks different afterwards.',
  'On substance the first is ahead: its argument about {topic} would survive a sceptical reader.',
  'The winner is plain rather than brilliant, but it does not dodge {topic}.',
];
export const blames: Eight = [
  'The last one argues well and leaves {topic} open.',
  'At the other end nothing is said about {topic}, and without it the advice cannot be acted on.',
  'The weakest never gets to {topic}, so its confidence is unearned.',
  'I ranked the last one low because it passes over {topic}.',
  'The lowest has sound parts that do not add up to a plan; {topic} is missing.',
  'Where the bottom answer falls short is {topic}.',
  'The one at the end reads fluently until one looks for {topic}.',
  'It is hard to trust the last answer when {topic} does not come up at all.',
];
