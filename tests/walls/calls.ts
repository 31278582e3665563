import { randomUUID } from 'node:crypto';
import { Stripe } from 'stripe';
import type * as v from 'valibot';
import { inTransaction } from '#db/transaction.ts';
import { ContactRequest } from '#services/contact/contract.ts';
import { ConsumeRequest, CheckUsageRequest } from '#services/credits/contract.ts';
import {
  DeleteAccountRequest,
  EmailChangeRequest,
  ExchangeRequest,
  LinkRequest,
  MagicLinkRequest,
  PasswordChangeRequest,
  PasswordResetRequest,
  ProfileChange,
  ReauthenticateRequest,
  ResendRequest,
} from '#services/identity/contract.ts';
import { createApiKey } from '#services/identity/api-keys/api-keys.ts';
import { ApiKeyRequest } from '#services/identity/contract/api-keys.ts';
import {
  LoginRequest,
  policyVersion,
  ResetLinkRequest,
  SignupRequest,
} from '#services/identity/contract/forms.ts';
import {
  CreateOptimizationRequest,
  CheckRequest,
  RenameRequest,
} from '#services/optimizations/contract/requests.ts';
import { EstimateRequest } from '#services/optimizations/contract/panel.ts';
import { OutcomeRequest } from '#services/optimizations/contract/outcomes.ts';
import { RefineRequest } from '#services/optimizations/contract/refinement.ts';
import { ShareRequest } from '#services/optimizations/contract/sharing.ts';
import { TickRequest } from '#services/optimizations/contract/result.ts';
import { mcpEndpoints } from '#services/mcp/contract.ts';
import { keyScopes } from '#services/platform/contract.ts';
import type { KeyScope } from '#services/platform/contract.ts';
import { ChatRequest } from '#services/openai/contract.ts';
import { insertShare } from '#services/optimizations/sharing/rows.ts';
import { requirePackage } from '#services/payments/purchases/checkout.ts';
import {
  CheckoutRequest,
  PaymentIntentRequest,
  PlanRequest,
  PortalRequest,
  RefundRequest,
} from '#services/payments/contract.ts';
import type { CheckoutReply } from '#services/payments/contract.ts';
import { insertPurchase, recordPaid } from '#services/payments/purchases/rows.ts';
import { sandboxWebhookSecret } from '#services/platform/process/env.ts';
import { newId } from '#services/platform/ids.ts';
import { mailedToken, openBrowser } from '#tests/identity/browser.ts';
import type { TestBrowser } from '#tests/identity/browser.ts';
import { form } from '#tests/optimizations/files/made.ts';
import { png } from '#tests/identity/accounts/pictures.ts';
import { request } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';
import { OnboardingRequest } from '#services/onboarding/contract.ts';
import { RecipeChange, RecipeRequest } from '#services/recipes/contract.ts';
import { give, issueToken } from '#tests/support/processes/service.ts';
import { answers } from '#tests/onboarding/answers.ts';

/**
 * One valid call of every route, for the tests that cover all routes. A route without an entry fails the
 * matrix, so a new route is covered by all of these tests.
 */
export type Caller = {
  userId: string;
  email: string;
  token: string;
  sessionId: string;
  browser: TestBrowser;
};

/** A request that succeeds for its owner. */
export type Sample = {
  path: string;
  body?: Record<string, unknown>;
  raw?: Uint8Array<ArrayBuffer>;
  headers?: Record<string, string>;
};

/**
 * `cookie` is the session cookie; `key` an API key of every scope; `local` needs no session and answers
 * this machine only.
 */
export type Access = 'everyone' | 'visitor' | 'cookie' | 'person' | 'key' | 'service' | 'local';

export type RouteEntry = {
  access: Access;
  /** For an allowed caller. */
  status: number;
  /** For a caller without a session, where it is not 401. */
  withoutSession?: number;
  /** The route names an object of the owner; others must not learn whether it exists. */
  isOwned?: true;
  /** The schema of the body; the sample has every field of it. */
  schema?: v.GenericSchema;
  sample(app: TestApp, owner: Caller): Promise<Sample> | Sample;
};

const at = (path: string) => () => ({ path });

