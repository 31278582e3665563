import { inTransaction } from '#db/transaction.ts';
import type { identityEndpoints } from '#services/identity/contract.ts';
import { requireRecentProof } from '#services/identity/sessions/proof.ts';
import type { ProofDependencies } from '#services/identity/sessions/proof.ts';
import { notFound } from '#services/platform/http/http.ts';
import { idPattern } from '#services/platform/ids.ts';
import type { Handlers } from '#services/platform/http/serve.ts';
import { apiKeyRow, createApiKey, listApiKeys, revokeApiKey } from './api-keys.ts';

export type ApiKeyDependencies = ProofDependencies & {
  /** Credits that the current month's runs of each key hold or have used. */
  usedByApiKeys: (userId: string) => Promise<Readonly<Record<string, number>>>;
};

/** A user's API keys, which no API key can list, create or revoke. */
export function apiKeyHandlers(dependencies: ApiKeyDependencies) {
  const { pool, audit, rateLimits, usedByApiKeys } = dependencies;
  const now = () => new Date(dependencies.clock());
  return {
    'GET /api-keys': async ({ userId }) => {
      const [keys, used] = await Promise.all([listApiKeys(pool, userId), usedByApiKeys(userId)]);
      return keys.map((key) => apiKeyRow(key, used[key.id] ?? 0));
    },
    'POST /api-keys': async ({ context, userId, body }) => {
      // A key outlives the session that made it.
      await requireRecentProof(dependencies, context);
      await rateLimits.take('api-keys', userId, { userId, address: context.get('address') });
      const { name, scopes, monthly_cap: monthlyCap } = body;
      return inTransaction(pool, async (client) => {
        const created = await createApiKey(client, userId, { name, scopes, monthlyCap }, now());
        await audit(
          {
            actor: userId,
            action: 'api-key.created',
            subject: created.id,
            userId,
            detail: { scopes: scopes.join(' '), monthly_cap: monthlyCap },
          },
          client,
        );
        return created;
      });
    },
    'DELETE /api-keys/{id}': async ({ userId, path: { id } }) => {
      if (!idPattern('key').test(id)) throw notFound();
      await inTransaction(pool, async (client) => {
        if (!(await revokeApiKey(client, { id, userId }, now()))) throw notFound();
        await audit({ actor: userId, action: 'api-key.revoked', subject: id, userId }, client);
      });
      return { id, deleted: true as const };
    },
  } satisfies Partial<Handlers<typeof identityEndpoints>>;
}
