import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig, type OxlintOverride } from 'oxlint';

/**
 * Which way imports point. A rule of an override replaces the one above it, so each folder's list is
 * built whole here. `asType` lets `import type` pass: types carry no behaviour.
 */
type Ban = {
  regex?: string;
  group?: string[];
  allowTypeImports?: boolean;
  message: string;
};

const asType = { allowTypeImports: true };
const slices = ['credits', 'optimizations', 'identity', 'payments', 'recipes', 'onboarding'];
const anySlice = slices.join('|');
const features = readdirSync(join(import.meta.dirname, 'web/src/features'));

const upwards: Ban = {
  regex: String.raw`(^|/)\.\.(/|$)`,
  message: 'Leave a folder through #services, #db, #projections, #tests or #web.',
};
const eventStore: Ban = {
  ...asType,
  regex: '^@event-driven-io/emmett-postgresql',
  message: 'Only db/ talks to the event store; everyone else appends through platform/command.ts.',
};
const sandbox: Ban = {
  group: ['#services/sandbox/**', '!#services/sandbox/models/cases.ts'],
  message:
    'The sandbox is reached over its wire formats and never loaded by the app, which shares its prepared cases only.',
};
const outside: Ban[] = [
  { regex: '^#tests/', message: 'What runs does not import tests.' },
  { group: ['#web/**', '!#web/build.ts'], message: 'The server does not import web/.' },
  {
    regex: String.raw`^#services/((api|worker|start)\.ts$|(cli|evaluation)/main\.ts$)`,
    message: 'Nothing imports an entry file: it wires, others are wired.',
  },
];
const server = [upwards, eventStore, sandbox, ...outside];

const noSlice: Ban = {
  regex: `^#services/(${anySlice}|live|cli|app)(/|\\.)`,
  message: 'db, platform and models know no slice; what they need of one arrives as an argument.',
};
/** Without `own`: for what belongs to no slice. */
const foreignSlice = (own?: string): Ban => ({
  ...asType,
  regex: `^#services/(${slices.filter((slice) => slice !== own).join('|')})/`,
  message:
    "Another slice's events may be named with import type; its behaviour arrives as a parameter.",
});
const connections: Ban = {
  ...asType,
  // What runs statements in one transaction takes the pool that it was handed, like everything else.
  // The hash chain is arithmetic without a connection.
  group: [
    '#db/**',
    '!#db/transaction.ts',
    '!#db/{chain,anchor-root,recorded-event}.ts',
    '!#db/log-file/lines.ts',
  ],
  message: 'Connections are handed over by the entry file; their types may be named.',
};
const browser: Ban[] = [
  upwards,
  {
    group: [
      '#db/**',
      '#projections/**',
      '#services/**',
      '!#services/*/contract.ts',
      '!#services/*/contract/*.ts',
      '!#services/credits/history-csv.ts',
      '!#services/http/endpoints.ts',
      '!#services/identity/refusals.ts',
      '!#services/optimizations/check/questions.ts',
      '!#services/optimizations/reading/{view,texts,costs,describe,degraded,simulated,claims-csv}.ts',
      '!#services/optimizations/reading/words/*.ts',
      '!#services/optimizations/dashboard/formulas.ts',
      '!#services/optimizations/reading/markdown/{brief,run}-markdown.ts',
      '!#services/optimizations/refinement/price.ts',
      '!#services/onboarding/{audit,challenges,challenge-list,stages}.ts',
      '!#services/models/seating/{characters,words}.ts',
      '!#services/platform/{csv,locale,numbers}.ts',
    ],
    message:
      'web/ imports the contract.ts of a slice, its refusals, how answers join a context, the view of a run, its words, costs, Markdown, CSV and notice, the CSV of the credit history, the formulas of the dashboard, the audit, the challenges and the stages, how numbers are written, and the endpoints as types, nothing else.',
  },
  {
    regex: '^(node:|pg$|postgres$|pino|graphile-worker|hono|@hono/|@event-driven-io/)',
    message: 'This package belongs to the server.',
  },
  { regex: '^#tests/', message: 'What runs does not import tests.' },
];