export const entries: Readonly<Record<string, RouteEntry>> = {
  'GET /api/health': { access: 'everyone', status: 200, sample: at('/health') },
  'GET /api-docs': { access: 'everyone', status: 200, sample: at('/../api-docs') },
  'GET /api-docs/begin.js': {
    access: 'everyone',
    status: 200,
    sample: at('/../api-docs/begin.js'),
  },
  'GET /api-docs/live': { access: 'everyone', status: 200, sample: at('/../api-docs/live') },
  'GET /api-docs/programs': {
    access: 'everyone',
    status: 200,
    sample: at('/../api-docs/programs'),
  },
  'GET /api-docs/pages.css': {
    access: 'everyone',
    status: 200,
    sample: at('/../api-docs/pages.css'),
  },
  'GET /api-docs/:file': {
    access: 'everyone',
    status: 200,
    sample: at('/../api-docs/swagger-ui.css'),
  },
  'GET /api/openapi.json': { access: 'everyone', status: 200, sample: at('/openapi.json') },
  'GET /api/ready': { access: 'everyone', status: 200, sample: at('/ready') },
  'GET /.well-known/jwks.json': {
    access: 'everyone',
    status: 200,
    sample: at('/../.well-known/jwks.json'),
  },

  // --- programs ---

  'GET /v1/models': { access: 'key', status: 200, sample: at('/../v1/models') },
  'GET /v1/models/:id': { access: 'key', status: 200, sample: at('/../v1/models/fast') },
  'POST /v1/chat/completions': {
    access: 'key',
    status: 200,
    schema: ChatRequest,
    sample: async (app, owner) => {
      await give(app, owner.userId, 100);
      return {
        path: '/../v1/chat/completions',
        body: {
          model: 'fast',
          messages: [{ role: 'user', content: 'Should we raise prices?' }],
          stream: true,
          stream_options: { include_usage: true },
          n: 1,
          challenge_type: 'finance',
          objectives: ['More profit'],
          constraints: ['No layoffs'],
          allow_simulated: true,
        },
      };
    },
  },
  'POST /mcp': {
    access: 'key',
    status: 200,
    schema: mcpEndpoints['POST /mcp'].body,
    sample: () => ({
      path: '/../mcp',
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'balance' } },
      headers: { accept: 'application/json, text/event-stream' },
    }),
  },

  // --- authentication ---
  'POST /api/auth/signup': {
    access: 'everyone',
    status: 201,
    schema: SignupRequest,
    sample: () => ({
      path: '/auth/signup',
      body: {
        name: 'Somebody New',
        email: `new-${randomUUID()}@example.com`,
        password: testPassword,
        terms_version: policyVersion,
      },
    }),
  },
  'POST /api/auth/login': {
    access: 'everyone',
    status: 200,
    schema: LoginRequest,
    sample: (_app, { email }) => ({
      path: '/auth/login',
      body: { email, password: testPassword, remember_me: true },
    }),
  },
  'POST /api/auth/resend-confirmation': {
    access: 'everyone',
    status: 200,
    schema: ResendRequest,
    sample: (_app, { email }) => ({ path: '/auth/resend-confirmation', body: { email } }),
  },
  'POST /api/auth/magic-link': {
    access: 'everyone',
    status: 200,
    schema: MagicLinkRequest,
    sample: (_app, { email }) => ({
      path: '/auth/magic-link',
      body: {
        email,
        redirect: '/credits',
        remember_me: true,
        code_challenge: 'A'.repeat(43),
        code_challenge_method: 'S256',
      },
    }),
  },
  'POST /api/auth/password/reset-request': {
    access: 'everyone',
    status: 200,
    schema: ResetLinkRequest,
    sample: (_app, { email }) => ({ path: '/auth/password/reset-request', body: { email } }),
  },
  'POST /api/auth/links/:kind': {
    access: 'everyone',
    status: 200,
    schema: LinkRequest,
    sample: async (app, owner) => {
      await owner.browser.post('/auth/magic-link', { email: owner.email });
      return inBrowser(owner, {
        path: '/auth/links/magic',
        body: { token: await mailedToken(app, owner.email, 'magic') },
      });
    },
  },
  'POST /api/auth/exchange': {
    access: 'everyone',
    status: 200,
    schema: ExchangeRequest,
    sample: async (app, owner) => {
      const pair = new URLSearchParams((await followed(app, owner, 'magic')).split('#')[1]);
      return inBrowser(owner, {
        path: '/auth/exchange',
        body: { access_token: pair.get('access_token'), refresh_token: pair.get('refresh_token') },
      });
    },
  },
  'POST /api/auth/password/reset': {
    access: 'everyone',
    status: 200,
    schema: PasswordResetRequest,
    sample: async (app, owner) => {
      const [, token] = (await followed(app, owner, 'reset')).split('#');
      return inBrowser(owner, {
        path: '/auth/password/reset',
        body: { token, password: testPassword },
      });
    },
  },

  // --- the session ---
  'GET /api/auth/session': {
    access: 'cookie',
    status: 200,
    withoutSession: 200,
    sample: at('/auth/session'),
  },
  'POST /api/auth/refresh': { access: 'cookie', status: 200, sample: at('/auth/refresh') },
  'POST /api/auth/logout': {
    access: 'cookie',
    status: 200,
    withoutSession: 200,
    sample: at('/auth/logout'),
  },
  'GET /api/api-keys': { access: 'person', status: 200, sample: at('/api-keys') },
  'POST /api/api-keys': {
    access: 'person',
    status: 201,
    schema: ApiKeyRequest,
    sample: () => ({
      path: '/api-keys',
      body: { name: 'A program', scopes: ['run', 'read'], monthly_cap: 100 },
    }),
  },
  'DELETE /api/api-keys/:id': {
    access: 'person',
    status: 200,
    isOwned: true,
    sample: async (app, owner) => ({ path: `/api-keys/${(await keyOf(app, owner, 'read')).id}` }),
  },
  'GET /api/auth/sessions': { access: 'person', status: 200, sample: at('/auth/sessions') },
  'DELETE /api/auth/sessions/:id': {
    access: 'person',
    status: 200,
    isOwned: true,
    sample: (_app, { sessionId }) => ({ path: `/auth/sessions/${sessionId}` }),
  },
  'POST /api/auth/sessions/end-others': {
    access: 'person',
    status: 200,
    sample: at('/auth/sessions/end-others'),
  },
  'POST /api/auth/reauthenticate': {
    access: 'person',
    status: 200,
    schema: ReauthenticateRequest,
    sample: () => ({ path: '/auth/reauthenticate', body: { password: testPassword } }),
  },
  'POST /api/auth/password/change': {
    access: 'person',
    status: 200,
    schema: PasswordChangeRequest,
    sample: () => ({
      path: '/auth/password/change',
      body: { current_password: testPassword, new_password: 'Harbour-Candle-58' },
    }),
  },
  'POST /api/auth/email/change': {
    access: 'person',
    status: 200,
    schema: EmailChangeRequest,
    sample: () => ({
      path: '/auth/email/change',
      body: { email: `moved-${randomUUID()}@example.com`, password: testPassword },
    }),
  },

  // --- the account ---
  'GET /api/users/me': { access: 'person', status: 200, sample: at('/users/me') },
  'GET /api/community': { access: 'person', status: 200, sample: at('/community') },
  'GET /api/optimizations/brief': {
    access: 'person',
    status: 200,
    sample: at('/optimizations/brief?format=markdown'),
  },
  'GET /api/optimizations/competitive': {
    access: 'person',
    status: 200,
    sample: at('/optimizations/competitive'),
  },
  'GET /api/optimizations/outcomes': {
    access: 'person',
    status: 200,
    sample: at('/optimizations/outcomes'),
  },
  'GET /api/optimizations/outcomes/due': {
    access: 'person',
    status: 200,
    sample: at('/optimizations/outcomes/due'),
  },
  'GET /api/users/me/stats': { access: 'person', status: 200, sample: at('/users/me/stats') },
  'PATCH /api/users/me': {
    access: 'person',
    status: 200,
    schema: ProfileChange,
    sample: () => ({
      path: '/users/me',
      body: { name: 'Another Name', preferred_dashboard: 'elite', notify_run_finished: true },
    }),
  },
  'DELETE /api/users/me': {
    access: 'person',
    status: 200,
    schema: DeleteAccountRequest,
    sample: () => ({ path: '/users/me', body: { password: testPassword } }),
  },
  'GET /api/users/me/export': { access: 'person', status: 200, sample: at('/users/me/export') },
  'PUT /api/users/me/avatar': {
    access: 'person',
    status: 200,
    sample: () => picture,
  },
  'DELETE /api/users/me/avatar': {
    access: 'person',
    status: 200,
    sample: at('/users/me/avatar'),
  },
  // Unguessable, and shown to everyone who knows it, as an image has no token.
  'GET /api/avatars/:id': {
    access: 'everyone',
    status: 200,
    sample: async (app, { token }) => {
      const { avatar_url: url } = await app.data<{ avatar_url: string }>(picture.path, {
        method: 'PUT',
        token,
        raw: picture.raw,
        headers: picture.headers,
      });
      return { path: new URL(url, 'http://localhost').pathname.replace(/^\/api/, '') };
    },
  },

  // --- credits ---
  'GET /api/credits/balance': { access: 'person', status: 200, sample: at('/credits/balance') },
  'GET /api/credits/history': {
    access: 'person',
    status: 200,
    sample: at('/credits/history?limit=5&format=csv'),
  },
  'GET /api/credits/analytics': {
    access: 'person',
    status: 200,
    sample: at('/credits/analytics'),
  },
  'GET /api/credits/model-costs': {
    access: 'everyone',
    status: 200,
    sample: at('/credits/model-costs'),
  },
  'POST /api/credits/check-usage': {
    access: 'person',
    status: 200,
    schema: CheckUsageRequest,
    sample: () => ({ path: '/credits/check-usage', body: { required_credits: 14 } }),
  },
  'POST /api/credits/consume': {
    access: 'service',
    status: 201,
    schema: ConsumeRequest,
    sample: async (app, { userId }) => {
      await give(app, userId, 20);
      return {
        path: '/credits/consume',
        body: { user_id: userId, credits: 2, reason: 'A report' },
        headers: { 'idempotency-key': randomUUID() },
      };
    },
  },
  'GET /api/credits/packages': {
    access: 'everyone',
    status: 200,
    sample: at('/credits/packages'),
  },
  'POST /api/credits/create-checkout-session': {
    access: 'person',
    status: 201,
    schema: CheckoutRequest,
    sample: () => ({ path: '/credits/create-checkout-session', body: checkoutBody }),
  },
  'POST /api/credits/purchase': {
    access: 'person',
    status: 201,
    schema: CheckoutRequest,
    sample: () => ({ path: '/credits/purchase', body: checkoutBody }),
  },
  'POST /api/credits/create-payment-intent': {
    access: 'person',
    status: 201,
    schema: PaymentIntentRequest,
    sample: () => ({ path: '/credits/create-payment-intent', body: { package_id: 'boost-20' } }),
  },
  'GET /api/credits/checkout-sessions/:id': {
    access: 'person',
    status: 200,
    isOwned: true,
    sample: async (app, { token }) => {
      const path = '/credits/purchase';
      const begun = await app.data<CheckoutReply>(path, { token, body: checkoutBody });
      return { path: `/credits/checkout-sessions/${begun.session_id}` };
    },
  },
  'GET /api/credits/purchases': { access: 'person', status: 200, sample: at('/credits/purchases') },
  'POST /api/credits/purchases/:id/refund': {
    access: 'person',
    status: 201,
    isOwned: true,
    schema: RefundRequest,
    sample: async (app, owner) => ({
      path: `/credits/purchases/${await paidPurchase(app, owner)}/refund`,
      body: { credits: 20 },
    }),
  },
  // Proved by its signature.
  'POST /api/webhooks/stripe': {
    access: 'everyone',
    status: 200,
    sample: async () => {
      const body = {
        id: `evt_${randomUUID().replaceAll('-', '')}`,
        object: 'event',
        type: 'customer.updated',
        created: Math.floor(Date.now() / 1000),
        data: { object: { id: 'cus_1', object: 'customer' } },
      };
      const signature = await Stripe.webhooks.generateTestHeaderStringAsync({
        payload: JSON.stringify(body),
        secret: sandboxWebhookSecret,
      });
      return { path: '/webhooks/stripe', body, headers: { 'stripe-signature': signature } };
    },
  },
  'GET /api/credits/plan': { access: 'person', status: 200, sample: at('/credits/plan') },
  // No test user has a plan or a purchase, so the payment provider's part is left out.
  'POST /api/credits/plan': {
    access: 'person',
    status: 409,
    schema: PlanRequest,
    sample: () => ({
      path: '/credits/plan',
      body: { action: 'change', package_id: 'empire-builder' },
    }),
  },
  'POST /api/credits/portal-session': {
    access: 'person',
    status: 409,
    schema: PortalRequest,
    sample: () => ({
      path: '/credits/portal-session',
      body: { return_url: 'http://127.0.0.1:3000/credits/plan' },
    }),
  },
  'GET /api/credits/statements': {
    access: 'person',
    status: 200,
    sample: at('/credits/statements'),
  },
  'GET /api/credits/statements/:month': {
    access: 'person',
    status: 200,
    sample: at('/credits/statements/2026-10?format=csv'),
  },
  'POST /api/credits/purchases/:id/forget': {
    access: 'person',
    status: 200,
    isOwned: true,
    sample: async (app, owner) => ({
      path: `/credits/purchases/${await newPurchase(app, owner)}/forget`,
      body: {},
    }),
  },

  // --- optimizations ---
  'GET /api/optimizations/strategies': {
    access: 'everyone',
    status: 200,
    sample: at('/optimizations/strategies'),
  },
  'POST /api/optimizations/estimate': {
    access: 'person',
    status: 200,
    schema: EstimateRequest,
    sample: () => ({
      path: '/optimizations/estimate',
      body: {
        strategy: 'balanced',
        workflowType: 'business-optimization',
        challengeText: 'Should we open a second shop?',
        files_characters: 7,
      },
    }),
  },
  // These callers could pay for no run.
  'POST /api/optimizations/check': {
    access: 'person',
    status: 402,
    schema: CheckRequest,
    sample: () => ({
      path: '/optimizations/check',
      body: { challenge: 'Should we open a second shop?' },
    }),
  },
  'POST /api/optimizations/files': {
    access: 'person',
    status: 200,
    sample: async () => ({
      path: '/optimizations/files',
      ...(await form('prices.csv', Buffer.from('Item,Cost'))),
    }),
  },
  'GET /api/optimizations/usage': {
    access: 'person',
    status: 200,
    sample: at('/optimizations/usage'),
  },
  'GET /api/optimizations': {
    access: 'person',
    status: 200,
    sample: at(
      '/optimizations?page=1&limit=10&status=pending&strategy=balanced&sort=credits&q=shop&format=csv',
    ),
  },
  'POST /api/optimizations': {
    access: 'person',
    status: 201,
    // Its body names a run that is asked again.
    isOwned: true,
    schema: CreateOptimizationRequest,
    sample: async (app, owner) => ({
      path: '/optimizations',
      body: {
        ...runBody,
        retry_of: await newRun(app, owner),
        recipe_id: await newRecipe(app, owner),
      },
    }),
  },
  'GET /api/optimizations/:id': ownRun(200, (id) => `/optimizations/${id}`),
  'GET /api/optimizations/:id/claims': ownRun(
    200,
    (id) => `/optimizations/${id}/claims?format=csv`,
  ),
  'GET /api/optimizations/:id/markdown': ownRun(200, (id) => `/optimizations/${id}/markdown`),
  'GET /api/optimizations/:id/evidence': {
    access: 'person',
    status: 200,
    isOwned: true,
    // Only an ended run has evidence.
    sample: async (app, owner) => {
      const id = await newRun(app, owner);
      await app.data(`/optimizations/${id}/cancel`, { method: 'POST', token: owner.token });
      return { path: `/optimizations/${id}/evidence` };
    },
  },
  'PATCH /api/optimizations/:id': {
    ...ownRun(200, (id) => `/optimizations/${id}`, { title: 'Prices next year' }),
    schema: RenameRequest,
  },
  'DELETE /api/optimizations/:id': ownRun(200, (id) => `/optimizations/${id}`),
  'POST /api/optimizations/:id/restore': ownRun(200, (id) => `/optimizations/${id}/restore`),
  // The run was not started, so it has no steps to tick.
  'PUT /api/optimizations/:id/next-steps/:index': {
    ...ownRun(409, (id) => `/optimizations/${id}/next-steps/0`, { done: true }),
    schema: TickRequest,
  },
  // The run was not started, so nothing came of it.
  'PUT /api/optimizations/:id/outcomes/:day': {
    ...ownRun(409, (id) => `/optimizations/${id}/outcomes/30`, {
      did: 'Raised the price',
      happened: 'better',
    }),
    schema: OutcomeRequest,
  },
  'POST /api/optimizations/:id/outcomes/:day/dismiss': ownRun(
    409,
    (id) => `/optimizations/${id}/outcomes/90/dismiss`,
  ),
  'POST /api/optimizations/:id/process': ownRun(202, (id) => `/optimizations/${id}/process`),
  'POST /api/optimizations/:id/cancel': ownRun(202, (id) => `/optimizations/${id}/cancel`),
  // The run was not started, so it has no result to refine.
  'POST /api/optimizations/:id/refine': {
    ...ownRun(409, (id) => `/optimizations/${id}/refine`, { changed_fact: 'Rents have fallen.' }),
    schema: RefineRequest,
  },
  'GET /api/optimizations/:id/shares': ownRun(200, (id) => `/optimizations/${id}/shares`),
  // The run was not started, so it has no result to share.
  'POST /api/optimizations/:id/shares': {
    ...ownRun(409, (id) => `/optimizations/${id}/shares`, {
      expires_in_days: 7,
      shows_context: true,
    }),
    schema: ShareRequest,
  },
  'DELETE /api/optimizations/:id/shares/:shareId': {
    access: 'person',
    status: 200,
    isOwned: true,
    sample: async (app, owner) => {
      const runId = await newRun(app, owner);
      return { path: `/optimizations/${runId}/shares/${await newShare(app, owner, runId)}` };
    },
  },
  // No run of this installation has a result.
  'GET /api/shared/:token': {
    access: 'everyone',
    status: 404,
    sample: at(`/shared/${'t'.repeat(43)}`),
  },
  'GET /api/stream': ownRun(200, (id) => `/stream?optimization=${id}`),

  // --- contact ---
  'GET /.well-known/security.txt': {
    access: 'everyone',
    status: 404,
    sample: at('/../.well-known/security.txt'),
  },
  'POST /api/contact': {
    access: 'visitor',
    status: 201,
    schema: ContactRequest,
    sample: (_, owner) => ({
      path: '/contact',
      body: { topic: 'support', message: 'Hello', email: owner.email, website: '' },
    }),
  },

  // --- recipes ---
  'GET /api/recipes': {
    access: 'person',
    status: 200,
    sample: at('/recipes?page=1&limit=10&category=marketing&search=price'),
  },
  'GET /api/recipes/me': {
    access: 'person',
    status: 200,
    sample: at('/recipes/me?page=1&limit=10&category=marketing&search=price'),
  },
  'POST /api/recipes': {
    access: 'person',
    status: 201,
    schema: RecipeRequest,
    sample: () => ({ path: '/recipes', body: recipeBody }),
  },
  'GET /api/recipes/:id': ownRecipe(),
  'PATCH /api/recipes/:id': ownRecipe({ schema: RecipeChange, body: () => recipeBody }),
  'DELETE /api/recipes/:id': ownRecipe(),

  // --- onboarding ---
  'GET /api/onboarding': { access: 'person', status: 200, sample: at('/onboarding') },
  'PUT /api/onboarding': {
    access: 'person',
    status: 200,
    schema: OnboardingRequest,
    sample: () => ({ path: '/onboarding', body: answers }),
  },
  'POST /api/onboarding/activate': {
    access: 'person',
    status: 200,
    sample: at('/onboarding/activate'),
  },
  'POST /api/onboarding/complete': {
    access: 'person',
    status: 200,
    sample: at('/onboarding/complete'),
  },

  // --- this machine only ---
  'GET /dev/models': { access: 'local', status: 200, sample: at('/../dev/models') },
  'POST /dev/models': { access: 'local', status: 303, sample: at('/../dev/models') },
  'GET /dev/mail': { access: 'local', status: 503, sample: at('/../dev/mail') },
  'POST /dev/mail': { access: 'local', status: 503, sample: at('/../dev/mail') },
  'DELETE /dev/mail': { access: 'local', status: 503, sample: at('/../dev/mail') },
  'GET /dev/mail/*': { access: 'local', status: 503, sample: at('/../dev/mail/a') },
  'POST /dev/mail/*': { access: 'local', status: 503, sample: at('/../dev/mail/a') },
  'DELETE /dev/mail/*': { access: 'local', status: 503, sample: at('/../dev/mail/a') },
  'GET /dev/stripe': { access: 'local', status: 503, sample: at('/../dev/stripe') },
  'POST /dev/stripe': { access: 'local', status: 503, sample: at('/../dev/stripe') },
  'DELETE /dev/stripe': { access: 'local', status: 503, sample: at('/../dev/stripe') },
  'GET /dev/stripe/*': { access: 'local', status: 503, sample: at('/../dev/stripe/a') },
  'POST /dev/stripe/*': { access: 'local', status: 503, sample: at('/../dev/stripe/a') },
  'DELETE /dev/stripe/*': { access: 'local', status: 503, sample: at('/../dev/stripe/a') },
};

