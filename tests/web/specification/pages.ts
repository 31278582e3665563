/**
 * The pages of the specification: what each one is called and which of its sentences it shows. A
 * sentence that needs a state of its own, such as an error, is tested where that state is made.
 */
export type SpecifiedPage = {
  /** `{run}` stands for a completed run of the signed-in user, `{recipe}` for a recipe, `{month}` for this month. */
  path: string;
  /** Of the window, before the product's name. */
  title: string;
  heading: string | RegExp;
  sentences: readonly string[];
  /** Default 200. */
  status?: number;
  /** Where the page leads on its own; default: it stays. */
  leadsTo?: string;
  /** Only for those whom a link, an email or another page leads there; search engines are not offered it. */
  isUnlisted?: true;
};

/** Of a link in an email; no account has it. */
const linkToken = 'A'.repeat(43);

const siteFooter = [
  'Product',
  'Company',
  'Support',
  'Opportunity Patterns',
  'Cookie Settings',
] as const;

/** What a visitor reads. */
export const publicPages: readonly SpecifiedPage[] = [
  {
    path: '/',
    title: '',
    heading: /./,
    sentences: [
      'Home',
      'Features',
      'Pricing',
      'Login',
      'Find Opportunities - $5',
      'Find Your First Opportunity $5',
      'Watch 7 AIs Battle-Test Live',
      'Instant Expertise Proven',
      'Opportunity Finder',
      'Side-Gig Builder',
      'Empire Builder',
      '10 credits',
      ...siteFooter,
    ],
  },
  {
    path: '/login',
    title: 'Login',
    heading: /./,
    sentences: ['Email', 'Password', 'Remember me', 'Forgot', 'Sign up'],
  },
  {
    path: '/signup',
    title: 'Sign up',
    heading: /./,
    sentences: [
      'Full name',
      'Email',
      'Password',
      'Confirm password',
      'Terms of Service',
      'Privacy Policy',
      'Start Finding Opportunities - $5',
      '10 credits',
    ],
  },
  { path: '/forgot-password', title: 'Forgot password', heading: /./, sentences: ['Email'] },
  {
    path: '/reset-password',
    title: 'Reset password',
    heading: /./,
    sentences: [],
    isUnlisted: true,
  },
  {
    path: '/auth/verify-email',
    title: 'Superintelligence Access Initiated',
    heading: 'Superintelligence Access Initiated',
    sentences: ['Contact', 'Login'],
    isUnlisted: true,
  },
  {
    path: '/auth/confirm',
    title: 'Confirm your email',
    heading: /./,
    sentences: ['Invalid confirmation link. Please try signing up again.'],
    isUnlisted: true,
  },
  {
    path: '/auth/error',
    title: 'Authentication error',
    heading: /./,
    sentences: ['An authentication error occurred', 'Sign up', 'Login', 'Contact'],
    isUnlisted: true,
  },
  {
    path: '/auth/error?message=link-used',
    title: 'Authentication error',
    heading: /./,
    sentences: [],
    isUnlisted: true,
  },
  {
    path: '/auth/link/confirm',
    title: 'Your link',
    heading: /./,
    sentences: ['This link is incomplete'],
    isUnlisted: true,
  },
  {
    path: `/auth/link/email#${linkToken}`,
    title: 'Your link',
    heading: /./,
    sentences: ['Use this address'],
    isUnlisted: true,
  },
  { path: '/auth/link/nothing', title: 'Your link', heading: /./, sentences: [], isUnlisted: true },
  {
    path: `/reset-password?reason=undone#${linkToken}`,
    title: 'Reset password',
    heading: /./,
    sentences: ['Save and sign in'],
    isUnlisted: true,
  },
  {
    path: '/account-deleted',
    title: 'Account deleted',
    heading: 'Your account is being deleted',
    sentences: [],
    isUnlisted: true,
  },
  {
    path: `/shared/${linkToken}`,
    title: "This link doesn't work",
    heading: "This link doesn't work",
    sentences: ['Home'],
    isUnlisted: true,
  },
  { path: '/privacy', title: 'Privacy Policy', heading: 'Privacy Policy', sentences: [] },
  {
    path: '/terms',
    title: 'Terms of Service',
    heading: 'Terms of Service',
    sentences: ['30 days'],
  },
  { path: '/cookies', title: 'Cookies', heading: /./, sentences: ['Cookie Settings'] },
  { path: '/how-it-works', title: 'How it works', heading: 'How it works', sentences: [] },
  { path: '/method', title: 'Method', heading: /./, sentences: [] },
  { path: '/about', title: 'About', heading: /./, sentences: [] },
  { path: '/contact', title: 'Contact', heading: /./, sentences: ['email', 'Topic', 'Message'] },
  {
    path: '/support',
    title: 'Contact',
    heading: /./,
    sentences: [],
    leadsTo: '/contact?topic=support',
    isUnlisted: true,
  },
  { path: '/help', title: 'Help', heading: /./, sentences: [] },
  { path: '/security', title: 'Security', heading: /./, sentences: [] },
  { path: '/blog', title: 'Blog', heading: /./, sentences: [], isUnlisted: true },
  { path: '/careers', title: 'Careers', heading: /./, sentences: [], isUnlisted: true },
  {
    path: '/no-such-page',
    title: 'Page not found',
    heading: /./,
    sentences: ['Find Your First Opportunity $5'],
    status: 404,
    isUnlisted: true,
  },
];

