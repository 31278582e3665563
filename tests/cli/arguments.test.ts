import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { operatorName, parseCall, UsageError } from '#services/cli/command.ts';
import { backupCommands } from '#services/cli/backup.ts';
import { amountOf, creditCommands, cutOf } from '#services/cli/credits.ts';
import { projectionCommands } from '#services/cli/projections.ts';
import { runCommands } from '#services/cli/runs/run.ts';

const commands = [...backupCommands, ...creditCommands, ...projectionCommands, ...runCommands];

function parse(noun: string, verb: string, ...args: string[]) {
  const command = commands.find((one) => one.noun === noun && one.verb === verb);
  if (!command) throw new Error(`There is no ${noun} ${verb}`);
  return parseCall(command, args);
}

describe('arguments are counted before anything is opened', () => {
  test.each([
    [['credits', 'balance'], 'Missing: <email|user id>'],
    [['credits', 'grant', 'ann@example.com'], 'Missing: <credits>'],
    [
      ['credits', 'balance', 'a@example.com', 'b@example.com'],
      'Too many arguments. Expected: <email|user id>',
    ],
    [['projections', 'list', 'all'], 'This command takes no arguments'],
    [['run', ''], 'Missing: "<question>"'],
  ] as const)(
    'the arguments %j are refused before anything opens',
    ([noun, verb, ...args], message) => {
      const error = new UsageError(message);
      expect(() => parse(noun, verb, ...args)).toThrow(error);
    },
  );

  test.each([
    [['credits', 'verify']],
    [['credits', 'verify', 'a@example.com']],
    [['projections', 'rebuild', '--all']],
    [['projections', 'rebuild', 'credit_account']],
    [['credits', 'balance', '--help']],
  ] as const)('the arguments %j are accepted', ([noun, verb, ...args]) => {
    expect(() => parse(noun, verb, ...args)).not.toThrow();
  });
});

test('a negative number is an argument, not an option', () => {
  const call = parse('credits', 'grant', 'ann@example.com', '-5', '--reason', '-1 star', '--json');
  expect(call).toEqual({
    positionals: ['ann@example.com', '-5'],
    options: { reason: '-1 star', json: true },
  });
  const tooFew = new UsageError('The credits must be a whole number from 1 to 1000000');
  expect(() => amountOf(call.positionals[1] ?? '')).toThrow(tooFew);
  expect(() => parse('credits', 'grant', 'ann@example.com', '5', '-x')).toThrow(UsageError);
});

describe('npm runs the command line in its own folder', () => {
  afterEach(() => vi.unstubAllEnvs());

  test('a path means the folder of the caller of npm run cli, and other words stay as they are', () => {
    vi.stubEnv('INIT_CWD', tmpdir());
    const create = () => parse('backup', 'create', '--out', 'backups').options['out'];
    const verify = (given: string) => parse('backup', 'verify', given).positionals;
    expect(create()).toBe('backups');
    vi.stubEnv('npm_lifecycle_event', 'cli');
    expect(create()).toBe(join(tmpdir(), 'backups'));
    expect(parse('backup', 'create', '--out', '-').options['out']).toBe('-');
    expect(verify('./missing')).toEqual([join(tmpdir(), 'missing')]);
    expect(verify('2026-11-28T08-51-49.441Z')).toEqual(['2026-11-28T08-51-49.441Z']);
    expect(parse('run', '', 'Rent/buy?').positionals).toEqual(['Rent/buy?']);
  });
});

describe('the operator is known by name', () => {
  afterEach(() => vi.unstubAllEnvs());

  test.each([
    ['olga', 'peter', 'operator:olga'],
    [undefined, 'peter', 'operator:peter'],
    ['', '', `operator:${userInfo().username}`],
    [undefined, undefined, `operator:${userInfo().username}`],
  ])('with SUDO_USER %j and USER %j the operator is %s', (sudo, user, operator) => {
    vi.stubEnv('SUDO_USER', sudo);
    vi.stubEnv('USER', user);
    expect(operatorName()).toBe(operator);
  });
});

describe('an amount of credits is written in digits', () => {
  test.each([
    ['1', 1],
    ['50', 50],
    ['1000000', 1_000_000],
  ])('%s is an amount of credits', (given, credits) => expect(amountOf(given)).toBe(credits));

  test.each(['', '0', '-1', '1.5', '1e3', '0x10', ' 5', '+5', '\u0665', '1000001', 'NaN'])(
    '%j is not an amount of credits',
    (given) => expect(() => amountOf(given)).toThrow(UsageError),
  );
});

describe('--at is a position or a time, UTC unless it says otherwise', () => {
  test.each([
    ['0', { position: 0 }],
    ['2026', { position: 2026 }],
    ['2026-11-20', { at: '2026-11-20T00:00:00.000Z' }],
    ['2026-11-20T12:00:00', { at: '2026-11-20T12:00:00.000Z' }],
    ['2026-11-20T12:00:00.5Z', { at: '2026-11-20T12:00:00.500Z' }],
    ['2026-11-20T12:00+02:00', { at: '2026-11-20T10:00:00.000Z' }],
    ['2028-02-29', { at: '2028-02-29T00:00:00.000Z' }],
  ])('--at accepts %s', (given, cut) => expect(cutOf(given)).toEqual(cut));

  test.each([
    '',
    '-1',
    '+1',
    '1e3',
    '2026-02-30',
    '2026-13-01',
    '2027-02-29',
    'yesterday',
    '9'.repeat(20),
  ])('--at refuses %j', (given) => expect(() => cutOf(given)).toThrow(UsageError));
});