const checkoutBody = {
  package_id: 'boost-20',
  success_url: 'http://127.0.0.1:3000/credits/success',
  cancel_url: 'http://127.0.0.1:3000/credits/purchase',
};

const runBody = {
  challenge: 'Should we open a second shop?',
  context: 'We sell bread.',
  objectives: ['More customers'],
  constraints: ['No loans'],
  files: [{ name: 'prices.csv', text: 'Bread,4' }],
  strategy: 'ultra-economy',
  challenge_type: 'business_strategy',
  allow_simulated: true,
};

const recipeBody = {
  title: 'A second shop',
  category: 'business_strategy',
  summary: 'Whether to open one more.',
  challenge: 'Should we open a second {kind of shop} in {town}?',
  objectives: ['More customers'],
  constraints: ['No loans'],
  strategy: 'balanced',
};

function ownRecipe({
  schema,
  body,
}: { schema?: v.GenericSchema; body?: () => Record<string, unknown> } = {}): RouteEntry {
  return {
    access: 'person',
    status: 200,
    isOwned: true,
    ...(schema === undefined ? {} : { schema }),
    sample: async (app, owner) => ({
      path: `/recipes/${await newRecipe(app, owner)}`,
      ...(body === undefined ? {} : { body: body() }),
    }),
  };
}

