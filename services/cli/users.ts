import * as v from 'valibot';
import { inTransaction } from '#db/transaction.ts';
import { readBalance } from '#projections/credit-account.ts';
import {
  addErasures,
  applyErasures,
  askForErasure,
  eraseAccount,
  readErasures,
} from '#services/identity/erasure/erasure.ts';
import { listApiKeys } from '#services/identity/api-keys/api-keys.ts';
import { voidLinks } from '#services/identity/links/links.ts';
import { endSessionsOf, listSessions } from '#services/identity/sessions/sessions.ts';
import { listUsers } from '#services/identity/accounts/users.ts';
import type { Account } from '#services/identity/accounts/users.ts';
import { readErasureLog } from '#services/platform/process/erasure-log.ts';
import type { ErasureList } from '#services/platform/process/erasure-log.ts';
import { csvLine } from '#services/platform/csv.ts';
import { erasureOf } from '#services/core.ts';
import {
  counted,
  numberOf,
  operatorName,
  print,
  printable,
  printResult,
  required,
  say,
  table,
  text,
  UsageError,
} from './command.ts';
import type { CliCall, CliCommand } from './command.ts';
import { personNamed } from './database.ts';
import { reasonOf } from './people/reason.ts';
import { setTier } from './people/tier.ts';
import type { Database } from './database.ts';

const listed = { usual: 50, most: 1_000 } as const;

/** What operators do with accounts. Each use is written to the audit log, with the operator's name. */
const list: CliCommand = {
  noun: 'users',
  verb: 'list',
  arguments: '',
  summary: 'Lists accounts, newest first.',
  options: {
    limit: { type: 'string', help: `How many (default ${listed.usual}, at most ${listed.most})` },
    csv: { type: 'boolean', help: 'Print comma-separated values' },
  },
  async run(call) {
    const { pool, audit } = call.database;
    const accounts = await listUsers(pool, numberOf(call, 'limit', listed));
    const rows = accounts.map(describe);
    await audit({
      actor: operatorName(),
      action: 'account.listed',
      subject: 'all',
      detail: { count: rows.length },
    });
    const columns = ['id', 'email', 'name', 'tier', 'state', 'created_at'] as const;
    const cells = rows.map((row) => columns.map((column) => row[column]));
    if (call.options['csv'] === true)
      for (const line of [columns, ...cells]) print(csvLine(line).trimEnd());
    else printResult(call, rows, table([columns, ...cells].map((line) => line.map(printable))));
    return 0;
  },
};

type Described = {
  id: string;
  email: string;
  name: string;
  tier: string;
  state: 'unconfirmed' | 'active' | 'being erased';
  has_password: boolean;
  created_at: string;
};

function describe(account: Account): Described {
  return {
    id: account.id,
    email: account.email,
    name: account.name,
    tier: account.subscription_tier,
    state: stateOf(account),
    has_password: account.password_hash !== null,
    created_at: account.created_at.toISOString(),
  };
}

function stateOf({ erasing_at, email_confirmed_at }: Account): Described['state'] {
  if (erasing_at !== null) return 'being erased';
  return email_confirmed_at === null ? 'unconfirmed' : 'active';
}

const show: CliCommand = {
  noun: 'users',
  verb: 'show',
  arguments: '<email|user id>',
  summary: "Shows one account's state, sessions, API keys, and credits.",
  options: {},
  async run(call) {
    const { database } = call;
    const account = await personIn(call);
    const { id } = account;
    const sessions = await listSessions(database.pool, id, null, now(database));
    const { length: keys } = await listApiKeys(database.pool, id);
    const balance = await readBalance(database.pool, id);
    await database.audit({
      actor: operatorName(),
      action: 'account.shown',
      subject: id,
      userId: id,
    });
    const described = describe(account);
    printResult(call, { ...described, sessions, api_keys: keys, credits: balance }, [
      ...table(
        Object.entries(described).map(([name, value]) => [
          name.replaceAll('_', ' '),
          printable(String(value)),
        ]),
      ),
      '',
      `${balance.available_credits} credits available, ${balance.reserved_credits} reserved, ${balance.debt_credits} owed`,
      counted(keys, 'live API key'),
      '',
      ...table([
        ['session', 'device', 'address', 'by', 'last used'],
        ...sessions.map((session) => [
          session.id,
          printable(session.device),
          session.address,
          session.method,
          session.last_used_at,
        ]),
      ]),
    ]);
    return 0;
  },
};

const confirm: CliCommand = {
  noun: 'users',
  verb: 'confirm',
  arguments: '<email|user id>',
  summary: "Marks an address as confirmed when email can't reach it.",
  options: {},
  async run(call) {
    const { database } = call;
    const { id } = await personIn(call);
    const at = now(database);
    const confirmed = await inTransaction(database.pool, async (client) => {
      const { rowCount } = await client.query(
        `update users set email_confirmed_at = $2, updated_at = $2
         where id = $1 and email_confirmed_at is null and erasing_at is null`,
        [id, at],
      );
      if (rowCount !== 1) return false;
      await voidLinks(client, id, at, ['confirm']);
      const entry = { actor: operatorName(), action: 'address.confirmed', subject: id, userId: id };
      await database.audit({ ...entry, detail: { by: 'operator' } }, client);
      return true;
    });
    printResult(call, { id, confirmed }, [
      confirmed ? 'Address confirmed.' : 'The address was already confirmed.',
    ]);
    return 0;
  },
};

