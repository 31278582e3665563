import type { EndpointName } from '#services/platform/contract.ts';

/** Examples of the main calls for the description: the request, and `data` of the response. */
export const apiExamples: Readonly<
  Partial<Record<EndpointName, { body?: unknown; reply?: unknown }>>
> = {
  'POST /auth/login': {
    body: { email: 'ann@example.com', password: 'Harbour-Candle-58', remember_me: true },
  },
  'POST /auth/signup': {
    body: { name: 'Ann Example', email: 'ann@example.com', password: 'Harbour-Candle-58' },
  },
  'POST /contact': {
    body: { topic: 'billing', message: 'Where is my invoice?', email: 'ann@example.com' },
    reply: { reference: 'K7Q2-9M4D', emailed: true },
  },
  'GET /credits/balance': {
    reply: {
      available_credits: 86,
      reserved_credits: 14,
      debt_credits: 0,
      spending_frozen: false,
      total_purchased: 100,
      total_consumed: 0,
      total_credits: 100,
      used_credits: 0,
    },
  },
  'POST /credits/check-usage': {
    body: { required_credits: 14 },
    reply: {
      has_sufficient_credits: true,
      required_credits: 14,
      current_balance: 86,
      shortfall: 0,
      refusal: null,
    },
  },
  'POST /credits/consume': {
    body: { user_id: 'usr_01kb1c0w3mxk6rj3n2v9q8s7td', credits: 2, reason: 'A monthly report' },
  },
  'POST /credits/create-checkout-session': {
    body: { package_id: 'boost-20' },
    reply: {
      checkout_url: 'https://checkout.stripe.com/c/pay/cs_test_a1',
      session_id: 'cs_test_a1',
      purchase_id: 'pur_01kb1c0w3mxk6rj3n2v9q8s7td',
    },
  },
  'POST /credits/purchases/{id}/refund': {
    body: { credits: 20 },
    reply: {
      id: 'rfd_01kb1c0w3mxk6rj3n2v9q8s7td',
      status: 'pending',
      credits: 20,
      amount_cents: 1900,
      currency: 'usd',
      requested_at: '2026-11-22T10:00:00.000Z',
      ended_at: null,
    },
  },
  'PUT /onboarding': {
    body: {
      version: 3,
      currentStage: 2,
      auditData: {
        aiSubscriptions: ['ChatGPT Plus ($20/mo)'],
        monthlySpend: 20,
        orchestrationHours: 10,
        revenueLevel: '1m-3m',
        businessType: 'consulting',
        competitivePressure: 'probably',
        lostDeals: 4,
      },
      selectedChallenge: 'premium-positioning',
      demonstration: null,
      question: null,
    },
  },
  'POST /optimizations/estimate': {
    body: { strategy: 'balanced', challengeText: 'Should we open a second shop?' },
  },
  'POST /optimizations/check': {
    body: { challenge: 'Should we open a second shop?', challenge_type: 'business_strategy' },
    reply: {
      verdict: 'ask',
      questions: ['What did the first shop earn last year, and what did it cost?'],
      why: null,
      skipped: false,
    },
  },
  'POST /optimizations': {
    body: {
      challenge: 'Should we open a second shop?',
      context: 'We sell bread in one town, and the next one has no bakery.',
      objectives: ['More customers'],
      constraints: ['No loans'],
      strategy: 'balanced',
      challenge_type: 'business_strategy',
    },
  },
  'GET /optimizations/{id}/claims': {
    reply: [
      {
        id: 'c1',
        text: 'The next town has no bakery within 10 km.',
        importance: 3,
        outcome: 'agreed',
        agree_percent: 100,
        authors: ['S1'],
        votes: [
          { seat: 'S1', name: 'GPT-6.1 Terra', simulated: false, stance: 'agree', reason: null },
          {
            seat: 'R1',
            name: 'Mistral Large 4',
            simulated: false,
            stance: 'agree',
            reason: 'The context says so.',
          },
        ],
        quotes: [{ seat: 'S1', text: 'With no bakery nearby, the demand is already there.' }],
        changed_fact: null,
      },
    ],
  },
};
