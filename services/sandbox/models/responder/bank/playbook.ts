/**
 * Courses of action for questions that name none, such as "how do I get more bookings?". `thing` and
 * `course` feed the arguments of `courses.ts`.
 */
export type Play = {
  act: string;
  thing: string;
  course: string;
  /** Beginnings of words that make it fit. */
  words: readonly string[];
};

/**
 * Three plays of different kinds for a type and the words of the question, best fit first. What the
 * person ruled out ("without paid ads", "no loans") is not proposed.
 */
export function inventedOptions(
  type: string,
  vocabulary: ReadonlyMap<string, number>,
  text: string,
): readonly Play[] {
  const scored = Object.entries(plays)
    .flatMap(([name, list]) =>
      list.map((play) => ({ play, score: fit(play, vocabulary) + (name === type ? 1.5 : 0) })),
    )
    .filter(({ play }) => ruledOut[play.course]?.test(text) !== true)
    .toSorted((one, other) => other.score - one.score);
  const chosen: Play[] = [];
  for (const { play } of scored)
    if (chosen.length < 3 && !chosen.some((each) => each.course === play.course)) chosen.push(play);
  return chosen;
}

function fit(play: Play, vocabulary: ReadonlyMap<string, number>): number {
  const words = [...vocabulary.keys()];
  return play.words.filter((start) => words.some((word) => word.startsWith(start))).length;
}

const refusal = (what: string) =>
  new RegExp(
    `\\b(?:without|no|not|never|avoid|cannot|can['\u2019]t|don['\u2019]t)\\b[^.;\\n]{0,30}\\b(?:${what})`,
    'i',
  );

const ruledOut: Readonly<Record<string, RegExp>> = {
  ads: refusal('ads?\\b|advert|paid'),
  hire: refusal('hir|employ|staff|team'),
  outsource: refusal('freelanc|outsourc|assistant|contractor'),
  invest: refusal('loan|debt|borrow|invest|fund'),
  content: refusal('content|social media|post|blog|video'),
  'price-up': refusal('rais|price|prices|increase'),
  'price-down': refusal('discount|cheaper|lower'),
  outreach: refusal('cold|outreach|referral|call'),
};

