import { readStoredStream } from '#db/streams.ts';
import { startListening } from '#db/listen.ts';
import { endOfLog } from '#db/reader.ts';
import { tail } from '#db/tail.ts';
import { verifyEvents } from '#db/verify-events.ts';
import { nextStopRequest } from '#services/platform/process/lifecycle.ts';
import { counted, operatorName, print, printResult, required, say, UsageError } from './command.ts';
import type { CliCommand } from './command.ts';
import { exportCommand } from './events/export.ts';
import { verifyFile } from './events/verify-file.ts';
import { asOperator } from './people/operator.ts';
import type { Database } from './database.ts';
import type { RecordedEvent } from '#db/recorded-event.ts';

const show: CliCommand = {
  noun: 'events',
  verb: 'show',
  arguments: '<stream>',
  summary: 'Shows the stored events of one stream.',
  options: { open: { type: 'boolean', help: 'Decrypt text (recorded in the audit log)' } },
  reads: true,
  async run(call) {
    const { database } = call;
    const streamId = required(call, 0, 'The name of the stream');
    const { events } = await readStoredStream(database.pool, streamId);
    const open = call.options['open'] === true ? asOperator(database) : null;
    await open?.audit({ actor: operatorName(), action: 'events.open', subject: streamId });
    const shown = [];
    for (const event of events) shown.push({ ...event, data: await withSealed(event, open) });
    printResult(
      call,
      shown,
      shown.map((event) => JSON.stringify(event)),
    );
    if (events.length > 0) return 0;
    say(noSuchStream);
    return 1;
  },
};

const noSuchStream =
  'There is no stream of this name; a run is optimization-<run id>, an account credits-<user id>';

/** Sealed text is shown as `[sealed]`, or opened; without its key it is `[erased]`. */
async function withSealed(
  event: RecordedEvent,
  open: Pick<Database, 'sealer'> | null,
): Promise<RecordedEvent['data']> {
  const sealed = event.data['sealed'];
  if (typeof sealed !== 'object' || sealed === null) return event.data;
  const fields: Record<string, string> = {};
  for (const [field, value] of Object.entries(sealed)) {
    if (open === null || typeof value !== 'string') fields[field] = '[sealed]';
    else {
      const found = await open.sealer.open(value, { stream: event.streamId, field });
      fields[field] = 'erased' in found ? '[erased]' : found.text;
    }
  }
  return { ...event.data, sealed: fields };
}

const tailCommand: CliCommand = {
  noun: 'events',
  verb: 'tail',
  arguments: '',
  summary:
    'Streams new events as they are committed, one JSON document per line. Stop with Ctrl-C.',
  options: {},
  reads: true,
  async run({ database }) {
    const listener = startListening({ url: database.url });
    const stopping = new AbortController();
    void nextStopRequest().then(() => stopping.abort());
    process.stdout.on('error', () => stopping.abort());
    try {
      await tail({
        pool: database.pool,
        cursor: await endOfLog(database.pool),
        wake: listener.onWake,
        signal: stopping.signal,
        async onPage({ events }) {
          for (const event of events)
            print(JSON.stringify({ ...event, data: await withSealed(event, null) }));
        },
      });
    } finally {
      await listener.close();
    }
    return 0;
  },
};

const verify: CliCommand = {
  noun: 'events',
  verb: 'verify',
  arguments: '[<stream or file>]',
  summary:
    'Recomputes the hash chains, of the database or of an exported file, which needs no database.',
  options: {
    root: {
      type: 'string',
      help: 'A root kept elsewhere must be that of an anchor in the file; several: a,b',
    },
  },
  reads: true,
  runAlone: verifyFile,
  async run(call) {
    const streamId = call.positionals[0];
    if (call.options['root'] !== undefined)
      throw new UsageError('--root is for files; for the database use credits verify');
    const result = await verifyEvents(call.database.pool, {
      ...(streamId === undefined ? {} : { streamId }),
      onProgress: (events) => say(`${events} events`),
    });
    printResult(call, result, [
      ...result.faults.map(
        (fault) => `${fault.streamId} at ${fault.streamPosition}: ${fault.kind} is broken`,
      ),
      `${counted(result.streams, 'stream')}, ${counted(result.events, 'event')}, ${counted(result.faults.length, 'fault')}`,
    ]);
    // A mistyped name must not look like a stream without faults.
    if (streamId !== undefined && result.streams === 0) say(noSuchStream);
    else if (result.faults.length === 0) return 0;
    return 1;
  },
};

export const eventCommands: readonly CliCommand[] = [show, tailCommand, exportCommand, verify];