/** The public pages that search engines are offered. */
export const listedPaths: readonly string[] = publicPages
  .filter(({ isUnlisted }) => isUnlisted !== true)
  .map(({ path }) => path);

/** What a signed-in user reads; a visitor is sent to /login and comes back. */
export const memberPages: readonly SpecifiedPage[] = [
  {
    path: '/dashboard',
    title: 'Dashboard',
    heading: /^Good (morning|afternoon|evening), Demo/,
    sentences: [
      'Pay-as-you-grow',
      'Opportunity Discovery',
      'Recipes',
      'Logout',
      'Credit Balance',
      'This Month',
      'Success Rate',
      'Avg Cost',
      'Monthly Usage',
      'New Optimization',
      'Browse Recipes',
      'Account Settings',
      'Free Plan',
      'A plan adds credits every month',
    ],
  },
  { path: '/dashboard/optimizations', title: 'Your optimizations', heading: /./, sentences: [] },
  { path: '/dashboard/brief', title: 'Intelligence Brief', heading: /./, sentences: [] },
  {
    path: '/optimization',
    title: 'Business Optimization',
    heading: 'Business Optimization',
    sentences: [
      'What business challenge are you facing?',
      'Parallel Generation',
      'Cross-Evaluation',
      'Bias Detection',
      'Synthesis',
      'Recommended',
      'Start Optimization',
    ],
  },
  {
    path: '/optimizations/{run}',
    title: 'Raise the price of my tool, or find more customers?',
    heading: /./,
    sentences: ['Next steps', 'Request Refinement'],
  },
  {
    path: '/optimization/{run}',
    title: 'Raise the price of my tool, or find more customers?',
    heading: /./,
    sentences: [],
    leadsTo: '/optimizations/{run}',
  },
  {
    path: '/evolution-chamber?id={run}',
    title: 'Evolution Chamber',
    heading: /./,
    sentences: ['Real-time Insights', 'Emerging Recommendations', 'Request Refinement', 'cost'],
  },
  {
    path: '/credits',
    title: 'Credits',
    heading: /./,
    sentences: [
      'Available Credits',
      'Total Purchased',
      'Total Used',
      'Usage Statistics',
      'Most Used AI Models',
      'Transaction History',
    ],
  },
  {
    path: '/credits/purchase',
    title: 'Purchase Credits',
    heading: /./,
    sentences: ['Each optimization uses ~14 credits', 'Opportunity Finder', 'Boost'],
  },
  {
    path: '/credits/success',
    title: 'Purchase',
    heading: /./,
    sentences: ['No session ID provided'],
  },
  { path: '/credits/plan', title: 'Plan', heading: /./, sentences: [] },
  { path: '/credits/models', title: 'Model costs', heading: /./, sentences: [] },
  {
    path: '/credits/statements/{month}',
    title: 'Statement',
    heading: /^Statement of /,
    sentences: ['Month in progress'],
  },
  { path: '/onboarding/singularity', title: 'Singularity onboarding', heading: /./, sentences: [] },
  { path: '/onboarding/audit', title: 'My audit', heading: 'My audit', sentences: [] },
  { path: '/recipes', title: 'Recipes', heading: 'Recipes', sentences: ['Opportunity Patterns'] },
  { path: '/recipes/{recipe}', title: '', heading: /./, sentences: ['Use recipe'] },
  { path: '/recipes/new', title: 'New recipe', heading: /./, sentences: [] },
  {
    path: '/profile',
    title: 'Account Settings',
    heading: /./,
    sentences: ['Motion', 'Density'],
  },
];

/** Where pages send a user on their own. */
export const moves: readonly { as: 'visitor' | 'member'; from: string; to: string }[] = [
  { as: 'member', from: '/', to: '/dashboard' },
  { as: 'member', from: '/login', to: '/dashboard' },
  { as: 'member', from: '/signup', to: '/dashboard' },
  { as: 'member', from: '/auth/verify-email', to: '/dashboard' },
  { as: 'member', from: '/evolution-chamber', to: '/optimization' },
];

/** The dashboard in its elite view: the headings of its cards, and where its links lead. */
export const elite: {
  headings: readonly string[];
  links: readonly (readonly [string, string])[];
} = {
  headings: ['Competitive Intelligence', 'Elite Community Insights', 'Recent orchestrations'],
  links: [
    ['Evolution Chamber', '/optimization'],
    ['Intelligence Brief', '/dashboard/brief'],
    ['Launch Evolution Chamber', '/optimization'],
  ],
};
