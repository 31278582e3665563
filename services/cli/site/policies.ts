import { inTransaction } from '#db/transaction.ts';
import {
  announceChange,
  earliestDay,
  listChanges,
  policyLimits,
  withdrawChange,
} from '#services/policies/changes.ts';
import {
  operatorName,
  printResult,
  required,
  say,
  table,
  text,
  UsageError,
} from '#services/cli/command.ts';
import type { CliCommand } from '#services/cli/command.ts';

const announce: CliCommand = {
  noun: 'policies',
  verb: 'announce',
  arguments: '',
  summary: `Announces a change of the terms or the privacy policy on every page and by email, ${policyLimits.noticeDays} days ahead.`,
  options: {
    effective: { type: 'string', help: 'The day from which it applies, such as 2026-12-31' },
    summary: { type: 'string', help: 'What changes, in the words that people read' },
  },
  async run(call) {
    const { ownerPool, audit, clock } = call.database;
    const effectiveOn = dayOf(text(call, 'effective'), clock());
    const summary = summaryOf(text(call, 'summary'));
    const id = await inTransaction(ownerPool, async (client) => {
      const made = await announceChange(client, { effectiveOn, summary }, new Date(clock()));
      const detail = { effective_on: effectiveOn };
      await audit(
        { actor: operatorName(), action: 'policy.announced', subject: made, detail },
        client,
      );
      return made;
    });
    printResult(call, { id, effective_on: effectiveOn }, [
      `${id} is announced. A worker emails every user with a confirmed address.`,
    ]);
    return 0;
  },
};

function dayOf(given: string | undefined, now: number): string {
  if (given === undefined) throw new UsageError('Missing: --effective');
  const isDay = /^\d{4}-\d\d-\d\d$/.test(given) && !Number.isNaN(Date.parse(given));
  if (!isDay || new Date(given).toISOString().slice(0, 10) !== given)
    throw new UsageError('--effective must be a day such as 2026-12-31');
  const earliest = earliestDay(now);
  if (given < earliest)
    throw new UsageError(
      `--effective must be ${earliest} or later: ${policyLimits.noticeDays} full days after today`,
    );
  return given;
}

function summaryOf(given: string | undefined): string {
  const summary = given?.trim() ?? '';
  if (summary === '') throw new UsageError('Missing: --summary');
  if (summary.length > policyLimits.summary)
    throw new UsageError(`--summary has at most ${policyLimits.summary} characters`);
  return summary;
}

const list: CliCommand = {
  noun: 'policies',
  verb: 'list',
  arguments: '',
  summary: 'Announced changes, newest first.',
  options: {},
  async run(call) {
    const changes = await listChanges(call.database.pool);
    printResult(
      call,
      changes.map(({ id, effectiveOn, summary, announcedAt, mailedAt }) => ({
        id,
        effective_on: effectiveOn,
        summary,
        announced_at: announcedAt.toISOString(),
        mailed_at: mailedAt?.toISOString() ?? null,
      })),
      table([
        ['id', 'applies from', 'announced', 'emails'],
        ...changes.map(({ id, effectiveOn, announcedAt, mailedAt }) => [
          id,
          effectiveOn,
          announcedAt.toISOString(),
          mailedAt === null ? 'being queued' : 'queued',
        ]),
      ]),
    );
    return 0;
  },
};

const withdraw: CliCommand = {
  noun: 'policies',
  verb: 'withdraw',
  arguments: '<id>',
  summary: 'Takes an announcement off every page and ends its emails.',
  options: {},
  async run(call) {
    const { ownerPool, audit } = call.database;
    const id = required(call, 0, 'The id');
    const done = await inTransaction(ownerPool, async (client) => {
      const isGone = await withdrawChange(client, id);
      if (isGone)
        await audit({ actor: operatorName(), action: 'policy.withdrawn', subject: id }, client);
      return isGone;
    });
    if (!done) {
      say('There is no announcement with this id');
      return 1;
    }
    printResult(call, { id, withdrawn: true }, [`${id} is withdrawn`]);
    return 0;
  },
};

export const policyCommands: readonly CliCommand[] = [announce, list, withdraw];