/** Everything in these folders is pure: what decides, what states follow from events, what a council computes. */
const deciders = ['services/credits/account/**', 'services/optimizations/{run,council}/**'];

const imports = (files: string[], patterns: Ban[]): OxlintOverride => ({
  files,
  rules: { 'no-restricted-imports': ['error', { patterns }] },
});

const boundaries = [
  imports(
    ['db/**'],
    [
      upwards,
      sandbox,
      ...outside,
      noSlice,
      {
        ...asType,
        group: ['#projections/**', '!#projections/engine/define.ts'],
        message: 'db is handed the list of projections; it may know what a projection is.',
      },
    ],
  ),
  imports(
    ['projections/**'],
    [
      ...server,
      {
        ...asType,
        group: ['#services/**', '!#services/credits/account/movements.ts'],
        message:
          'Projections name the types of deciders, derive their SQL from what events move, and know nothing else of services/.',
      },
    ],
  ),
  imports(['services/platform/**'], [...server, noSlice]),
  imports(
    ['services/models/**'],
    [...server, noSlice, { regex: '^#(db|projections)/', message: 'Models know no database.' }],
  ),
  ...slices.map((slice) =>
    imports([`services/${slice}/**`], [...server, foreignSlice(slice), connections]),
  ),
  imports(['services/live/**'], [...server, foreignSlice()]),
  imports(
    ['services/sandbox/**'],
    [
      upwards,
      eventStore,
      ...outside,
      {
        ...asType,
        regex: `^#(services/(${anySlice}|live|cli)/|db/|projections/)`,
        message: 'The sandbox is the outside world: it may know our types, not our code.',
      },
    ],
  ),
  // An evaluation stands beside the application: it runs the council, and on request the simulator.
  imports(['services/evaluation/**'], [upwards, eventStore, ...outside]),
  imports(deciders, [
    ...server,
    {
      ...asType,
      group: [
        '*',
        '#*/**',
        '!./*',
        '!#services/optimizations/{run,council}/*',
        '!#services/*/contract.ts',
        '!#services/*/contract/*.ts',
        '!#services/platform/{problem,seeded}.ts',
        '!#services/models/model.ts',
      ],
      message: 'A decider is pure: beside its own folder, contracts and Problem it imports types.',
    },
  ]),
  imports(
    [
      'services/*/contract.ts',
      'services/*/contract/*.ts',
      'services/identity/refusals.ts',
      'services/optimizations/reading/{view,texts,costs,describe,degraded,simulated}.ts',
      'services/optimizations/dashboard/formulas.ts',
      'services/optimizations/reading/words/*.ts',
      'services/optimizations/refinement/price.ts',
      'services/onboarding/{audit,challenges,challenge-list,stages}.ts',
    ],
    [
      ...server,
      {
        ...asType,
        group: [
          '*',
          '#*/**',
          '!./*',
          '!./words/*',
          '!valibot',
          '!#services/*/contract.ts',
          '!#services/*/contract/*.ts',
          '!#services/models/strategy-list.ts',
          '!#services/models/seating/{characters,words}.ts',
          '!#services/optimizations/run/{events,outcomes,slots,second-ballot}.ts',
          '!#services/optimizations/council/ranking.ts',
          '!#services/optimizations/reading/{costs,texts,view}.ts',
          '!#services/optimizations/reading/words/*.ts',
          '!#services/optimizations/check/questions.ts',
          '!#services/optimizations/refinement/price.ts',
          '!#services/credits/account/movements.ts',
          '!#services/platform/{locale,numbers,visible-text}.ts',
        ],
        message:
          'web/ loads contracts, so they import valibot, other contracts, lists of plain values, how answers are compared and how numbers and texts are written.',
      },
    ],
  ),
  imports(['web/src/**'], browser),
  ...features.map((feature) =>
    imports(
      [`web/src/features/${feature}/**`],
      [
        ...browser,
        {
          regex: `^#web/(features/(${features.filter((each) => each !== feature).join('|')})|routes)/`,
          message: 'Features do not import each other; a route composes them.',
        },
      ],
    ),
  ),
  imports(
    ['web/src/ui/**'],
    [
      // First, because a group that lets a contract pass ends the search.
      {
        regex: `^(#services/(${anySlice}|live|models)(/|\\.)|#web/(features|routes|api|live)(/|\\.))`,
        message: 'ui/ knows nothing of the domain.',
      },
      ...browser,
    ],
  ),
  imports(['tests/**'], [upwards]),
];

