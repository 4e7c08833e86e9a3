import { readFileSync } from 'node:fs';

/** The files that break a rule today. */
const HOUSE = JSON.parse(readFileSync(new URL('scripts/house.json', import.meta.url), 'utf8'));

/** Files that import types of one another in a circle; no file may import values this way. */
const CYCLES = Object.keys(HOUSE.cycles);

/**
 * The arrows of the architecture, app -> http | cli -> operations -> subjects -> licensing -> store: the folders of src/ that each of
 * its folders may import besides `base`. A folder names only folders above it in this table.
 */
const LAYERS = {
  base: [],
  store: [],
  process: [],
  licensing: ['store'],
  figures: ['licensing', 'store'],
  runner: ['figures', 'licensing', 'store'],
  packages: ['licensing', 'process', 'store'],
  joomla: ['licensing', 'packages', 'process', 'store', 'texts'],
  mail: ['joomla', 'licensing', 'process', 'runner', 'store', 'texts'],
  access: ['joomla', 'licensing', 'store', 'texts'],
  webhooks: ['access', 'licensing', 'mail', 'runner', 'store', 'texts'],
  orders: ['licensing', 'mail', 'store', 'texts', 'webhooks'],
  transfer: ['figures', 'joomla', 'licensing', 'packages', 'store', 'texts'],
  selfservice: ['licensing', 'packages', 'store', 'texts'],
  privacy: ['licensing', 'mail', 'orders', 'packages', 'store', 'texts', 'transfer'],
  support: ['joomla', 'licensing', 'orders', 'packages', 'store', 'texts'],
  overview: ['figures', 'joomla', 'licensing', 'store', 'support', 'texts'],
  settings: ['joomla', 'licensing', 'mail', 'orders', 'packages', 'process', 'runner', 'store', 'texts'],
  setup: ['licensing', 'orders', 'packages', 'process', 'settings', 'store'],
  doctor: [
    ...['access', 'joomla', 'licensing', 'mail', 'orders', 'overview', 'packages', 'process', 'settings'],
    ...['store', 'texts', 'webhooks'],
  ],
  operations: [
    ...['access', 'doctor', 'figures', 'joomla', 'licensing', 'mail', 'orders', 'overview', 'packages'],
    ...['privacy', 'selfservice', 'settings', 'support', 'texts', 'transfer', 'webhooks'],
  ],
  http: [
    ...['access', 'doctor', 'figures', 'joomla', 'licensing', 'mail', 'operations', 'orders', 'overview'],
    ...['packages', 'privacy', 'process', 'selfservice', 'settings', 'setup', 'support', 'texts', 'transfer'],
    'webhooks',
  ],
  cli: [
    ...['access', 'doctor', 'figures', 'joomla', 'licensing', 'mail', 'operations', 'orders'],
    ...['overview', 'packages', 'privacy', 'process', 'settings', 'setup', 'support', 'texts', 'transfer'],
    'webhooks',
  ],
};
/** The hot path is a layer of its own below the other rules. */
const CORE = ['store'];
/** Paths outside the layers that a folder may import: `cli/commands.ts` loads its files by the names that they have in the build. */
const OF_ALL = { cli: ['cli'], store: ['../migrations'] };
/** The depths of folders in src/, which test/units/house.test.ts counts. */
const DEPTHS = [0, 1, 2, 3];

/** The globals of a browser that the scripts of the pages use. */
const BROWSER = [
  'CSS',
  'AbortController',
  'DOMParser',
  'Event',
  'FormData',
  'URL',
  'URLSearchParams',
  'XMLHttpRequest',
  'addEventListener',
  'clearTimeout',
  'document',
  'fetch',
  'getSelection',
  'history',
  'localStorage',
  'location',
  'navigator',
  'performance',
  'removeEventListener',
  'scrollTo',
  'setTimeout',
];

const ENTRY_POINTS = ['main', 'cli', 'demo', 'hosting'].map((name) => `src/${name}.ts`);

const readonly = (...names) => Object.fromEntries(names.map((name) => [name, 'readonly']));
const errors = (names) => Object.fromEntries(names.map((name) => [name, 'error']));