async function newRecipe(app: TestApp, { token }: Pick<Caller, 'token'>): Promise<string> {
  return (await app.data<{ id: string }>('/recipes', { token, body: recipeBody })).id;
}

const picture = {
  path: '/users/me/avatar',
  raw: Uint8Array.from(png),
  headers: { 'content-type': 'image/png' },
};

function ownRun(
  status: number,
  path: (runId: string) => string,
  body?: Record<string, unknown>,
): RouteEntry {
  return {
    access: 'person',
    status,
    isOwned: true,
    sample: async (app, owner) => {
      await give(app, owner.userId, 50);
      const sample = { path: path(await newRun(app, owner)) };
      return body === undefined ? sample : { ...sample, body };
    },
  };
}

export async function newRun(app: TestApp, { token }: Pick<Caller, 'token'>): Promise<string> {
  return (await app.data<{ id: string }>('/optimizations', { token, body: runBody })).id;
}

/** A link of a run, whatever the run has come to. */
export async function newShare(
  { core: { pool, sealer } }: TestApp,
  { userId }: Pick<Caller, 'userId'>,
  runId: string,
): Promise<string> {
  const now = Date.now();
  const id = newId('shr', now);
  await inTransaction(pool, async (client) =>
    insertShare(client, {
      id,
      token: randomUUID(),
      user_id: userId,
      run_id: runId,
      sealed_token: await sealer.seal(runId, { stream: id, field: 'token' }, 'a token'),
      shows_context: false,
      created_at: new Date(now),
      expires_at: new Date(now + 60_000),
    }),
  );
  return id;
}

