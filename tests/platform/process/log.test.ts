import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { SettingsError } from '#services/platform/process/env.ts';
import {
  createLog,
  describeError,
  type Log,
  type LogFields,
} from '#services/platform/process/log.ts';
import { Problem } from '#services/platform/problem.ts';

type Line = Record<string, unknown>;

function captured(level: string = 'trace'): { log: Log; lines: () => Line[]; text: () => string } {
  const written: string[] = [];
  const destination = { write: (line: string) => void written.push(line) };
  return {
    log: createLog({ level, process: 'test', destination }),
    lines: () => written.map((line) => JSON.parse(line) as Line),
    text: () => written.join(''),
  };
}

describe('a line of the log', () => {
  test('a log line is JSON with the time, the level as a word, the process and the message', () => {
    const { log, lines } = captured();
    log.info('listening');
    expect(lines()).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        process: 'test',
        pid: process.pid,
        msg: 'listening',
      },
    ]);
  });

  test('a log line has the request id of its log', () => {
    const { log, lines } = captured();
    log.child({ request_id: 'req-1' }).child({ user_id: 'usr_1' }).warn({ status: 429 }, 'refused');
    expect(lines()[0]).toMatchObject({ request_id: 'req-1', user_id: 'usr_1', status: 429 });
  });

  test('a log line leaves out fields that are not on the list', () => {
    const { log, text } = captured();
    const fields = JSON.parse(`{
      "request_id": "req-1",
      "email": "canary@example.com",
      "password": "canary",
      "route": { "body": "canary" },
      "authorization": "Bearer canary"
    }`) as LogFields;
    log.info(fields, 'called');
    log.child(fields).error('failed');
    expect(text()).toContain('req-1');
    expect(text()).not.toContain('canary');
  });

  test('a log line below the level is not written', () => {
    const { log, lines } = captured('warn');
    log.info('quiet');
    log.warn('loud');
    expect(lines().map(({ msg }) => msg)).toEqual(['loud']);
  });

  test('a log line is text on request', () => {
    const written: string[] = [];
    const destination = { write: (line: string) => void written.push(line) };
    createLog({ level: 'info', process: 'api', pretty: true, destination }).info('listening');
    expect(written.join('')).toContain('api: listening');
  });
});

describe('what is kept of an error', () => {
  test('an error is logged with its kind, its stack and, if it is our own, its message', () => {
    const { log, lines } = captured();
    log.error({ err: new Problem('not-found', 'There is nothing here') }, 'refused');
    expect(lines()[0]?.['err']).toMatchObject({
      type: 'Problem',
      code: 'not-found',
      status: 404,
      message: 'There is nothing here',
      stack: expect.stringContaining('log.test.ts'),
    });
    expect(describeError(new SettingsError(['PORT must be a number'])).message).toBe(
      'PORT must be a number',
    );
  });

  test('errors of the language and the system are logged with their messages and causes', () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED'), {
      code: 'ECONNREFUSED',
      syscall: 'connect',
    });
    expect(describeError(new TypeError('fetch failed', { cause }))).toMatchObject({
      type: 'TypeError',
      message: 'fetch failed',
      cause: { message: 'connect ECONNREFUSED', code: 'ECONNREFUSED' },
    });
  });

  test.each<[string, () => unknown]>([
    ['a text that could not be parsed', () => void JSON.parse('canary')],
    ['a value that was refused', () => v.parse(v.picklist(['fine']), 'canary')],
    [
      'a prompt that a vendor quotes',
      () => {
        class ApiError extends Error {}
        throw Object.assign(new ApiError('400 {"prompt":"canary"}'), { status: 400 });
      },
    ],
    [
      'a value that the database could not read',
      () => {
        throw Object.assign(new Error('invalid input syntax for type uuid: "canary"'), {
          severity: 'ERROR',
          code: '22P02',
          detail: 'canary',
        });
      },
    ],
    [
      'a thing that is no error',
      () => {
        // oxlint-disable-next-line typescript/only-throw-error -- some library somewhere does it
        throw 'canary';
      },
    ],
  ])('the log never holds %s', (_what, act) => {
    const { log, text, lines } = captured();
    try {
      act();
    } catch (error) {
      log.error({ err: error }, 'failed');
    }
    expect(lines()).toHaveLength(1);
    expect(text()).not.toContain('canary');
  });

  test('the causes of an error are logged to a bounded depth, also in a circle', () => {
    const error = new Error('round');
    error.cause = error;
    expect(JSON.stringify(describeError(error)).match(/"round"/g)).toHaveLength(4);
  });
});
