import { once } from 'node:events';
import { unlink } from 'node:fs/promises';
import { exportEvents } from '#db/log-file/export.ts';
import type { Selection } from '#db/log-file/format.ts';
import { creditStream } from '#services/credits/account/events.ts';
import { streamOf } from '#services/optimizations/run/events.ts';
import { softwareVersion } from '#services/platform/process/software.ts';
import {
  counted,
  newFile,
  operatorName,
  printResult,
  say,
  text,
  UsageError,
} from '#services/cli/command.ts';
import type { CliCommand, ReadingCall } from '#services/cli/command.ts';
import { userIdNamed } from '#services/cli/database.ts';
import type { Reading } from '#services/cli/database.ts';
import { timeOf } from '#services/cli/time.ts';

/** Between two lines of progress. */
const progressEvents = 100_000;

export const exportCommand: CliCommand = {
  noun: 'events',
  verb: 'export',
  arguments: '',
  summary: 'Writes events with their chains and anchors as one file, for events verify.',
  options: {
    account: { type: 'string', help: "Only one account's credits and runs, by email or user id" },
    run: { type: 'string', help: 'Only one run' },
    since: { type: 'string', help: 'Events from this time on (ISO 8601, such as 2026-11-01)' },
    until: { type: 'string', help: 'Events before this time' },
    out: { type: 'string', help: 'A new file, or - for standard output (the default)' },
  },
  reads: true,
  async run(call) {
    const { database } = call;
    const selection = await selectionOf(call);
    const out = text(call, 'out') ?? '-';
    if (out === '-' && call.options['json'] === true)
      throw new UsageError('--json needs --out: standard output has the events');
    // Who has such a file can follow every account, though not a word.
    if (database.ownerPool !== null) {
      const { streams: _streams, of, ...detail } = selection;
      const entry = { actor: operatorName(), action: 'events.exported', subject: of ?? 'all' };
      await database.audit({ ...entry, detail });
    }
    const sink = out === '-' ? stdoutSink() : await fileSink(out);
    try {
      let next = progressEvents;
      const exported = await exportEvents(database.pool, {
        selection,
        making: {
          product: database.productName,
          software: softwareVersion,
          exportedAt: new Date(database.clock()).toISOString(),
        },
        write: sink.write,
        onProgress(events) {
          if (events < next) return;
          say(`${events} events`);
          next = events + progressEvents;
        },
      });
      await sink.close();
      const { streams, events, root } = exported;
      const lines = [
        `${counted(events, 'event')} of ${counted(streams, 'stream')}.`,
        root === null
          ? 'There is no anchor for them yet, so only their chains protect them.'
          : `The newest anchor has the root ${root}; compare it with the one that was logged or kept elsewhere.`,
      ];
      if (out === '-') for (const line of lines) say(line);
      else printResult(call, { file: out, ...exported }, [`Wrote ${out}.`, ...lines]);
      return 0;
    } catch (error) {
      await sink.discard();
      if (error instanceof Error && 'code' in error && error.code === 'EPIPE') return 0;
      throw error;
    }
  },
};

async function selectionOf(call: ReadingCall): Promise<Selection> {
  const account = text(call, 'account');
  const run = text(call, 'run');
  const range = { since: timeFrom(call, 'since'), until: timeFrom(call, 'until') };
  if (range.since !== null && range.until !== null && range.since >= range.until)
    throw new UsageError('--since must lie before --until');
  if (account !== undefined && run !== undefined)
    throw new UsageError('Choose --account or --run, not both');
  if (account !== undefined) {
    const userId = await userIdNamed(call.database, account);
    const streams = [creditStream(userId), ...(await runsOf(call.database, userId))];
    return { scope: 'account', of: userId, ...range, streams };
  }
  return run === undefined
    ? { scope: 'all', of: null, ...range, streams: null }
    : { scope: 'run', of: run, ...range, streams: [await streamOfRun(call.database, run)] };
}

function timeFrom(call: ReadingCall, name: 'since' | 'until'): string | null {
  const given = text(call, name);
  const time = given === undefined ? null : timeOf(given);
  if (given !== undefined && time === null)
    throw new UsageError(`--${name} must be a UTC time such as 2026-11-01 or 2026-11-01T12:00Z`);
  return time;
}

async function runsOf({ pool }: Reading, userId: string): Promise<string[]> {
  const { rows } = await pool.query<{ run_id: string }>(
    'select run_id from optimization_list where user_id = $1',
    [userId],
  );
  return rows.map((row) => streamOf(row.run_id));
}

async function streamOfRun({ pool }: Reading, runId: string): Promise<string> {
  const streamId = streamOf(runId);
  const { rowCount } = await pool.query('select from emt_streams where stream_id = $1', [streamId]);
  if (rowCount === 0) throw new UsageError('There is no run with this id');
  return streamId;
}

type Sink = {
  write: (text: string) => Promise<void>;
  close: () => Promise<void>;
  /** Half a file would look like one that was cut. */
  discard: () => Promise<void>;
};

/** @throws UsageError */
async function fileSink(path: string): Promise<Sink> {
  const file = await newFile(path);
  return {
    write: async (lines) => void (await file.write(lines)),
    close: async () => {
      await file.sync();
      await file.close();
    },
    discard: async () => {
      await file.close();
      await unlink(path);
    },
  };
}

function stdoutSink(): Sink {
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined);
  process.stdout.on('error', (error) => broken.reject(error));
  return {
    async write(lines) {
      if (!process.stdout.write(lines))
        await Promise.race([once(process.stdout, 'drain'), broken.promise]);
    },
    close: async () => undefined,
    discard: async () => undefined,
  };
}
