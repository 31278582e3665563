import { destination as fileDestination, pino, stdTimeFunctions, type Logger } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { SettingsError } from './env.ts';
import { Problem } from '#services/platform/problem.ts';

/**
 * JSON lines on stdout, coloured text on a terminal. Fields pass by an allow-list: what is not named
 * here is left out, whoever logs it and however it got into the object, so a question, an answer, an
 * address or a token cannot reach a log by accident. Values are plain; objects are left out as well.
 */
const loggedFields = [
  // who speaks
  'process',
  'index',
  'child',
  'pid',
  'mode',
  'version',
  // one call
  'request_id',
  'method',
  'route',
  'status',
  'duration_ms',
  'bytes',
  'address',
  'port',
  // one thing of the domain, by its id
  'user_id',
  'run_id',
  'resource_id',
  'stream',
  'event_id',
  'event_type',
  'position',
  'root',
  'command',
  'outcome',
  // work in the background
  'task',
  'job_id',
  'attempt',
  'projection',
  'lag_ms',
  'count',
  'waiting',
  // a model's call
  'seat',
  'provider',
  'model',
  'failure',
  'cost_micros',
  // how something ended
  'code',
  'reason',
  'signal',
  'exit_code',
] as const;

export type LogFields = Partial<
  Record<(typeof loggedFields)[number], string | number | boolean | null>
> & {
  /** Anything thrown; see `describeError` for what is kept of it. */
  err?: unknown;
};

type Write = {
  (message: string): void;
  (fields: LogFields, message: string): void;
};

/** `message` is a fixed sentence: whatever varies is a field. */
export type Log = {
  fatal: Write;
  error: Write;
  warn: Write;
  info: Write;
  debug: Write;
  trace: Write;
  /** The same log with fields on every line, such as `request_id`. */
  child(fields: LogFields): Log;
};

export type LogOptions = {
  level: string;
  /** Which process speaks: api, worker, start, cli. */
  process: string;
  /** Where lines go; stdout unless told otherwise. */
  destination?: { write(line: string): void };
  /** Text for people in place of JSON; whether stdout is a terminal unless told otherwise. */
  pretty?: boolean;
};

export function createLog(options: LogOptions): Log {
  const toPeople = options.pretty ?? (options.destination === undefined && process.stdout.isTTY);
  const destination = options.destination ?? fileDestination(process.stdout.fd);
  const logger = pino(
    {
      level: options.level,
      base: { process: options.process, pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      // Already described by onlyLogged; pino's own would describe the description.
      serializers: { err: (described: unknown) => described },
      formatters: { level: (label) => ({ level: label }), log: onlyLogged },
    },
    toPeople ? forPeople(destination) : destination,
  );
  return logOf(logger);
}

/** What of a thrown thing is kept: never a message that may repeat what a person or a model wrote. */
export type LoggedError = {
  type: string;
  message?: string;
  code?: string;
  status?: number;
  /** Names of a database's table and constraint say what broke without saying with what. */
  table?: string;
  constraint?: string;
  stack?: string;
  cause?: LoggedError;
};

/**
 * The kind, code and places of an error, and its message where that is known to be ours: errors of
 * the language, of the system and of the database, and our own. A vendor's error may quote a prompt,
 * a parser's the text it could not parse, a validator's the value it refused.
 */
export function describeError(error: unknown, depth: number = 0): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error };
  const described: LoggedError = { type: error.name };
  if (hasSafeMessage(error)) described.message = error.message.slice(0, 500);
  const fields = error as Partial<Record<'code' | 'status' | 'table' | 'constraint', unknown>>;
  if (typeof fields.code === 'string') described.code = fields.code;
  if (typeof fields.status === 'number') described.status = fields.status;
  if (typeof fields.table === 'string') described.table = fields.table;
  if (typeof fields.constraint === 'string') described.constraint = fields.constraint;
  const places = error.stack?.split('\n').filter((line) => /^ {4}at /.test(line));
  if (places !== undefined && places.length > 0) described.stack = places.join('\n');
  if (error.cause !== undefined && depth < 3) {
    described.cause = describeError(error.cause, depth + 1);
  }
  return described;
}

const languageErrors = new Set(['Error', 'TypeError', 'RangeError', 'ReferenceError']);
const abortErrors = new Set(['AbortError', 'TimeoutError']);

function hasSafeMessage(error: Error): boolean {
  if (error instanceof Problem || error instanceof SettingsError) return true;
  if ('syscall' in error || abortErrors.has(error.name)) return true;
  // Class 22 is about data ("invalid input syntax for type uuid: …") and quotes it.
  if ('severity' in error && 'code' in error) return !String(error.code).startsWith('22');
  return languageErrors.has(error.constructor.name) && !('status' in error);
}

const allowed: ReadonlySet<string> = new Set(loggedFields);

function onlyLogged(fields: Record<string, unknown>): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (name === 'err') kept['err'] = describeError(value);
    else if (allowed.has(name) && (value === null || typeof value !== 'object')) kept[name] = value;
  }
  return kept;
}

function logOf(logger: Logger): Log {
  const writeAt =
    (level: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace'): Write =>
    (first: string | LogFields, message?: string) => {
      if (typeof first === 'string') logger[level](first);
      else logger[level](first, message);
    };
  return {
    fatal: writeAt('fatal'),
    error: writeAt('error'),
    warn: writeAt('warn'),
    info: writeAt('info'),
    debug: writeAt('debug'),
    trace: writeAt('trace'),
    child: (fields) => logOf(logger.child(onlyLogged(fields))),
  };
}

/** In this process and at once: a transport's thread would lose the last lines of a crash. */
function forPeople(destination: { write(line: string): void }): { write(line: string): void } {
  const format = prettyFactory({
    colorize: true,
    ignore: 'pid,process',
    // A request on six lines pushes what was printed at the start off the screen.
    singleLine: true,
    messageFormat: '{process}: {msg}',
    translateTime: 'SYS:HH:MM:ss',
  });
  return { write: (line) => destination.write(format(line)) };
}