const plays: Readonly<Record<string, readonly Play[]>> = {
  pricing: [
    {
      act: 'charge a fixed price for the result',
      thing: 'the fixed price',
      course: 'price-model',
      words: ['charge', 'charg', 'pric', 'much', 'rate'],
    },
    {
      act: 'begin high and give early buyers something extra instead of a discount',
      thing: 'what you sell',
      course: 'price-up',
      words: ['charge', 'charg', 'pric', 'much', 'worth'],
    },
    {
      act: 'begin low for the first ten buyers in exchange for references',
      thing: 'the opening price',
      course: 'price-down',
      words: ['charge', 'charg', 'pric', 'much', 'first'],
    },
  ],
  business_strategy: [
    {
      act: 'hold thirty conversations with one kind of buyer before building more',
      thing: 'thirty conversations',
      course: 'outreach',
      words: ['first', 'find', 'start', 'idea', 'acquire', 'early', 'nobody', 'lead'],
    },
    {
      act: 'narrow {business} to its most profitable kind of customer',
      thing: 'the narrower focus',
      course: 'narrow',
      words: ['niche', 'differ', 'compet', 'position', 'profit', 'stand', 'crowded'],
    },
    {
      act: 'sell a second thing to the customers you already have',
      thing: 'the second offer',
      course: 'build',
      words: ['grow', 'revenue', 'upsell', 'existing', 'repeat', 'plateau', 'flat'],
    },
    {
      act: 'raise prices for new customers before adding anything',
      thing: 'what you sell',
      course: 'price-up',
      words: ['price', 'margin', 'profit', 'income', 'busy', 'hour'],
    },
    {
      act: 'drop the least profitable fifth of the work',
      thing: 'the least profitable work',
      course: 'cut',
      words: ['time', 'overwhelm', 'busy', 'burn', 'focus', 'balance', 'hours'],
    },
    {
      act: 'take what works to a second market',
      thing: 'the second market',
      course: 'expand',
      words: ['expand', 'scale', 'market', 'abroad', 'international', 'location'],
    },
    {
      act: 'move part of the income to recurring agreements',
      thing: 'the recurring agreement',
      course: 'price-model',
      words: ['predict', 'stable', 'recurring', 'seasonal', 'unstable', 'feast', 'cash'],
    },
  ],
  marketing: [
    {
      act: 'ask each happy customer for one introduction',
      thing: 'the referral routine',
      course: 'referral',
      words: ['client', 'local', 'referral', 'booking', 'service', 'budget', 'customer', 'without'],
    },
    {
      act: 'publish answers to the questions that buyers ask before paying',
      thing: 'a weekly answer in public',
      course: 'content',
      words: [
        'seo',
        'audience',
        'traffic',
        'organic',
        'blog',
        'newsletter',
        'subscriber',
        'follower',
        'trust',
      ],
    },
    {
      act: 'test one paid campaign with a fixed budget',
      thing: 'the paid campaign',
      course: 'ads',
      words: ['ads', 'advert', 'fast', 'launch', 'reach', 'budget', 'ecommerce', 'shop', 'traffic'],
    },
    {
      act: 'rebuild the offer around one kind of buyer',
      thing: 'the sharper offer',
      course: 'narrow',
      words: ['convert', 'message', 'position', 'stand', 'brand', 'differ', 'landing', 'website'],
    },
    {
      act: 'offer a small first purchase that removes the risk',
      thing: 'the first purchase',
      course: 'price-down',
      words: ['trial', 'sign', 'convert', 'hesita', 'launch', 'price', 'enrol', 'member'],
    },
  ],
  operations: [
    {
      act: 'write the work down and hand the dullest step to a helper',
      thing: 'a helper for the dullest step',
      course: 'outsource',
      words: ['delegat', 'time', 'overwhelm', 'admin', 'alone', 'help', 'busy'],
    },
    {
      act: 'automate the one step that never changes',
      thing: 'the automated step',
      course: 'tools',
      words: [
        'automat',
        'manual',
        'tool',
        'software',
        'repetit',
        'data',
        'process',
        'order',
        'invoice',
        'ai',
      ],
    },
    {
      act: 'cut the range until the work flows',
      thing: 'the slowest part of the range',
      course: 'cut',
      words: ['complex', 'late', 'delay', 'custom', 'inventory', 'error', 'range', 'stock'],
    },
    {
      act: 'relieve the bottleneck with one purchase',
      thing: 'the purchase for the bottleneck',
      course: 'invest',
      words: ['capacity', 'equipment', 'machine', 'produc', 'space', 'faster', 'kitchen'],
    },
    {
      act: 'limit the orders you accept and charge more for urgency',
      thing: 'urgent work',
      course: 'price-up',
      words: ['deadline', 'rush', 'overbook', 'waiting', 'demand', 'late'],
    },
  ],
  finance: [
    {
      act: 'raise prices on new work and ask for deposits',
      thing: 'new work',
      course: 'price-up',
      words: ['margin', 'profit', 'cash', 'price', 'income', 'pay', 'invoice'],
    },
    {
      act: 'cut the costs and offers that earn least',
      thing: 'the offers that earn least',
      course: 'cut',
      words: ['cost', 'expens', 'save', 'loss', 'overhead', 'debt', 'spend', 'budget'],
    },
    {
      act: 'move regular customers to monthly payments in advance',
      thing: 'the monthly payment in advance',
      course: 'price-model',
      words: ['cash', 'predict', 'recurring', 'seasonal', 'late', 'subscription', 'flow'],
    },
    {
      act: 'borrow a small sum against orders that are already signed',
      thing: 'the small loan',
      course: 'invest',
      words: ['loan', 'fund', 'invest', 'capital', 'bank', 'grow', 'financ'],
    },
    {
      act: 'keep spending flat until the reserve covers six months',
      thing: 'the reserve',
      course: 'keep',
      words: ['runway', 'saving', 'reserve', 'risk', 'buffer', 'quit'],
    },
  ],
  product: [
    {
      act: 'finish one case completely for five paying users',
      thing: 'the version for five users',
      course: 'build',
      words: ['mvp', 'build', 'launch', 'idea', 'version', 'valid'],
    },
    {
      act: 'repair the first session before adding features',
      thing: 'the first session',
      course: 'improve',
      words: [
        'churn',
        'onboard',
        'activat',
        'retention',
        'trial',
        'leave',
        'cancel',
        'user',
        'convert',
      ],
    },
    {
      act: 'sell the result as a service before building it',
      thing: 'the service by hand',
      course: 'trial',
      words: ['valid', 'idea', 'demand', 'mvp', 'test', 'before'],
    },
    {
      act: 'remove the features that few people open',
      thing: 'the features that few people open',
      course: 'cut',
      words: [
        'complex',
        'roadmap',
        'support',
        'maintain',
        'feature',
        'bloat',
        'bugs',
        'churn',
        'retention',
      ],
    },
    {
      act: 'offer two packages that differ by result',
      thing: 'the two packages',
      course: 'price-model',
      words: ['price', 'charge', 'tier', 'plan', 'packag', 'monetiz', 'revenue', 'free', 'cost'],
    },
    {
      act: 'ask those who left and win back the first ten',
      thing: 'the conversations with those who left',
      course: 'outreach',
      words: ['churn', 'cancel', 'leave', 'lost', 'inactive', 'back'],
    },
  ],
  sales: [
    {
      act: 'follow up every open quote until there is a yes or a no',
      thing: 'the follow-up',
      course: 'outreach',
      words: ['quote', 'proposal', 'ghost', 'close', 'lead', 'follow', 'convert', 'deal'],
    },
    {
      act: 'sell a small paid pilot before the large project',
      thing: 'the paid pilot',
      course: 'trial',
      words: [
        'enterprise',
        'b2b',
        'contract',
        'cycle',
        'big',
        'company',
        'trust',
        'consult',
        'corporate',
      ],
    },
    {
      act: 'concentrate on one industry until it recommends you',
      thing: 'the one industry',
      course: 'narrow',
      words: ['niche', 'industry', 'pipeline', 'compet', 'segment', 'generic', 'agency'],
    },
    {
      act: 'raise the price and sell to fewer',
      thing: 'what you sell',
      course: 'price-up',
      words: ['price', 'discount', 'negotiat', 'cheap', 'expens', 'margin'],
    },
    {
      act: 'let two partners sell alongside their own work',
      thing: 'the two partners',
      course: 'expand',
      words: ['partner', 'reach', 'affiliate', 'reseller', 'channel', 'scale', 'alone'],
    },
  ],
  hiring: [
    {
      act: 'buy ten hours a week from a freelancer first',
      thing: 'the freelancer',
      course: 'outsource',
      words: ['hire', 'first', 'help', 'assistant', 'part', 'budget', 'admin', 'design', 'develop'],
    },
    {
      act: 'hire one person for a result you can measure',
      thing: 'the new person',
      course: 'hire',
      words: ['employ', 'team', 'grow', 'full', 'sales', 'manager', 'scale', 'recruit'],
    },
    {
      act: 'raise prices and stay solo',
      thing: 'what you sell',
      course: 'price-up',
      words: ['solo', 'alone', 'overwhelm', 'busy', 'time', 'capacity', 'burn'],
    },
    {
      act: 'automate the routine before hiring for it',
      thing: 'the automated routine',
      course: 'tools',
      words: ['automat', 'ai', 'admin', 'support', 'routine', 'tool', 'repetit'],
    },
    {
      act: 'run paid trials with two candidates',
      thing: 'the paid trials',
      course: 'trial',
      words: ['candidate', 'interview', 'choose', 'find', 'talent', 'attract', 'wrong'],
    },
  ],
  other: [
    {
      act: 'run a six-week trial with a written stop sign',
      thing: 'the six-week trial',
      course: 'trial',
      words: ['try', 'test', 'unsure', 'idea', 'start', 'decid'],
    },
    {
      act: 'take the smallest step that a customer would notice',
      thing: 'the smallest step',
      course: 'build',
      words: ['begin', 'launch', 'new', 'improve', 'start', 'create'],
    },
    {
      act: 'keep the present course until one named fact is known',
      thing: 'the present course',
      course: 'keep',
      words: ['wait', 'risk', 'uncertain', 'change', 'stay', 'safe'],
    },
    {
      act: 'end the commitment that costs most attention',
      thing: 'the costliest commitment',
      course: 'cut',
      words: ['time', 'stress', 'overwhelm', 'balance', 'burn', 'family', 'too'],
    },
    {
      act: 'ask three experienced people and then commit',
      thing: 'outside experience',
      course: 'outreach',
      words: ['advice', 'learn', 'mentor', 'know', 'legal', 'partner', 'first'],
    },
  ],
};
