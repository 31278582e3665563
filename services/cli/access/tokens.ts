import { inTransaction } from '#db/transaction.ts';
import {
  issueServiceToken,
  listServiceTokens,
  revokeServiceToken,
  serviceScopes,
} from '#services/identity/service-tokens.ts';
import type { ServiceScope, ServiceToken } from '#services/identity/service-tokens.ts';
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
import type { CliCommand } from '#services/cli/command.ts';

const issue: CliCommand = {
  noun: 'tokens',
  verb: 'issue',
  arguments: '',
  summary: 'Creates a token for another service. It is shown only once.',
  options: {
    scope: { type: 'string', help: `What the token allows: ${serviceScopes.join(', ')}` },
    name: { type: 'string', help: 'The name of the service' },
    'daily-cap': { type: 'string', help: 'The most credits it can use per UTC day' },
  },
  async run(call) {
    const { pool, audit, clock } = call.database;
    const scope = scopeOf(text(call, 'scope'));
    const name = nameOf(text(call, 'name'));
    const cap = text(call, 'daily-cap');
    if (cap === undefined) throw new UsageError('Missing: --daily-cap');
    const dailyCap = amountOf(cap);
    const createdBy = operatorName();
    const token = { name, scope, dailyCap, createdBy };
    const { id, secret } = await inTransaction(pool, async (client) => {
      const issued = await issueServiceToken(client, token, new Date(clock()));
      const detail = { scope, daily_cap: dailyCap };
      await audit({ actor: createdBy, action: 'token.issued', subject: issued.id, detail }, client);
      return issued;
    });
    if (call.options['json'] === true)
      printResult(call, { id, name, scope, daily_cap: dailyCap, token: secret }, []);
    else {
      print(secret);
      say(`${id} for ${name}. Keep the token now: it won't be shown again.`);
    }
    return 0;
  },
};

function scopeOf(given: string | undefined): ServiceScope {
  const scope = serviceScopes.find((known) => known === given);
  if (scope === undefined)
    throw new UsageError(
      given === undefined
        ? 'Missing: --scope'
        : `--scope must be one of: ${serviceScopes.join(', ')}`,
    );
  return scope;
}

/** One line, because tables print it. */
function nameOf(given: string | undefined): string {
  const name = given?.trim() ?? '';
  if (name === '') throw new UsageError('Missing: --name');
  if (!/^[^\p{Cc}]{1,80}$/u.test(name))
    throw new UsageError('--name can have up to 80 characters on one line');
  return name;
}

const list: CliCommand = {
  noun: 'tokens',
  verb: 'list',
  arguments: '',
  summary: "Lists other services' tokens, newest first.",
  options: {},
  async run(call) {
    const { pool, clock } = call.database;
    const tokens = await listServiceTokens(pool, new Date(clock()));
    printResult(
      call,
      tokens.map((token) => ({
        id: token.id,
        name: token.name,
        scope: token.scope,
        daily_cap: token.dailyCap,
        used_today: token.usedToday,
        created_by: token.createdBy,
        created_at: timeOf(token.createdAt),
        last_used_at: timeOf(token.lastUsedAt),
        revoked_at: timeOf(token.revokedAt),
      })),
      table([
        ['id', 'name', 'scope', 'daily cap', 'used today', 'last used', 'state'],
        ...tokens.map((token) => [
          token.id,
          token.name,
          token.scope,
          token.dailyCap,
          token.usedToday,
          timeOf(token.lastUsedAt) ?? 'never',
          stateOf(token),
        ]),
      ]),
    );
    return 0;
  },
};

function timeOf(time: Date | null): string | null {
  return time?.toISOString() ?? null;
}

function stateOf({ revokedAt }: ServiceToken): string {
  return revokedAt === null ? 'valid' : `revoked ${revokedAt.toISOString()}`;
}

const revoke: CliCommand = {
  noun: 'tokens',
  verb: 'revoke',
  arguments: '<token id>',
  summary: 'Revokes a token right away, permanently.',
  options: {},
  async run(call) {
    const { pool, audit, clock } = call.database;
    const id = required(call, 0, 'token id');
    const outcome = await inTransaction(pool, async (client) => {
      const done = await revokeServiceToken(client, id, new Date(clock()));
      if (done === 'revoked')
        await audit({ actor: operatorName(), action: 'token.revoked', subject: id }, client);
      return done;
    });
    if (outcome === null) {
      say('Token not found');
      return 1;
    }
    printResult(call, { id, revoked: true }, [
      outcome === 'revoked' ? `${id} is revoked` : `${id} was already revoked`,
    ]);
    return 0;
  },
};

export const tokenCommands: readonly CliCommand[] = [issue, list, revoke];