/** A purchase that was begun and has not reached the provider. */
async function newPurchase({ core: { pool } }: TestApp, { userId }: Caller): Promise<string> {
  const id = newId('pur', Date.now());
  await insertPurchase(pool, {
    id,
    userId,
    kind: 'checkout',
    package: requirePackage('boost-20'),
    successUrl: null,
    cancelUrl: null,
    now: new Date(),
  });
  return id;
}

/** A granted purchase without used credits. */
async function paidPurchase(app: TestApp, owner: Caller): Promise<string> {
  const purchaseId = await newPurchase(app, owner);
  const { pool, ledger } = app.core;
  const now = new Date();
  const bought = requirePackage('boost-20');
  const intentId = `pi_${randomUUID().replaceAll('-', '')}`;
  const payment = {
    purchaseId,
    paymentKey: `pi:${intentId}`,
    paidMinor: bought.price_cents,
  };
  const { lotId } = await ledger.grantPurchase({
    ...payment,
    userId: owner.userId,
    packageId: bought.id,
    credits: bought.credits,
    currency: bought.currency,
    paidAt: now.toISOString(),
    actor: 'test',
  });
  await recordPaid(pool, {
    ...payment,
    intentId,
    lotId,
    sessionId: null,
    subscriptionId: null,
    taxMinor: 0,
    receiptUrl: null,
    paidAt: now,
    now,
  });
  return purchaseId;
}