const endSessions: CliCommand = {
  noun: 'users',
  verb: 'end-sessions',
  arguments: '<email|user id>',
  summary: 'Signs a person out everywhere within a second.',
  options: {},
  async run(call) {
    const { pool, audit, clock } = call.database;
    const { id } = await personIn(call);
    const ended = await endSessionsOf(pool, id, 'operator', new Date(clock()));
    await audit({
      actor: operatorName(),
      action: 'session.ended',
      subject: id,
      userId: id,
      detail: { reason: 'operator', count: ended },
    });
    printResult(call, { id, ended }, [`Ended ${counted(ended, 'session')}.`]);
    return 0;
  },
};

const erase: CliCommand = {
  noun: 'users',
  verb: 'erase',
  arguments: '[<email|user id>]',
  summary: 'Permanently erases a person or, after a restore, everyone on a list.',
  options: {
    reason: {
      type: 'string',
      help: "Reason, such as a ticket number. It is kept, so don't use names.",
    },
    from: { type: 'string', help: 'An erasure log, or a file written by `users erasures --json`' },
    yes: { type: 'boolean', help: 'Confirms an erasure, which cannot be undone' },
  },
  async run(call) {
    const from = text(call, 'from');
    const isOfOne = call.positionals.length > 0;
    if (isOfOne === (from !== undefined))
      throw new UsageError('Name a person, or a list with --from');
    return from === undefined ? erasePerson(call) : eraseListed(call, from);
  },
};

async function erasePerson(call: CliCall): Promise<number> {
  const { database } = call;
  const given = text(call, 'reason')?.trim();
  if (!given) throw new UsageError('Missing: --reason');
  const account = await personIn(call);
  const reason = reasonOf(given, account);
  requireYes(call, `This erases ${account.id} permanently: all text, and the account.`);
  const { id: userId } = account;
  const erasure = erasureOf(database);
  await askForErasure(erasure, { userId, actor: operatorName(), reason });
  // Runs in this process, so that it also works while no worker runs.
  const progress = await eraseAccount(erasure, userId);
  const erased = progress === 'erased';
  printResult(call, { id: userId, erased, waits_for: erased ? null : progress.waitsFor }, [
    erased
      ? 'Erased.'
      : 'The account is closed. A run or email is still in progress; a worker erases the rest when it ends.',
  ]);
  return 0;
}

async function eraseListed(call: CliCall, path: string): Promise<number> {
  const { database } = call;
  const listOfAll = await readList(path);
  requireYes(call, `This permanently erases everyone listed in ${path}.`);
  const added = await addErasures(database.pool, listOfAll);
  const people = await applyErasures(database.pool);
  await database.audit({
    actor: operatorName(),
    action: 'account.erasures-applied',
    subject: 'all',
    detail: { listed: listOfAll.length, added, people: people.length },
  });
  const waiting: string[] = [];
  for (const userId of people)
    if ((await eraseAccount(erasureOf(database), userId)) !== 'erased') waiting.push(userId);
  printResult(call, { listed: listOfAll.length, added, erased: people, waiting }, [
    `${listOfAll.length} erasures listed, ${added} new here.`,
    `${people.length} people erased again.`,
    ...(waiting.length === 0
      ? []
      : [
          `Of ${waiting.length} have a run or email in progress; a worker closes their accounts when it ends.`,
        ]),
  ]);
  return 0;
}

async function readList(path: string): Promise<ErasureList> {
  try {
    return await readErasureLog(path);
  } catch (error) {
    const reason = error instanceof v.ValiError || error instanceof SyntaxError;
    throw new UsageError(reason ? `${path} isn't a list of erasures` : `${path} can't be read`, {
      cause: error,
    });
  }
}

const erasures: CliCommand = {
  noun: 'users',
  verb: 'erasures',
  arguments: '',
  summary: 'Lists erasures. Keep the list off this server and apply it after a restore.',
  options: {},
  reads: true,
  async run(call) {
    const rows = await readErasures(call.database.pool);
    printResult(
      call,
      rows,
      table([
        ['key', 'kind', 'erased at'],
        ...rows.map((row) => [row.key_id, row.kind, row.erased_at]),
      ]),
    );
    return 0;
  },
};

async function personIn(call: CliCall): Promise<Account> {
  return personNamed(call.database, required(call, 0, 'email address or id'));
}

function requireYes(call: CliCall, what: string): void {
  if (call.options['yes'] === true) return;
  say(what);
  throw new UsageError('Add --yes to continue');
}

function now({ clock }: Database): Date {
  return new Date(clock());
}

export const userCommands: readonly CliCommand[] = [
  list,
  show,
  confirm,
  endSessions,
  setTier,
  erase,
  erasures,
];