export default defineConfig({
  plugins: [
    'typescript',
    'unicorn',
    'oxc',
    'import',
    'promise',
    'node',
    'react',
    'jsx-a11y',
    'vitest',
  ],
  categories: { correctness: 'error', suspicious: 'error' },
  options: { typeAware: true, reportUnusedDisableDirectives: 'error' },
  env: { builtin: true },
  ignorePatterns: ['web/dist', 'web/src/app/route-tree.gen.ts'],
  rules: {
    'no-restricted-imports': ['error', { patterns: server }],
    'import/no-cycle': ['error', { ignoreTypes: false }],
    'import/no-default-export': 'error',
    'typescript/ban-ts-comment': 'error',
    'typescript/consistent-type-imports': 'error',
    'typescript/no-explicit-any': 'error',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/await-thenable': 'error',
    'typescript/only-throw-error': 'error',
    'typescript/return-await': ['error', 'error-handling-correctness-only'],
    'typescript/use-unknown-in-catch-callback-variable': 'error',
    'typescript/switch-exhaustiveness-check': [
      'error',
      // A vendor's union may end in `default`; deciders may not, see below.
      { considerDefaultExhaustiveForUnions: true },
    ],
    'typescript/no-unsafe-argument': 'error',
    'typescript/no-unsafe-assignment': 'error',
    'typescript/no-unsafe-call': 'error',
    'typescript/no-unsafe-member-access': 'error',
    'typescript/no-unsafe-return': 'error',
    eqeqeq: 'error',
    'no-empty': 'error',
    'prefer-const': 'error',

    // The compiler's noImplicitReturns says it without refusing exhaustive switches.
    'typescript/consistent-return': 'off',
    // Narrowing a parsed value is what `as` is for; widening through unknown is not seen here.
    'typescript/no-unsafe-type-assertion': 'off',
    // `pg` is CommonJS: its default import is the one that Node resolves.
    'import/no-named-as-default-member': 'off',
    // The compiler's automatic runtime brings what JSX needs.
    'react/react-in-jsx-scope': 'off',
    // A function stands where it is read best; properties assert through fast-check.
    'unicorn/consistent-function-scoping': 'off',
    'vitest/expect-expect': 'off',
    'vitest/no-standalone-expect': 'off',
    // Meant for windows; worker threads and BroadcastChannel have no origin to name.
    'unicorn/require-post-message-target-origin': 'off',
  },
  overrides: [
    { files: ['*.config.ts', 'web/*.config.ts'], rules: { 'import/no-default-export': 'off' } },
    {
      // Plain JavaScript has no types to be safe about.
      files: ['**/*.mjs'],
      rules: {
        'typescript/no-unsafe-argument': 'off',
        'typescript/no-unsafe-assignment': 'off',
        'typescript/no-unsafe-call': 'off',
        'typescript/no-unsafe-member-access': 'off',
        'typescript/no-unsafe-return': 'off',
      },
    },
    {
      // The matchers of `expect` are typed any.
      files: ['tests/**'],
      rules: { 'typescript/no-unsafe-assignment': 'off' },
    },
    {
      // A new event or command has to be named everywhere, so that the linter lists what it touches.
      files: deciders,
      rules: {
        'typescript/switch-exhaustiveness-check': [
          'error',
          { considerDefaultExhaustiveForUnions: false },
        ],
      },
    },
    {
      // A list that is typed by its reader.
      files: ['services/recipes/{shipped,shipped/*}.ts'],
      rules: { 'import/no-cycle': ['error', { ignoreTypes: true }] },
    },
    ...boundaries,
  ],
});