/** The target of the mailed link that this browser requested. */
async function followed(app: TestApp, owner: Caller, kind: 'magic' | 'reset'): Promise<string> {
  const asking = kind === 'magic' ? '/auth/magic-link' : '/auth/password/reset-request';
  await owner.browser.post(asking, { email: owner.email });
  const token = await mailedToken(app, owner.email, kind);
  const { data } = await owner.browser.post<{ redirect: string }>(`/auth/links/${kind}`, { token });
  return data.redirect;
}

function inBrowser({ browser }: Caller, sample: Sample): Sample {
  const nonce = browser.cookies.get('sf_nonce') ?? '';
  return { ...sample, headers: { cookie: `sf_nonce=${nonce}`, origin: 'http://127.0.0.1:3000' } };
}

export function methodOf(route: string): string {
  return route.split(' ')[0] ?? '';
}

/** The field names of a body, over all its variants. */
export function fieldsOf(schema: v.GenericSchema): string[] {
  if ('entries' in schema) return Object.keys(schema.entries as object);
  if ('options' in schema) return (schema.options as v.GenericSchema[]).flatMap(fieldsOf);
  throw new Error('The schema of a body is an object or one of several');
}

// --- callers ---

export async function newCaller(app: TestApp): Promise<Caller> {
  const browser = openBrowser(app);
  const email = `caller-${randomUUID()}@example.com`;
  const { data } = await browser.post<{ token: string; user: { id: string } }>('/auth/signup', {
    name: 'A Caller',
    email,
    password: testPassword,
  });
  const [, payload = ''] = data.token.split('.');
  const { sid } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { sid: string };
  return { userId: data.user.id, email, token: data.token, sessionId: sid, browser };
}

