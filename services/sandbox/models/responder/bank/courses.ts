/**
 * Kinds of courses of action, with the case for and against each. An option found in a question is
 * matched to one kind, and its arguments are then worded with the person's own words: `{thing}` is
 * what the option is about ("the paid newsletter"), `{doing}` the option itself ("launching a paid
 * newsletter"). `{thing}` may be plural, so it never is the subject of a verb that would show it.
 */
export type Course = {
  id: string;
  /** Beginnings of verbs, then of any other words, that name this kind. */
  verbs: readonly string[];
  words: readonly string[];
  /** Verbs that are said of many things weigh less than others. */
  common?: true;
  /** How much it commits, from -2 (keeps everything open) to 2 (hard to take back). */
  boldness: number;
  /** Stands for `{thing}` when the question names none. */
  noun: string;
  /** Each pair makes one claim twice. */
  pros: readonly [Pair, Pair, Pair, Pair];
  cons: readonly [Pair, Pair, Pair];
  /** How to do it well: follows the option and a comma. */
  tails: readonly [string, string];
  steps: readonly [string, string];
  /** Signs to stop at: follow "stop if". */
  stops: readonly [string, string];
  /** What nobody knows yet, as a noun phrase. */
  gap: string;
};

type Pair = readonly [string, string];

export const courses: readonly Course[] = [
  {
    id: 'improve',
    verbs: [
      'improve',
      'fix',
      'repair',
      'redesign',
      'rebuild',
      'rework',
      'simplif',
      'optimi',
      'streamline',
      'renovat',
      'rewrite',
      'remodel',
      'refresh',
    ],
    words: ['first session', 'onboarding', 'redesign', 'overhaul', 'landing page', 'checkout'],
    boldness: -1,
    noun: 'what exists',
    pros: [
      [
        'Everyone who comes anyway would notice the better version of {thing} at once, with nobody having to be won for it.',
        'An improvement to {thing} works on people who are here already, which makes it the shortest road to an effect.',
      ],
      [
        'What is wrong with {thing} can be watched with one’s own eyes in an afternoon, so little guessing is needed.',
        'Five people in front of {thing} would show more than any survey, and they are easy to find.',
      ],
      [
        'Whatever is done later would profit from this, so the effort for {thing} cannot be wasted.',
        'Any later growth would have to pass through {thing}, and it should not have to leak there.',
      ],
      [
        'The work on {thing} can be cut into small steps, each of which is useful alone.',
        'After each single change to {thing} it is possible to stop, look and decide anew.',
      ],
    ],
    cons: [
      [
        'Polishing {thing} is comfortable work, and it puts off the question of whether the offer itself is wanted.',
        'It is possible to improve {thing} for months without meeting a single new person.',
      ],
      [
        'The gain from {thing} is limited by the number of people who see it, and that number is the narrower place.',
        'Even a perfect result of the work on {thing} would reach only those who come today.',
      ],
      [
        'Regulars have arranged themselves with {thing} as it is, and every change will annoy some of them.',
        'Complaints about {thing} come from those who left; those who stayed may like it for the very same reason.',
      ],
    ],
    tails: [
      'one change at a time, beginning where most people get stuck',
      'after watching five people use it in silence',
    ],
    steps: [
      'Watch five people use it without helping, and mend the first place where two of them get stuck.',
      'Note the one figure that should move before the first change, and read it again two weeks after.',
    ],
    stops: [
      'three changes in a row leave the figure where it was',
      'the work takes more than a day a week and newcomers still stumble at the same place',
    ],
    gap: 'the place at which most people get stuck or give up today',
  },
  {
    id: 'accept',
    verbs: [
      'accept',
      'take the',
      'sign',
      'agree',
      'say yes',
      'join',
      'merge',
      'renew',
      'license',
      'take on a',
    ],
    words: [
      'contract',
      'acquisition',
      'offer from',
      'deal',
      'wholesale contract',
      'partnership offer',
      'proposal',
      'lease',
    ],
    boldness: 1,
    noun: 'the agreement',
    pros: [
      [
        'With {thing} a demand exists in writing, and no amount of marketing could promise as much.',
        'The customer behind {thing} has been found already, which is the step that costs most in every other plan.',
      ],
      [
        'The name on the other side of {thing} would open doors that stay shut for a small firm alone.',
        'As a reference {thing} would go on working after the agreement has ended.',
      ],
      [
        'Terms can be asked for before {thing} [is] signed, so much of the risk can still be moved to the other side.',
        'Nothing about {thing} has to be taken as offered, for the other side has shown that it wants to agree.',
      ],
      [
        'Meeting the requirements of {thing} would bring order into work that has been done by feel until now.',
        'The discipline that {thing} would force on the work is overdue in any case.',
      ],
    ],
    cons: [
      [
        'The better part of the capacity would be bound by {thing}, at the lower price, and be missing where the margin is good.',
        'Through {thing} the least profitable customer would become the largest one.',
      ],
      [
        'The stronger party to {thing} can change quantities and dates, while the weaker one has already bought the material.',
        'Late payment or a cancelled month would hit a small firm far harder than the partner in {thing}.',
      ],
      [
        'Once {thing} [is] running, everything else gets arranged around it, and then its terms can no longer be refused.',
        'The first renewal of {thing} will be negotiated by somebody who knows that you depend on it.',
      ],
    ],
    tails: [
      'for a limited quantity and a first term of three months, with payment dates in writing',
      'only with a minimum quantity, a notice period and a price that pays for every hour',
    ],
    steps: [
      'Calculate one month under the agreement to the last hour and the last fee, and compare it with the same hours sold as today.',
      'Ask for three changes before signing: a shorter first term, a part payment in advance and a minimum quantity.',
    ],
    stops: [
      'two invoices in a row are paid later than agreed',
      'the margin of the first three months is below half of what the usual business brings',
    ],
    gap: 'what one month under the agreement would leave after all hours and fees',
  },
  {
    id: 'referral',
    verbs: ['refer', 'ask each happy', 'ask every customer', 'ask existing'],
    words: [
      'referral',
      'introduction',
      'word of mouth',
      'recommendation',
      'affiliate',
      'partner program',
    ],
    boldness: 0,
    noun: 'the referral routine',
    pros: [
      [
        'Whoever comes through a friend has decided half-way before the first conversation, so {thing} would bring the easiest sales there are.',
        'Trust is handed over together with the name, which is why {thing} can do without persuasion.',
      ],
      [
        'Nothing has to be built for {thing}: it needs a sentence, a moment and somebody who is satisfied.',
        'The first result of {thing} can be in within days, for the people to be asked are known by name.',
      ],
      [
        'Satisfied customers choose whom they send, and so {thing} would bring people who resemble the best of the present ones.',
        'With {thing} the selection happens before the enquiry, and misfits hardly ever arrive.',
      ],
      [
        'A customer who has recommended somebody stays longer, so {thing} would strengthen what is there as well.',
        'Being asked for help flatters people and binds them, which is a second benefit of {thing}.',
      ],
    ],
    cons: [
      [
        'The circle around present customers is limited, and after the first round {thing} would yield less each month.',
        'Most people know two or three others with the same need, and then {thing} would run dry.',
      ],
      [
        'Asking at the wrong moment costs goodwill, and in daily business the right moment for {thing} gets missed.',
        'Few owners keep up {thing} once they are busy, because asking for a favour is never urgent.',
      ],
      [
        'How many people come, and when, lies in the hands of others with {thing}, so no month can be planned on it.',
        'As a supplement {thing} would be fine, but a number of new customers by a certain date cannot be promised with it.',
      ],
    ],
    tails: [
      'in the week in which the result is felt, and for one particular kind of person',
      'as a fixed appointment every week, with a sentence that can be forwarded',
    ],
    steps: [
      'Write the two lines that a customer could forward, and give them to five people who have just been pleased.',
      'Note for each new customer who sent them, and thank that person within a day.',
    ],
    stops: [
      'ten personal requests have led to fewer than two introductions',
      'after two months nobody has come who was not known to you already',
    ],
    gap: 'how many present customers would put their own name behind a recommendation',
  },
  {
    id: 'platform',
    verbs: ['list', 'sell on', 'sell through'],
    words: [
      'etsy',
      'gumroad',
      'amazon',
      'udemy',
      'shopify',
      'upwork',
      'fiverr',
      'app store',
      'marketplace',
      'kindle',
      'teachable',
      'substack',
      'patreon',
      'own website',
      'own site',
      'own shop',
      'ebay',
    ],
    boldness: 0,
    noun: 'the new sales channel',
    pros: [
      [
        'Buyers are there already with their payment details, so {doing} saves the hardest part of the first sale.',
        'The visitors who matter have come to buy, and {doing} puts the goods in front of them.',
      ],
      [
        'A first listing is a matter of days, so {doing} can be judged by sales before the month is over.',
        'No route gives a quicker answer from strangers, because {doing} needs neither an audience nor a website of one’s own.',
      ],
      [
        'The rules and the look are given, and {doing} therefore leaves more hours for the thing that is sold.',
        'Payments, taxes and delivery are largely taken care of by {doing}, which suits a firm of one.',
      ],
      [
        'What sells through {doing}, and under which words, is knowledge that can be taken elsewhere later.',
        'Search terms and reviews collected by {doing} would improve any later shop.',
      ],
    ],
    cons: [
      [
        'The customer belongs to the operator, and after {doing} nobody can be written to without permission.',
        'By {doing} sales are made and relationships are not, so the second purchase may go to a neighbour.',
      ],
      [
        'Fees and price comparison press on the margin, and {doing} puts every offer beside a cheaper one.',
        'With {doing} the goods stand in a row of look-alikes where the lowest price is sorted first.',
      ],
      [
        'A change in the ranking can halve the income overnight, and {doing} gives no say in the matter.',
        'Whoever depends on {doing} has a landlord who may change the lease at any time.',
      ],
    ],
    tails: [
      'with three products at first and a reason in every parcel to come back directly',
      'for one quarter, counting what is left after all fees and hours',
    ],
    steps: [
      'Put up the three best-selling items with the words that customers use, and change nothing for four weeks.',
      'Enclose an invitation to your own list with every order, and count how many accept it.',
    ],
    stops: [
      'after eight weeks the fees and hours eat up more than two fifths of the price',
      'a month passes with visitors and without a single order',
    ],
    gap: 'what would be left of a typical sale there after all fees and hours',
  },
  {
    id: 'price-up',
    verbs: ['raise', 'increase', 'charge', 'double', 'reprice'],
    words: ['higher price', 'more expensive', 'premium price', 'raise my price', 'price increase'],
    boldness: 1,
    noun: 'what you sell',
    pros: [
      [
        'A higher price for {thing} can be tried on new buyers alone, so nobody who has already paid is touched.',
        'Because only newcomers would see the new price of {thing}, the trial can be ended without an apology to anyone.',
      ],
      [
        'A higher price for {thing} needs no extra hour of delivery, which makes it the only growth that costs no time.',
        'Of all ways to earn more from {thing}, the price is the one that adds no work.',
      ],
      [
        'Buyers who accept a higher price for {thing} tend to be more committed and to ask for less hand-holding.',
        'The customers lost through a higher price for {thing} will mostly be those who caused the most questions.',
      ],
      [
        'A first price is mostly set from caution, so the price of {thing} is likely to lag behind what the result is worth.',
        'Experience tends to improve an offer faster than its price follows, and {thing} should be no exception.',
      ],
    ],
    cons: [
      [
        'Raising the price of {thing} without changing what buyers see gives them a reason to compare for the first time.',
        'A higher price for {thing} invites a comparison that nobody has been making until now.',
      ],
      [
        'At a higher price {thing} would attract fewer beginners, and it is their recommendations that bring later buyers.',
        'The stream of recommendations around {thing} depends on many buyers, and a higher price thins it out.',
      ],
      [
        'The new price would be defended with promises about {thing} that then have to be kept, every time.',
        'The dearer price raises expectations of service around {thing} more quickly than it raises income.',
      ],
    ],
    tails: [
      'for new buyers only at first, while everyone who has paid keeps the old terms',
      'without announcing it as a trial, and let the next round of sales confirm it',
    ],
    steps: [
      'Show the new price to new buyers only, for a fixed number of sales, and change nothing else meanwhile.',
      'Rewrite the description so that the result comes before the price, and show both to five people who nearly bought.',
    ],
    stops: [
      'income per month falls for two months in a row although enquiries do not',
      'more than half of the new prospects name the price as their only reason to decline',
    ],
    gap: 'how many recent buyers would have paid the higher price as well',
  },
  {
    id: 'price-down',
    verbs: ['lower', 'reduce', 'discount', 'cut my price', 'cut your price', 'undercut'],
    words: [
      'cheaper',
      'discount',
      'free tier',
      'free plan',
      'freemium',
      'free trial',
      'lower price',
      'coupon',
      'low-cost',
      'free version',
      'money-back',
      'guarantee',
      'free ',
    ],
    boldness: 0,
    noun: 'what you sell',
    pros: [
      [
        'A cheaper way in lets people who doubt {thing} find out at little risk, and doubt is what keeps most of them away.',
        'The first small purchase is the hardest one, and a lower threshold to {thing} gets it over with.',
      ],
      [
        'An entry at a low price fills the top of the funnel for {thing} without any advertising.',
        'More people with first-hand experience of {thing} means more people who can recommend it.',
      ],
      [
        'A cheaper version of {thing} can be limited so that whoever needs the whole will still pay for the whole.',
        'With clear limits, the low-priced version advertises the full price of {thing} instead of replacing it.',
      ],
      [
        'Among many beginners of {thing} a few will become regulars, and they could not have been picked out in advance.',
        'Nobody can tell beforehand which newcomers to {thing} will stay, so it pays to let more of them in.',
      ],
    ],
    cons: [
      [
        'A low price for {thing} becomes the reference, and every later price will be felt as an increase.',
        'Whoever has seen {thing} cheap will not regard the old price as the normal one again.',
      ],
      [
        'The buyers attracted by a low price for {thing} ask for more support and leave sooner.',
        'Selling {thing} cheaply brings in those who pay least, need most and stay shortest.',
      ],
      [
        'Twice as many sales of {thing} at half the price are twice the work for the same money.',
        'The lower price has to be earned back through volume that one person cannot deliver.',
      ],
    ],
    tails: [
      'with a clear limit on what the cheaper version contains and for how long it is offered',
      'as a first step that leads somewhere, not as a permanent second price list',
    ],
    steps: [
      'Write down what the cheaper version leaves out, and check with three present buyers that they would still choose the full one.',
      'Offer the low-priced entry for a limited number of places, and follow every one of those buyers for two months.',
    ],
    stops: [
      'present customers move down to the cheaper version in any number',
      'fewer than one newcomer in ten takes the next step within two months',
    ],
    gap: 'how many present buyers would switch to the cheaper version',
  },
  {
    id: 'price-model',
    verbs: [
      'bundle',
      'package',
      'switch to a subscription',
      'move to retainer',
      'move to a subscription',
    ],
    words: [
      'subscription',
      'retainer',
      'annual',
      'monthly',
      'tier',
      'membership',
      'package',
      'bundle',
      'hourly',
      'value-based',
      'per project',
      'fixed price',
      'payment plan',
      'licens',
      'one-time',
      'lifetime',
      'payments',
    ],
    boldness: 1,
    noun: 'the offer',
    pros: [
      [
        'Income that returns by itself would let the next months be planned, which matters more than the highest price per sale.',
        'With {thing} a part of every month is sold before it begins, and that calm is worth a concession.',
      ],
      [
        'Another form of payment for the same work opens {thing} to people whom the present form keeps out.',
        'Some customers hesitate at how they are to pay and not at how much, and {thing} would answer that.',
      ],
      [
        'A fixed scope behind {thing} ends the discussion about hours, which neither side enjoys.',
        'Both sides know with {thing} what is included, and this saves the awkward conversation every time.',
      ],
      [
        'It is possible to offer {thing} to five existing customers first and to see at once whether they want it.',
        'Present customers can judge {thing} straight away, as they know what they use.',
      ],
    ],
    cons: [
      [
        'A recurring fee obliges you to deliver every month, also in the months in which customers need nothing.',
        'What looks like steady income is a steady duty, and {thing} [leaves] no quiet month in which to make something new.',
      ],
      [
        'The most intensive users will choose {thing} and the occasional ones will not, so the average effort rises.',
        'Whoever expects to use it most signs up for {thing} first, which spoils the calculation.',
      ],
      [
        'Two forms of payment side by side make each enquiry a consultation about prices.',
        'Every further variant beside {thing} delays the purchase, since it has to be compared.',
      ],
    ],
    tails: [
      'offered first to a handful of existing customers, with a written limit on what it contains',
      'with one clear scope and a date after which the old form ends',
    ],
    steps: [
      'Describe the scope, the price and the limit on one page, and put it before five existing customers.',
      'Recalculate last year’s orders under the new form, customer by customer, and look at the three who would gain the most.',
    ],
    stops: [
      'the hours per customer rise above what the fee pays for in two months running',
      'fewer than two of the first five customers asked say yes within a fortnight',
    ],
    gap: 'how often customers would really use it in an ordinary month',
  },
  {
    id: 'outsource',
    verbs: ['outsourc', 'delegat', 'contract'],
    words: [
      'freelanc',
      'agency',
      'virtual assistant',
      ' va',
      'contractor',
      'part-time help',
      'bookkeeper',
      'consultant',
      'ghostwriter',
      'coach',
    ],
    boldness: 0,
    noun: 'the outside help',
    pros: [
      [
        'Help bought by the hour can be ended within a week, so the price of a wrong choice stays small.',
        'With {thing} no obligation arises that would outlast a bad month.',
      ],
      [
        'Somebody who does such work every day will need fewer hours for it than an owner who does it now and then.',
        'Through {thing} experience can be bought that would take years to build inside.',
      ],
      [
        'The hours that {thing} would free are worth more than they cost, provided that they go into what customers pay for.',
        'As soon as a free hour earns more than an hour of {thing} costs, the decision is made.',
      ],
      [
        'Handing the work to {thing} forces a description of how it is done, and that is of value in itself.',
        'Even if the collaboration ends, the instructions written for {thing} remain.',
      ],
    ],
    cons: [
      [
        'Outside help serves several masters, and the smallest of them waits when things get tight.',
        'In the week in which it matters most, {thing} may well be busy with somebody who pays more.',
      ],
      [
        'The knowledge gained along the way leaves with {thing}, and every change of person starts from nothing.',
        'What {thing} [learns] about the business does not stay in the business.',
      ],
      [
        'Briefing, checking and correcting take more of the owner’s hours than the offer from {thing} suggests.',
        'At first the work that {thing} [takes] off comes back as questions.',
      ],
    ],
    tails: [
      'by the hour and for one clearly described result at first',
      'starting with a paid trial of two weeks and a written result',
    ],
    steps: [
      'Describe one result, its deadline and three examples of good work, and ask two providers for a paid trial.',
      'Set a weekly budget of hours, and review after four weeks what came back for it.',
    ],
    stops: [
      'corrections and questions take more than half of the hours that were meant to be saved',
      'the second delivery needs as many changes as the first one did',
    ],
    gap: 'how many hours a week would really be saved once briefing and checking are deducted',
  },
  {
    id: 'hire',
    common: true,
    verbs: ['hire', 'employ', 'recruit', 'take on', 'bring on', 'bring in', 'partner with a co'],
    words: [
      'employee',
      'full-time',
      'cofounder',
      'co-founder',
      'apprentice',
      'intern',
      'staff',
      'salesperson',
    ],
    boldness: 2,
    noun: 'the new person',
    pros: [
      [
        'If the owner’s own week is what limits the business, then only {thing} [moves] that limit for good.',
        'No tool and no price change adds a second pair of hands, which is what {thing} [does].',
      ],
      [
        'Someone who stays learns the odd cases, so {thing} [becomes] more valuable each month while outside help starts anew.',
        'Knowledge of customers gathers with {thing} and remains in the house.',
      ],
      [
        'With {thing} on board an illness or a holiday no longer means that everything stops.',
        'The business becomes less fragile through {thing}, because for the first time there is a second person who knows how it works.',
      ],
      [
        'Having somebody to explain things to would force the habits and standards that growth needs anyway.',
        'The order that {thing} [requires] is overdue and would pay off even if the person left again.',
      ],
    ],
    cons: [
      [
        'A salary is due in quiet months too, and {thing} would turn a slow season into a question of survival.',
        'The fixed cost of {thing} begins at once, while the additional income begins much later.',
      ],
      [
        'For the first two or three months {thing} will take more of the owner’s time than the work did before.',
        'Relief from {thing} arrives a quarter later than hoped, since explaining comes before handing over.',
      ],
      [
        'Unless the work comes up evenly, {thing} would be idle in one week and overwhelmed in the next.',
        'A collection of tasks that happen to annoy is not yet a full and steady job for {thing}.',
      ],
    ],
    tails: [
      'after a paid trial, with three results for the first ninety days in writing',
      'with fewer hours than you think you need and a review after thirty days',
    ],
    steps: [
      'Write the three results of the first ninety days, and let two candidates do a paid piece of the real work.',
      'Put six months of the full cost into a separate account before signing anything.',
    ],
    stops: [
      'after sixty days the owner’s own hours have not fallen by at least one day a week',
      'two of the three agreed results are out of sight at the review',
    ],
    gap: 'whether enough of this work will come up in each week of the coming year',
  },
  {
    id: 'ads',
    verbs: ['advertis', 'sponsor', 'boost'],
    words: [
      'ads',
      'ad ',
      'advertis',
      'paid traffic',
      'paid campaign',
      'ppc',
      'sponsor',
      'paid social',
      'influencer',
    ],
    boldness: 1,
    noun: 'the advertising',
    pros: [
      [
        'Paid reach answers within days whether a message works, where any other channel takes months to say so.',
        'The quickest honest verdict on the offer is to be had through {thing}, because strangers decide with a click.',
      ],
      [
        'The amount spent on {thing} can be changed every day, which makes it a more reversible step than it seems.',
        'Nothing about {thing} has to be kept up: one switch ends the expense.',
      ],
      [
        'Once a first order pays for the cost of winning it, {thing} can be extended in small steps with known results.',
        'Whatever works with a small budget for {thing} works with a somewhat larger one, so growth becomes a sum and no longer a hope.',
      ],
      [
        'Through {thing} the business reaches people whom neither friends nor followers could ever lead to it.',
        'The present circle of recommendations is exhausted at some point, and {thing} [leads] beyond it.',
      ],
    ],
    cons: [
      [
        'With {thing} the business pays for every visitor again, and nothing remains when the payment stops.',
        'Money spent on {thing} leaves no asset behind, neither a list nor a habit.',
      ],
      [
        'Larger competitors can pay more per customer, so {thing} [is] a bidding contest that a small budget loses slowly.',
        'The price of attention is set by those with the deepest pockets, and {thing} [puts] a small firm among them.',
      ],
      [
        'Learning to use {thing} well costs either months of the owner’s attention or a specialist’s fee on top of the budget.',
        'A small budget for {thing} is used up by the learning before the first reliable figure appears.',
      ],
    ],
    tails: [
      'with a sum you could lose without regret and one message that already works in person',
      'one audience and one offer at a time, with a daily limit and an end date',
    ],
    steps: [
      'Set a total budget and an end date, and send all clicks to one page with one request.',
      'Calculate the highest cost per first order at which nothing is lost, and write it above the campaign.',
    ],
    stops: [
      'the budget is half used and no order has come from somebody you did not know',
      'the cost per first order stays above the gross profit of that order for two weeks',
    ],
    gap: 'what winning one paying stranger would cost in this market',
  },
  {
    id: 'content',
    verbs: ['blog', 'post', 'publish', 'podcast', 'write'],
    words: [
      'seo',
      'content',
      'blog',
      'newsletter',
      'youtube',
      'podcast',
      'social media',
      'tiktok',
      'instagram',
      'linkedin',
      'organic',
      'video',
      'community',
      'webinar',
      'e-mail',
      'email',
    ],
    boldness: 0,
    noun: 'regular publishing',
    pros: [
      [
        'What is published stays and keeps working, so each hour put into {thing} is an hour that need not be bought again.',
        'The return on {thing} grows with age, in contrast to anything that has to be paid per click.',
      ],
      [
        'With {thing} buyers come with their trust already formed, and the conversation begins halfway through.',
        'Somebody who has followed {thing} for a while asks about dates and not about discounts.',
      ],
      [
        'The questions customers ask anyway are the material, so {thing} can grow out of work that is done already.',
        'There is no shortage of subjects for {thing}, as every enquiry contains one.',
      ],
      [
        'Through {thing} a list of people arises who may be written to at any time without asking a platform.',
        'An audience built by {thing} belongs to the business and can carry whatever it sells next.',
      ],
    ],
    cons: [
      [
        'Before {thing} [brings] the first order, at least two quarters of regular work have to be paid from elsewhere.',
        'The effort for {thing} falls due now and its return next year, which does not fit a goal for this season.',
      ],
      [
        'A rhythm for {thing} that one person sets in a quiet month will break in the first busy one.',
        'Without a fixed afternoon every week {thing} [becomes] the first thing to be dropped.',
      ],
      [
        'The audience that likes {thing} and the customers who pay need not be the same people.',
        'With {thing} it is easy to become popular among colleagues and stay unknown to buyers.',
      ],
    ],
    tails: [
      'at a rhythm that would survive your worst week, and judged by enquiries rather than applause',
      'answering the questions that buyers ask just before they pay',
    ],
    steps: [
      'Write down the ten questions that buyers asked before paying, and answer one of them each week.',
      'End every piece with a single invitation to leave an address, and count those addresses.',
    ],
    stops: [
      'ten pieces have appeared and not a single enquiry mentions one',
      'the weekly slot has been missed three times in two months',
    ],
    gap: 'which of these pieces a buyer would look for shortly before paying',
  },
  {
    id: 'outreach',
    verbs: [
      'pitch',
      'call',
      'reach',
      'contact',
      'approach',
      'cold',
      'network',
      'partner',
      'collaborat',
      'ask',
      'refer',
      'hold',
      'follow up',
    ],
    words: [
      'cold email',
      'cold call',
      'outreach',
      'partnership',
      'trade show',
      'networking',
      'direct sales',
      'reseller',
      'door to door',
      'conversations',
    ],
    boldness: 0,
    noun: 'direct conversations',
    pros: [
      [
        'Speaking to twenty people directly costs nothing but courage and brings answers within a week.',
        'No other route shows as fast as {thing} whether the offer is wanted, and in whose words.',
      ],
      [
        'With {thing} the business chooses its customers and no longer waits to be found by whoever comes along.',
        'The best customers seldom search, so {thing} [is] the only way to meet them early.',
      ],
      [
        'What is learnt from {thing} improves every other channel, because the objections are heard first-hand.',
        'Ten conversations through {thing} yield the sentences that a website has been lacking.',
      ],
      [
        'For the price of a typical sale, the personal effort behind {thing} is justified.',
        'A handful of orders would make {thing} worthwhile, and a handful can be won by hand.',
      ],
    ],
    cons: [
      [
        'The number of conversations one person can hold is small, and {thing} [ends] when that person stops.',
        'Success through {thing} cannot be multiplied without multiplying the owner.',
      ],
      [
        'Most people who are approached without having asked will not answer, and few owners keep {thing} up for long.',
        'Rejection is the normal result of {thing}, and morale gives out before the numbers work.',
      ],
      [
        'An unasked-for approach puts the seller into the weaker position from the first sentence.',
        'Customers won through {thing} expect concessions, for they were the ones who were courted.',
      ],
    ],
    tails: [
      'with a fixed number of conversations a week and a short list of people who really fit',
      'beginning with those who know you already and asking each for one introduction',
    ],
    steps: [
      'List thirty people or firms that fit exactly, and hold five conversations a week until the list is done.',
      'Write an opening of four sentences that names their problem, and change it after every ten attempts.',
    ],
    stops: [
      'thirty well-chosen attempts lead to fewer than three real conversations',
      'the conversations are friendly and none of them ends with a date',
    ],
    gap: 'how many of the people approached would have both the need and the authority',
  },
  {
    id: 'tools',
    verbs: [
      'automat',
      'switch',
      'migrat',
      'move to',
      'implement',
      'adopt',
      'integrat',
      'digiti',
      'replace',
      'upgrade',
    ],
    words: [
      'software',
      'crm',
      'chatbot',
      'automation',
      'shopify',
      'wordpress',
      'woocommerce',
      'system',
      'no-code',
      'zapier',
      'step that never changes',
    ],
    boldness: 1,
    noun: 'the new system',
    pros: [
      [
        'Minutes that recur every day are worth saving once and for all, and {thing} would do that without a salary.',
        'The dull part of the week does not need a person, so {thing} [is] the cheapest relief on the table.',
      ],
      [
        'With {thing} fewer things depend on remembering, and mistakes from haste would become rarer.',
        'Nothing gets forgotten that {thing} [takes] care of, which customers notice sooner than speed.',
      ],
      [
        'The longer the present patchwork grows, the dearer the change becomes, so {thing} should come before the next growth.',
        'Introducing {thing} with few customers is a matter of days, and with many it is a project.',
      ],
      [
        'A trial of {thing} on ten real cases costs little and settles the matter.',
        'Whether {thing} [fits] can be seen on real cases within a week, with no need for faith.',
      ],
    ],
    cons: [
      [
        'The change to {thing} will take several times the planned hours, nearly all of them for exceptions.',
        'Odd cases that nobody has listed will make {thing} more expensive than any quote shows.',
      ],
      [
        'With {thing} the business becomes dependent on the prices and the survival of one more provider.',
        'Whoever stands behind {thing} can raise the fee as soon as leaving has become laborious.',
      ],
      [
        'If the process itself is the problem, {thing} would only make it run faster.',
        'Putting {thing} on top of an untidy way of working fixes the untidiness in place.',
      ],
    ],
    tails: [
      'for one unchanging task first, with ten real cases as the test',
      'with the old way kept running until a full month has passed without a fault',
    ],
    steps: [
      'Move ten real cases completely, the odd ones included, and record every hour that it takes.',
      'Write the task down as a checklist and do it by hand for two weeks before any of it is automated.',
    ],
    stops: [
      'after a month the two systems still have to be kept side by side',
      'the hours saved in a month are fewer than the hours spent on repairs',
    ],
    gap: 'how many hours a month the present way costs, exceptions included',
  },
  {
    id: 'leave',
    verbs: [
      'quit',
      'leave your job',
      'leave my job',
      'resign',
      'go full',
      'go freelance',
      'go solo',
    ],
    words: ['day job', 'full time on', 'full-time on', 'your job'],
    boldness: 2,
    noun: 'the step into full time',
    pros: [
      [
        'The evenings after a full working day are not a fair trial of anything, so the idea has so far been judged too harshly.',
        'With a free head the same business would look different, and {doing} is the only way to see it.',
      ],
      [
        'Customers notice who is available at noon, and {doing} removes the reason why larger orders went elsewhere.',
        'Some orders cannot be served after hours, and they are the profitable ones.',
      ],
      [
        'The way back into employment stays open for a year or more, so {doing} is less final than it feels.',
        'A skilled person can return to a job, which makes {doing} a reversible step with a known price.',
      ],
      [
        'A date for {doing} creates the pressure under which prices, offers and habits are finally settled.',
        'Half-measures survive as long as a salary pays for them, and {doing} ends that.',
      ],
    ],
    cons: [
      [
        'A salary is the cheapest investor there is, and {doing} gives it up before the business can replace it.',
        'Whoever needs the next order to pay the rent sells worse, and {doing} brings that about overnight.',
      ],
      [
        'If demand rather than time is the limit, {doing} adds only what there is enough of.',
        'More time does not create customers, so {doing} would mostly buy a larger worry.',
      ],
      [
        'Fewer working hours at the job would free enough time to learn the same for a fraction of the risk.',
        'There is a middle course between evenings and everything, which makes {doing} premature.',
      ],
    ],
    tails: [
      'on a date tied to a figure, with the reserve in the bank before the notice is given',
      'in two stages, first with fewer hours and then altogether',
    ],
    steps: [
      'Name the monthly income from the business, three months running, at which notice will be given.',
      'Ask the employer for a day or two less a week before asking for nothing at all.',
    ],
    stops: [
      'the reserve falls below four months of private costs',
      'six months pass without the income growing from quarter to quarter',
    ],
    gap: 'how much more the business would earn with the additional hours alone',
  },
  {
    id: 'narrow',
    verbs: [
      'niche',
      'specialis',
      'specializ',
      'focus',
      'concentrat',
      'narrow',
      'target',
      'reposition',
      'rebrand',
    ],
    words: [
      'niche',
      'specialis',
      'specializ',
      'single segment',
      'only serve',
      'one industry',
      'upmarket',
      'most profitable kind',
    ],
    boldness: 1,
    noun: 'the narrower focus',
    pros: [
      [
        'A business known for one thing is recommended for it, and {thing} would give people that one sentence.',
        'With {thing} it becomes obvious whom to send along, which no broad description achieves.',
      ],
      [
        'The same work repeated for similar customers gets faster and better, so margins rise without a price change.',
        'Through {thing} each job prepares the next, and the effort per job falls.',
      ],
      [
        'Customers pay more to whoever has seen their problem twenty times, and {thing} [leads] there.',
        'Specialists are compared with nobody, which is worth more than any discount given by generalists.',
      ],
      [
        'The decision can be tried on the website and in ten conversations before a single old customer is sent away.',
        'Nothing needs to be given up for {thing} at first, since only the new enquiries are addressed differently.',
      ],
    ],
    cons: [
      [
        'A narrower circle makes the business dependent on the fortunes of one field, and {thing} [halves] the number of exits.',
        'If that one field saves money next year, {thing} [offers] nothing else to live on.',
      ],
      [
        'The market behind {thing} may be too small to keep even one person busy all year.',
        'There are perhaps a few hundred suitable customers for {thing}, and nobody has counted them.',
      ],
      [
        'Income from the other customers would end at once, while the new reputation takes a year to grow.',
        'Between the old breadth and {thing} lies a gap in income that the plan does not mention.',
      ],
    ],
    tails: [
      'towards new customers first, while the existing ones are served as before',
      'for two quarters, with a count of how many enquiries fit the new description',
    ],
    steps: [
      'Rewrite the first screen of the website for that one group, and tell ten past customers whom you now look for.',
      'Count the potential customers within reach by name, up to a hundred, before deciding for good.',
    ],
    stops: [
      'after two quarters fewer than a third of the enquiries come from the chosen group',
      'a hundred potential customers cannot be named',
    ],
    gap: 'how many customers of that kind there are within reach',
  },
  {
    id: 'cut',
    verbs: [
      'drop',
      'stop',
      'cut',
      'close',
      'fire',
      'kill',
      'shut',
      'abandon',
      'discontinu',
      'sunset',
      'end',
      'pause',
      'let go',
      'cancel',
    ],
    words: ['shut down', 'get rid of', 'phase out', 'give up'],
    boldness: 1,
    noun: 'the old line',
    pros: [
      [
        'Letting go of {thing} frees hours at once, and no new venture gives anything back as quickly.',
        'The fastest gain lies in what is no longer done, and nothing on that list is larger than {thing}.',
      ],
      [
        'The contribution of {thing} looks larger than it is, because its hours and interruptions are never counted.',
        'Calculated with all hours, less is probably earned through {thing} than in the same time elsewhere.',
      ],
      [
        'Without {thing} it becomes easier to say what the business stands for.',
        'The picture that customers have gets clearer once the rest no longer stands beside {thing}.',
      ],
      [
        'Most of those who are affected will accept an alternative if they hear about it early and personally.',
        'An ending that is announced kindly loses fewer people than is feared, also in the case of {thing}.',
      ],
    ],
    cons: [
      [
        'Quiet income from {thing} pays part of the fixed costs, and without it everything else has to carry more.',
        'What remains would have to bear the share of costs that is paid through {thing} today.',
      ],
      [
        'Other income comes along because of {thing}, which shows in no table.',
        'The value of {thing} lies partly in what follows in its wake, and that would end as well.',
      ],
      [
        'What is ended cannot easily be brought back, since goodwill around {thing} vanishes with the announcement.',
        'There is a price at which {thing} would be worthwhile, and it has not been tried.',
      ],
    ],
    tails: [
      'with two months’ notice, a personal message to everyone concerned and an alternative for each',
      'after one last attempt at a price that would make it worthwhile',
    ],
    steps: [
      'Calculate what really ends with it, income and hours both, customer by customer.',
      'Write to those concerned personally, with a date and an alternative, before anything appears in public.',
    ],
    stops: [
      'customers who leave take other orders with them in any number',
      'the freed hours have not been filled with better work after two months',
    ],
    gap: 'how much other income would disappear along with it',
  },
  {
    id: 'diy',
    verbs: ['learn', 'do it', 'teach', 'handle', 'self'],
    words: ['yourself', 'myself', 'in-house', 'in house', 'diy', 'on my own', 'on your own'],
    boldness: -1,
    noun: 'doing it in your own hands',
    pros: [
      [
        'Whoever has done the work once can later judge those who do it, and {doing} buys that judgement.',
        'Without first-hand experience nobody can tell good help from bad, which speaks for {doing} for a while.',
      ],
      [
        'Nobody knows the customers as the owner does, and that knowledge is what {doing} keeps in the work.',
        'The result of {doing} may be plainer, yet it sounds like the business and like nobody else.',
      ],
      [
        'The only cost of {doing} is time, and it can be stopped on any day.',
        'No money leaves the house through {doing}, so a wrong turn costs a few evenings.',
      ],
      [
        'Good enough will be reached sooner than expected, as the first version does not need a professional.',
        'What the task demands at this stage can be picked up in a few weeks, and {doing} stays useful for years.',
      ],
    ],
    cons: [
      [
        'The hours spent on {doing} are the dearest ones in the business, because only the owner can sell and serve.',
        'By {doing} the owner replaces the most valuable work of the week with the least practised.',
      ],
      [
        'Results of {doing} will arrive months later than with somebody who does this every day.',
        'The delay caused by {doing} costs more than any fee, for the customers of those months are gone.',
      ],
      [
        'What begins as {doing} for a while becomes a permanent job that nobody ever takes over again.',
        'There is no natural end to {doing}, and a year later it is still on the owner’s list.',
      ],
    ],
    tails: [
      'up to a fixed date, and only until you know what good work in this field looks like',
      'within a fixed number of hours a week that are taken from something named',
    ],
    steps: [
      'Set a limit of twenty hours in total, and have somebody experienced look at the result.',
      'Take the hours from one named task, and stop that task in the meantime.',
    ],
    stops: [
      'twenty hours are used up and nothing has been shown to a customer',
      'paid work is postponed because of it for a second time',
    ],
    gap: 'how many hours it takes to become good enough at it',
  },
  {
    id: 'trial',
    verbs: [
      'test',
      'pilot',
      'try',
      'prototype',
      'experiment',
      'presell',
      'pre-sell',
      'validate',
      'survey',
    ],
    words: [
      'pilot',
      'small test',
      'trial run',
      'pop-up',
      'popup',
      'mvp',
      'beta',
      'waitlist',
      'preorder',
      'pre-order',
      'one month',
    ],
    boldness: -1,
    noun: 'a limited trial',
    pros: [
      [
        'A limited trial would settle within weeks what both sides can only assert today.',
        'The disagreement is about facts that nobody has, and {doing} would bring them in.',
      ],
      [
        'The loss through {doing} is limited and known in advance, and neither alternative can say that of itself.',
        'Whatever comes out of {doing}, it cannot cost more than was set aside for it.',
      ],
      [
        'Early customers of a trial forgive mistakes that they would resent in a finished offer.',
        'Through {doing} the first mistakes happen before a few friendly people and not in front of everyone.',
      ],
      [
        'Nothing that {doing} requires would be lost if the larger step followed later.',
        'The work for {doing} is part of the full version anyway, so no effort is wasted.',
      ],
    ],
    cons: [
      [
        'A trial on a small scale proves little, as the effect in question only appears at full effort.',
        'Half an attempt gives half an answer, and {doing} would be read by each side as it likes.',
      ],
      [
        'Time is the scarce thing here, and {doing} uses up the season in which the full step would have paid.',
        'By the end of {doing} the best months of the year are over.',
      ],
      [
        'Customers sense that it is provisional, and {doing} gets the half-hearted reaction it deserves.',
        'Nobody commits to what is announced as an experiment, so {doing} underestimates the demand.',
      ],
    ],
    tails: [
      'with an end date, one deciding figure and a sum that may be lost',
      'with paying strangers rather than friends, for six weeks at the most',
    ],
    steps: [
      'Fix the length, the budget and the one figure that decides, and tell somebody who will ask about it.',
      'Find ten people who do not know you, and let them pay at least something.',
    ],
    stops: [
      'the end date has passed and the figure was not reached, whatever the explanation',
      'only friends and acquaintances have taken part by half-time',
    ],
    gap: 'which result of a trial would convince somebody who is against it today',
  },
  {
    id: 'expand',
    verbs: [
      'open',
      'expand',
      'enter',
      'scale',
      'wholesale',
      'franchise',
      'grow into',
      'move into',
      'diversif',
      'export',
      'add a second',
      'relocat',
      'move',
    ],
    words: [
      'second location',
      'second shop',
      'second store',
      'new market',
      'abroad',
      'another city',
      'new niche',
      'international',
      'new country',
      'europe',
      'franchise',
      'new audience',
    ],
    boldness: 2,
    noun: 'the expansion',
    pros: [
      [
        'A recipe that has proven itself in one place is less risky to repeat than a new one is to invent, which speaks for {thing}.',
        'The hardest part is to find something that people want, and {thing} [builds] on an answer that has been found.',
      ],
      [
        'Every market has a ceiling, and {thing} [is] the step that lifts it while the original still earns.',
        'Expanding from a position of strength is cheaper, and {thing} [is] affordable now in a way it may not be later.',
      ],
      [
        'With {thing} the risk is spread, because a bad season rarely hits everywhere at once.',
        'A second leg such as {thing} [makes] the business less dependent on a single place or group.',
      ],
      [
        'Suppliers, systems and experience are already paid for, so {thing} [begins] at lower costs than the original did.',
        'Part of what {thing} [needs] is there already, and every further sale makes it cheaper per head.',
      ],
    ],
    cons: [
      [
        'As far as success hangs on the owner’s presence, {thing} would halve precisely that.',
        'Nobody can be in two places, so {thing} [tests] whether the quality survives without the person who makes it.',
      ],
      [
        'The costs of {thing} are fixed and start on the first day, while customers there have yet to learn the name.',
        'For the first year {thing} [lives] off the original, which cannot bear a weak season at the same time.',
      ],
      [
        'Until the original is exhausted, more can be earned there with less risk than through {thing}.',
        'Before {thing} comes the question of why there are still free hours or unsold goods at home.',
      ],
    ],
    tails: [
      'in the smallest form that serves real customers, before any long contract is signed',
      'once the original has run for a month without you and the deciding figure is on paper',
    ],
    steps: [
      'Serve the new market for six weeks in a provisional form, such as a stall, a guest day or delivery, and count the returning customers.',
      'Leave the original to somebody else for two weeks, and see what breaks.',
    ],
    stops: [
      'sales of the original fall by more than a tenth while attention is elsewhere',
      'after three months fewer than a fifth of the new customers have come back',
    ],
    gap: 'whether the quality holds when the owner is not there',
  },
  {
    id: 'invest',
    common: true,
    verbs: [
      'buy',
      'invest',
      'lease',
      'rent',
      'purchase',
      'borrow',
      'finance',
      'acquire',
      'raise money',
      'raise funding',
      'take a loan',
      'take out',
    ],
    words: [
      'loan',
      'equipment',
      'machine',
      'van',
      'studio space',
      'office space',
      'investor',
      'funding',
      'inventory',
      'warehouse',
      'workspace',
    ],
    boldness: 2,
    noun: 'the purchase',
    pros: [
      [
        'What {thing} [costs] can be expressed in extra sales per month, and only if that number is within reach is the step sound.',
        'Spread over the years of use, {thing} may well cost less per week than one additional order brings.',
      ],
      [
        'Orders that are turned away or made by hand for lack of {thing} are a loss that appears in no account.',
        'The lack of {thing} is paid for as well, week by week, only in hours in place of money.',
      ],
      [
        'If things go badly, {thing} can be sold or handed back, so only part of the sum is at risk.',
        'Part of what is spent on {thing} keeps a value, unlike wages or advertising.',
      ],
      [
        'Quality and pace would improve with {thing} from the first week, and customers see both.',
        'The effect of {thing} is immediate and does not depend on persuading anyone.',
      ],
    ],
    cons: [
      [
        'The money for {thing} is gone on the day it is spent, and it would be missing in the first weak quarter.',
        'After {thing} the reserve is at its lowest, which is when surprises come.',
      ],
      [
        'The same capacity can be rented by the day until it is clear how often it is used, so {thing} [comes] too early.',
        'Before the days of real use have been counted, {thing} would be bought on a feeling.',
      ],
      [
        'More capacity through {thing} does not create more demand, and demand is the narrower place.',
        'Where the bottleneck lies before the work and not in it, {thing} would be idle behind it.',
      ],
    ],
    tails: [
      'after a month of renting it by the day and a count of the days it was needed',
      'only up to the sum whose loss would change nothing, and with a way to sell it again',
    ],
    steps: [
      'Rent or borrow it for a month, and note each day on which it earned something.',
      'Translate its cost into extra sales per month, and compare that number with the best month so far.',
    ],
    stops: [
      'it stands unused on more than half of the working days in the trial month',
      'the reserve would fall below four months of all costs',
    ],
    gap: 'how many days a month it would be used to capacity',
  },
  {
    id: 'keep',
    verbs: [
      'keep',
      'stay',
      'wait',
      'continue',
      'remain',
      'hold',
      'maintain',
      'stick',
      'leave things',
      'postpone',
      'do nothing',
      'save',
    ],
    words: [
      'as it is',
      'as is',
      'status quo',
      'for now',
      'where you are',
      'present course',
      'general',
    ],
    boldness: -2,
    noun: 'the present course',
    pros: [
      [
        'What exists has its costs behind it, so there is likely to be more to gain from improving it than from adding to it.',
        'Hardly any present course is used to the full, and its reserves cost less than anything new costs to begin.',
      ],
      [
        'By {doing} all options stay open, whereas the alternative closes some of them.',
        'Nothing is lost through {doing} for a quarter except impatience.',
      ],
      [
        'The figures needed for a sound decision will exist in a few months, and {doing} is the way to obtain them.',
        'Deciding later is deciding better in this case, because the coming season will show what is now being guessed.',
      ],
      [
        'Customers value that a small supplier stays what it is, and {doing} costs no explanation.',
        'The calm that {doing} preserves is part of what regular customers pay for.',
      ],
    ],
    cons: [
      [
        'The present course leads, a little later, to precisely the situation that prompted the question.',
        'By {doing} the reason for asking does not go away, it only becomes more expensive.',
      ],
      [
        'With {doing} nothing new is learnt, so the next decision will be made with the same lack of facts.',
        'Another quarter of {doing} adds no information, merely another quarter.',
      ],
      [
        'Others will take the step, and by {doing} the business lets them have the first experience.',
        'What is still a lead today will be the standard in two years if {doing} is the answer.',
      ],
    ],
    tails: [
      'until a fixed date, with one named improvement in the meantime',
      'for one more quarter, and collect the figure that would change the answer',
    ],
    steps: [
      'Choose the one improvement to the present course that customers would notice, and finish it this month.',
      'Enter the date of the next decision in the calendar together with the figure that has to be known by then.',
    ],
    stops: [
      'the date comes round and the missing figure has still not been collected',
      'two regular customers leave for a reason that the change would have removed',
    ],
    gap: 'what will be known in a quarter that is not known today',
  },
  {
    id: 'build',
    common: true,
    verbs: [
      'launch',
      'build',
      'create',
      'develop',
      'start',
      'make',
      'add',
      'release',
      'design',
      'introduce',
      'turn',
      'produce',
      'ship',
      'write a',
      'finish',
      'record',
    ],
    words: [
      'course',
      'app',
      'product',
      'feature',
      'paid newsletter',
      'paid community',
      'ebook',
      'template',
      'saas',
      'workshop',
      'marketplace',
      'tool',
    ],
    boldness: 1,
    noun: 'the new offer',
    pros: [
      [
        'A first version of {thing} can be in front of paying people within weeks, which no amount of research replaces.',
        'Whether {thing} [is] wanted will be known only when somebody can pay for it, and that point can be reached soon.',
      ],
      [
        'As far as audience and knowledge for {thing} exist already, most of the usual cost of starting falls away.',
        'With {thing} the business earns a second time from experience that has long been paid for.',
      ],
      [
        'Once made, {thing} can be sold without another hour for each sale, which breaks the link between income and time.',
        'Through {thing} income would for the first time come in on days without an appointment.',
      ],
      [
        'Even in a modest form {thing} would give people a cheaper way to get to know the business before they buy more.',
        'As a first purchase, {thing} would lead newcomers to everything else on offer.',
      ],
    ],
    cons: [
      [
        'Making it is the pleasant part, and finding buyers for {thing} every month is a second job that nobody has planned.',
        'The launch of {thing} would sell to those who know you, and after that the real work begins.',
      ],
      [
        'As long as nobody has paid for it, there are only opinions to show that people want {thing} from this business.',
        'Interest in {thing} that has been voiced but not paid for is politeness, and building on it would be a bet.',
      ],
      [
        'Time for {thing} comes out of the work that pays the bills today, and for longer than planned.',
        'Until {thing} [earns] anything, the bill is paid in hours that existing customers have a claim to.',
      ],
    ],
    tails: [
      'in a first version that is sold before it is finished and takes weeks rather than months',
      'for one kind of customer and one problem, with deposits before any building begins',
    ],
    steps: [
      'Describe it on one page with a price and a date, and ask twenty fitting people for a refundable deposit.',
      'Deliver the result by hand to three paying customers, and write down what was the same each time.',
    ],
    stops: [
      'two weeks of asking bring fewer than ten deposits from people you do not know personally',
      'the first version is not in use by a paying customer eight weeks after the start',
    ],
    gap: 'how many people would pay for it in advance',
  },
  {
    id: 'general',
    verbs: [],
    words: [],
    boldness: 0,
    noun: 'this step',
    pros: [
      [
        'The case for {doing} rests on something you control, whereas the alternative waits for others to act.',
        'Of the two, {doing} is the one whose outcome depends mainly on your own work.',
      ],
      [
        'A first result of {doing} can be seen within a few weeks, and that is early enough to correct the course.',
        'With {doing} it shows soon whether the assumption behind it holds.',
      ],
      [
        'What is learnt through {doing} stays useful even if the plan itself does not work out.',
        'Should {doing} fail, the contacts and the knowledge gained on the way remain.',
      ],
      [
        'By {doing} the business builds on what it is already known for.',
        'Nothing about {doing} asks customers to think differently of the business.',
      ],
    ],
    cons: [
      [
        'The effort for {doing} is known and its return is not, and the plan does not say who bears the difference.',
        'With {doing} the costs come first and for certain, and the benefit later and perhaps.',
      ],
      [
        'Success with {doing} depends on several things going right one after the other.',
        'A single weak link is enough to make {doing} worthless, and none of the links has been tested.',
      ],
      [
        'The reasons given for {doing} would speak just as well for a smaller step.',
        'Most of what {doing} promises could be had with a third of the effort.',
      ],
    ],
    tails: [
      'in a first step that can be finished this month and undone in the next',
      'with a written stop sign and somebody who will ask about it',
    ],
    steps: [
      'Cut out the part that can be finished this month, and show it to someone who would have to pay for it.',
      'Write down what has to be true for it to work, and test the least certain point first.',
    ],
    stops: [
      'the first step takes twice as long as planned',
      'the least certain assumption turns out to be wrong',
    ],
    gap: 'which of the assumptions behind it is the weakest',
  },
];
