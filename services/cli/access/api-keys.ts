import * as v from 'valibot';
import { inTransaction } from '#db/transaction.ts';
import {
  createApiKey,
  apiKeyRow,
  listApiKeys,
  ownerOfApiKey,
  revokeApiKey,
} from '#services/identity/api-keys/api-keys.ts';
import { ApiKeyRequest } from '#services/identity/contract/api-keys.ts';
import { keyScopes } from '#services/platform/contract.ts';
import { amountOf } from '#services/cli/credits.ts';
import {
  operatorName,
  print,
  printResult,
  required,
  say,
  table,
  text,
  UsageError,
} from '#services/cli/command.ts';
import type { CliCall, CliCommand } from '#services/cli/command.ts';
import { personNamed } from '#services/cli/database.ts';

/** Keys of users' programs. Each use is written to the audit log, with the operator's name. */
const list: CliCommand = {
  noun: 'api-keys',
  verb: 'list',
  arguments: '<email|user id>',
  summary: "Lists a person's live API keys, newest first.",
  options: {},
  async run(call) {
    const { pool, audit, ledger } = call.database;
    const { id: userId } = await personNamed(call.database, required(call, 0, 'email or user id'));
    const [keys, used] = [await listApiKeys(pool, userId), await ledger.usedByApiKeys(userId)];
    const detail = { count: keys.length };
    await audit({
      actor: operatorName(),
      action: 'api-key.listed',
      subject: userId,
      userId,
      detail,
    });
    const rows = keys.map((key) => apiKeyRow(key, used[key.id] ?? 0));
    printResult(
      call,
      rows,
      table([
        ['id', 'name', 'prefix', 'scopes', 'monthly cap', 'used this month', 'last used'],
        ...rows.map((row) => [
          row.id,
          row.name,
          row.prefix,
          row.scopes.join(','),
          row.monthly_cap,
          row.used_this_month,
          row.last_used_at ?? 'never',
        ]),
      ]),
    );
    return 0;
  },
};

const create: CliCommand = {
  noun: 'api-keys',
  verb: 'create',
  arguments: '<email|user id>',
  summary: "Creates an API key for a person's programs. It is shown only once.",
  options: {
    name: { type: 'string', help: 'What the person calls it' },
    scopes: { type: 'string', help: `What it allows, with commas: ${keyScopes.join(',')}` },
    'monthly-cap': { type: 'string', help: 'The most credits its runs can use per UTC month' },
  },
  async run(call) {
    const { pool, audit, clock } = call.database;
    const { name, scopes, monthly_cap: monthlyCap } = requestOf(call);
    const { id: userId } = await personNamed(call.database, required(call, 0, 'email or user id'));
    const { id, key } = await inTransaction(pool, async (client) => {
      const at = new Date(clock());
      const created = await createApiKey(client, userId, { name, scopes, monthlyCap }, at);
      const detail = { scopes: scopes.join(' '), monthly_cap: monthlyCap };
      const entry = { actor: operatorName(), action: 'api-key.created', subject: created.id };
      await audit({ ...entry, userId, detail }, client);
      return created;
    });
    if (call.options['json'] === true)
      printResult(call, { id, user_id: userId, name, scopes, monthly_cap: monthlyCap, key }, []);
    else {
      print(key);
      say(`${id} for ${userId}. Keep the key now: it won't be shown again.`);
    }
    return 0;
  },
};

function requestOf(call: CliCall): ApiKeyRequest {
  const [name, scopes, cap] = ['name', 'scopes', 'monthly-cap'].map((option) => {
    const given = text(call, option)?.trim();
    if (!given) throw new UsageError(`Missing: --${option}`);
    return given;
  });
  const parsed = v.safeParse(ApiKeyRequest, {
    name,
    scopes: scopes?.split(','),
    monthly_cap: amountOf(cap ?? ''),
  });
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  throw new UsageError(
    issue.path?.[0]?.key === 'scopes'
      ? `--scopes must be some of ${keyScopes.join(',')}, each once`
      : issue.message,
  );
}

const revoke: CliCommand = {
  noun: 'api-keys',
  verb: 'revoke',
  arguments: '<key id>',
  summary: 'Revokes an API key right away, permanently.',
  options: {},
  async run(call) {
    const { pool, audit, clock } = call.database;
    const id = required(call, 0, 'key id');
    const userId = await ownerOfApiKey(pool, id);
    if (userId === null) {
      say('API key not found');
      return 1;
    }
    const isRevoked = await inTransaction(pool, async (client) => {
      const done = await revokeApiKey(client, { id, userId }, new Date(clock()));
      if (done)
        await audit(
          { actor: operatorName(), action: 'api-key.revoked', subject: id, userId },
          client,
        );
      return done;
    });
    printResult(call, { id, user_id: userId, revoked: true }, [
      isRevoked ? `${id} is revoked` : `${id} was already revoked`,
    ]);
    return 0;
  },
};

export const apiKeyCommands: readonly CliCommand[] = [list, create, revoke];
