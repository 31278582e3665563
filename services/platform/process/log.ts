import { destination as fileDestination, pino, stdTimeFunctions, type Logger } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { SettingsError } from './env.ts';
import { Problem } from '#services/platform/problem.ts';

/**
 * JSON lines on stdout, coloured text on a terminal. An allow-list drops every other field, so that a
 * question, an answer, an address or a token cannot reach a log by accident. Objects are dropped as well.
 */
const loggedFields = [
  // the process
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
  // one object of the domain, by its id
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
  // background work
  'task',
  'job_id',
  'attempt',
  'projection',
  'lag_ms',
  'count',
  'waiting',
  // a model call
  'seat',
  'provider',
  'model',
  'failure',
  'cost_micros',
  // an outcome
  'code',
  'reason',
  'signal',
  'exit_code',
] as const;

export type LogFields = Partial<
  Record<(typeof loggedFields)[number], string | number | boolean | null>
> & {
  /** Anything thrown; `describeError` decides what is kept. */
  err?: unknown;
};

type Write = {
  (message: string): void;
  (fields: LogFields, message: string): void;
};

/** `message` is a fixed sentence; variable parts are fields. */
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
  /** api, worker, start or cli. */
  process: string;
  /** Default: stdout. */
  destination?: { write(line: string): void };
  /** Text in place of JSON; default: when stdout is a terminal. */
  pretty?: boolean;
};

let errors = 0;

/** Lines of `error` and `fatal` in this process so far, for an alert. */
export function countLoggedErrors(): number {
  return errors;
}

export function createLog(options: LogOptions): Log {
  const toPeople = options.pretty ?? (options.destination === undefined && process.stdout.isTTY);
  const destination = options.destination ?? fileDestination(process.stdout.fd);
  const logger = pino(
    {
      level: options.level,
      base: { process: options.process, pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      // onlyLogged has described it already.
      serializers: { err: (described: unknown) => described },
      hooks: {
        logMethod(line, write, level) {
          if (level >= pino.levels.values['error']!) errors += 1;
          write.apply(this, line);
        },
      },
      formatters: { level: (label) => ({ level: label }), log: onlyLogged },
    },
    toPeople ? forPeople(destination) : destination,
  );
  return logOf(logger);
}

/** Never a message that may repeat what a user or a model wrote. */
export type LoggedError = {
  type: string;
  message?: string;
  code?: string;
  status?: number;
  /** Table and constraint name the failure without its values. */
  table?: string;
  constraint?: string;
  stack?: string;
  cause?: LoggedError;
};

/**
 * The kind, code and stack of an error. Its message only for errors of the language, the system and the
 * database, and our own: a vendor's error may quote a prompt, a parser's its text, a validator's a value.
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

/** Synchronous: a transport's thread would lose the last lines of a crash. */
function forPeople(destination: { write(line: string): void }): { write(line: string): void } {
  const format = prettyFactory({
    colorize: true,
    ignore: 'pid,process',
    // On six lines each, requests would push the greeting off the screen.
    singleLine: true,
    messageFormat: '{process}: {msg}',
    translateTime: 'SYS:HH:MM:ss',
  });
  return { write: (line) => destination.write(format(line)) };
}