/** Rules of typescript-eslint's sets "strict" and "stylistic" that are not in oxlint's category "correctness". */
const TYPESCRIPT = [
  'adjacent-overload-signatures',
  'array-type',
  'ban-ts-comment',
  'ban-tslint-comment',
  'class-literal-property-style',
  'consistent-generic-constructors',
  'consistent-indexed-object-style',
  'consistent-type-assertions',
  'consistent-type-imports',
  'dot-notation',
  'no-confusing-non-null-assertion',
  'no-deprecated',
  'no-dynamic-delete',
  'no-empty-object-type',
  'no-explicit-any',
  'no-extraneous-class',
  'no-generated-empty-object-type',
  'no-inferrable-types',
  'no-invalid-void-type',
  'no-mixed-enums',
  'no-namespace',
  'no-non-null-asserted-nullish-coalescing',
  'no-non-null-assertion',
  'no-require-imports',
  'no-unnecessary-boolean-literal-compare',
  'no-unnecessary-condition',
  'no-unnecessary-template-expression',
  'no-unnecessary-type-arguments',
  'no-unnecessary-type-assertion',
  'no-unnecessary-type-constraint',
  'no-unnecessary-type-conversion',
  'no-unnecessary-type-parameters',
  'no-unsafe-argument',
  'no-unsafe-assignment',
  'no-unsafe-call',
  'no-unsafe-enum-assignment',
  'no-unsafe-enum-comparison',
  'no-unsafe-function-type',
  'no-unsafe-member-access',
  'no-unsafe-return',
  'only-throw-error',
  'prefer-find',
  'prefer-for-of',
  'prefer-function-type',
  'prefer-includes',
  'prefer-literal-enum-member',
  'prefer-optional-chain',
  'prefer-promise-reject-errors',
  'prefer-reduce-type-parameter',
  'prefer-regexp-exec',
  'prefer-return-this-type',
  'prefer-string-starts-ends-with',
  'related-getter-setter-pairs',
  'require-await',
  'restrict-plus-operands',
  'unified-signatures',
  'use-unknown-in-catch-callback-variable',
];

/** During a rollout, the latest version is not what every address is offered. */
const LATEST = {
  regex: '(^|/)versions$',
  importNames: ['latestRelease'],
  message: 'Ask releaseForShare or offeredVersion (src/licensing/updates.ts) which version is offered.',
};

const refuseImports = (files, ...patterns) => ({
  files,
  rules: { 'no-restricted-imports': ['error', { patterns }] },
});

/** A folder's files at every depth: each begins its way out with one step more. */
const layer = (folder, allowed, files = '*.{ts,tsx}', ...names) =>
  DEPTHS.map((depth) => {
    const out = '../'.repeat(folder.split('/').length + depth);
    return refuseImports(
      [`src/${folder}/${'*/'.repeat(depth)}${files}`],
      // First: the negations of a group end the search.
      ...names,
      {
        group: [
          depth === 0 && folder.includes('/') ? '../**' : `${out}**`,
          ...['base', ...allowed].flatMap((name) => [`!${out}${name}`, `!${out}${name}/**`]),
        ],
        message: `src/${folder} may import from ${['base', ...allowed].join(', ')} alone.`,
      },
    );
  });

const layers = Object.entries(LAYERS).flatMap(([folder, allowed], place) => {
  const above = Object.keys(LAYERS).slice(0, place);
  const upward = allowed.filter((name) => name !== 'texts' && !above.includes(name));
  if (upward.length > 0) throw new Error(`src/${folder} may not import upwards: ${upward.join(', ')}`);
  return layer(folder, [...allowed, ...(OF_ALL[folder] ?? [])], undefined, LATEST);
});

/** Lets texts import types of licensing and support, and no values from the rest of src/. */
const floorOfTexts = (below) => {
  const out = `../${below.replaceAll('*', '..')}`;
  const patterns = [
    {
      // A group would be undone by the negations of the next one.
      regex: `^${out.replaceAll('.', '\\.')}(?:licensing|support)/`,
      message: 'src/texts imports only types of other folders.',
      allowTypeImports: true,
    },
    {
      group: [`${out}*/**`, `!${out}base/**`, `!${out}licensing/**`, `!${out}support/**`],
      message:
        'src/texts declares the facts that it describes, or takes their types from licensing and support.',
    },
  ];
  return { files: [`src/texts/${below}*.ts`], rules: { 'no-restricted-imports': ['error', { patterns }] } };
};