/** An API key of a caller, with a cap that no sample reaches. */
export async function keyOf(
  app: TestApp,
  { userId }: Pick<Caller, 'userId'>,
  ...scopes: readonly KeyScope[]
): Promise<{ id: string; key: string }> {
  const made = { name: 'A program', scopes, monthlyCap: 1_000 };
  return createApiKey(app.database.ownerPool, userId, made, new Date());
}

/** The headers that authenticate a caller at a route of this kind. */
export async function credentials(
  app: TestApp,
  access: Access,
  caller: Caller | null,
): Promise<Record<string, string>> {
  if (access === 'service') return { authorization: `Bearer ${(await issueToken(app)).secret}` };
  if (caller === null) return {};
  if (access === 'key')
    return { authorization: `Bearer ${(await keyOf(app, caller, ...keyScopes)).key}` };
  if (access === 'person' || access === 'visitor')
    return { authorization: `Bearer ${caller.token}` };
  const cookie = caller.browser.cookies.get('sf_refresh') ?? '';
  return { cookie: `sf_refresh=${cookie}`, 'sec-fetch-site': 'same-origin' };
}

/** Sends a sample with these headers; `/..` leads out of /api. */
export async function send(
  app: TestApp,
  method: string,
  { path, body, raw, headers: own = {} }: Sample,
  headers: Record<string, string> = {},
): Promise<Response> {
  const stop = new AbortController();
  const response = await request(
    app.app,
    new URL(`/api${path}`, 'http://127.0.0.1:3000').href.replace('/api/..', ''),
    {
      method,
      signal: stop.signal,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...own,
        ...headers,
        ...joined(own['cookie'], headers['cookie']),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(raw === undefined ? {} : { body: raw }),
    },
  );
  // Streams are not read here, so their bodies are cancelled.
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true)
    return response;
  await response.body?.cancel();
  return new Response(null, response);
}

function joined(...cookies: (string | undefined)[]): Record<string, string> {
  const all = cookies.filter((cookie) => cookie !== undefined);
  return all.length === 0 ? {} : { cookie: all.join('; ') };
}

/** Lets the application report that it is ready. */
export async function pretendWorker(app: TestApp): Promise<void> {
  await app.database.pool.query(
    `insert into process_heartbeat (process_id, kind, host, pid, beat_at)
     values ('test', 'worker', 'test', 1, now() + interval '1 hour')
     on conflict (process_id) do nothing`,
  );
}