export default {
  plugins: ['import'],
  categories: { correctness: 'error' },
  options: { typeAware: true, typeCheck: true, reportUnusedDisableDirectives: 'error' },
  env: { builtin: true },
  rules: {
    ...errors([
      'no-case-declarations',
      'no-empty',
      'no-fallthrough',
      'no-prototype-builtins',
      'no-regex-spaces',
      'no-undef',
      'no-unexpected-multiline',
      'no-useless-assignment',
      'preserve-caught-error',
    ]),
    'no-redeclare': ['error', { builtinGlobals: false }],
    'no-unused-expressions': 'off',
  },
  overrides: [
    {
      files: ['**/*.{ts,tsx}'],
      plugins: ['typescript'],
      rules: {
        ...errors(TYPESCRIPT.map((name) => `typescript/${name}`)),
        ...errors([
          'no-array-constructor',
          'no-console',
          'no-empty-function',
          'no-unused-expressions',
          'no-useless-constructor',
          'no-var',
          'prefer-const',
          'prefer-rest-params',
          'prefer-spread',
        ]),
        'typescript/restrict-template-expressions': ['error', { allowNumber: true }],
        'typescript/consistent-type-definitions': ['error', 'interface'],
        'typescript/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
        'typescript/return-await': ['error', 'error-handling-correctness-only'],
        'typescript/prefer-nullish-coalescing': ['error', { ignorePrimitives: { string: true } }],
        'no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
        'no-restricted-properties': [
          'error',
          {
            object: 'process',
            property: 'env',
            message: 'src/settings/config.ts is the only reader of the environment.',
          },
        ],
        eqeqeq: 'error',
        // It reports a list of strings when the list may be the empty `[]`.
        'typescript/require-array-sort-compare': 'off',
        // TypeScript's own checks
        'no-redeclare': 'off',
        'no-undef': 'off',
      },
    },
    // An old Node has to read the entry points before it can be refused, and knows no "??" (src/process/node-version.ts).
    {
      files: ENTRY_POINTS,
      plugins: ['typescript'],
      rules: { 'typescript/prefer-nullish-coalescing': 'off' },
    },
    {
      files: ['src/http/document/page/*.js', 'php/**/*.js'],
      globals: readonly('document', 'matchMedia'),
    },
    { files: ['src/http/pages/script/*.js'], globals: readonly(...BROWSER) },
    {
      files: ['**/*.cjs'],
      globals: readonly('process', 'console', 'require', 'module', 'exports', '__dirname'),
    },
    {
      // It runs on Node 10.
      files: ['deploy/hosting/app.js'],
      globals: readonly('__filename', 'global', 'process', 'require'),
      rules: { 'no-unused-vars': ['error', { caughtErrors: 'none' }] },
    },
    { files: ['**/*.mjs'], globals: readonly('URL', 'process', 'console') },
    {
      files: ['src/**/*.{ts,tsx}'],
      plugins: ['import'],
      rules: { 'import/no-cycle': ['error', { ignoreTypes: false }] },
    },
    {
      files: ['src/**/*.{ts,tsx}'],
      excludeFiles: Object.keys(HOUSE.spreads),
      plugins: ['unicorn'],
      rules: { 'unicorn/no-thenable': 'off', 'unicorn/no-useless-spread': 'error' },
    },
    {
      files: CYCLES,
      plugins: ['import'],
      rules: { 'import/no-cycle': ['error', { ignoreTypes: true }] },
    },
    ...layers,
    ...layer('licensing/core', CORE, undefined, LATEST),
    ...layer('licensing', LAYERS.licensing, 'updates.ts'),
    refuseImports(['migrations/**/*.ts'], {
      group: ['**/src/**'],
      message: 'A migration must not change with the rules of src/ (decision 6).',
    }),
    ...['', '*/', '*/*/'].map(floorOfTexts),
    {
      files: ['test/**/*.ts', 'bench/**/*.ts', 'jest.config.ts'],
      plugins: ['typescript'],
      rules: {
        'no-restricted-properties': 'off',
        'no-console': 'off',
        'typescript/no-non-null-assertion': 'off',
      },
    },
  ],
};
