/** The arrows of the architecture, main -> http | cli -> operations -> subjects -> licensing -> store: what of src/ each of its folders may import. */
const LAYERS = {
  store: ['../migrations'],
  process: [],
  figures: ['licensing', 'store'],
  runner: ['figures', 'licensing', 'store'],
  licensing: ['store'],
  packages: ['licensing', 'process', 'store'],
  mail: ['joomla', 'licensing', 'process', 'runner', 'store'],
  webhooks: ['access', 'licensing', 'mail', 'runner', 'store'],
  access: ['joomla', 'licensing', 'store'],
  operations: [
    'access',
    'doctor',
    'figures',
    'joomla',
    'licensing',
    'mail',
    'orders',
    'overview',
    'packages',
    'privacy',
    'selfservice',
    'settings',
    'support',
    'transfer',
    'webhooks',
  ],
  http: [
    'access',
    'doctor',
    'figures',
    'joomla',
    'licensing',
    'mail',
    'operations',
    'orders',
    'overview',
    'packages',
    'privacy',
    'process',
    'selfservice',
    'settings',
    'setup',
    'support',
    'transfer',
    'webhooks',
  ],
  joomla: ['licensing', 'packages', 'process', 'store'],
  settings: ['joomla', 'licensing', 'mail', 'orders', 'packages', 'process', 'runner', 'store'],
  setup: ['licensing', 'packages', 'process', 'settings', 'store'],
  transfer: ['figures', 'joomla', 'licensing', 'packages', 'store'],
  privacy: ['licensing', 'mail', 'orders', 'packages', 'store', 'transfer'],
  selfservice: ['licensing', 'packages', 'store'],
  orders: ['licensing', 'mail', 'store', 'webhooks'],
  support: ['joomla', 'licensing', 'orders', 'packages', 'store'],
  overview: ['figures', 'joomla', 'licensing', 'store', 'support'],
  doctor: [
    'access',
    'joomla',
    'licensing',
    'mail',
    'orders',
    'overview',
    'packages',
    'process',
    'settings',
    'store',
    'webhooks',
  ],
  cli: [
    'access',
    // commands.ts loads its files by the names that they have in the build.
    'cli',
    'doctor',
    'figures',
    'joomla',
    'licensing',
    'mail',
    'operations',
    'orders',
    'overview',
    'packages',
    'privacy',
    'process',
    'settings',
    'setup',
    'support',
    'transfer',
    'webhooks',
  ],
};
/** What every folder may import. Its files import nothing of src/. */
const FLOOR = ['base'];
/** The rooms below the texts; all others may import texts, too. */
const BELOW_TEXTS = ['figures', 'licensing', 'store', 'packages', 'process', 'runner'];

/** What the scripts of the pages use of a browser. */
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

/** Files that import types of one another in a circle. No other file may, and these may not import values so. */
const CYCLES_OF_TYPES = [
  'src/access/authenticate.ts',
  'src/access/sessions.ts',
  'src/orders/catch-up/list.ts',
  'src/orders/catch-up/paddle.ts',
  'src/orders/catch-up/stripe.ts',
  'src/orders/catch-up/woocommerce.ts',
  'src/orders/line-standing.ts',
  'src/orders/receivers/index.ts',
  'src/orders/receivers/receiver.ts',
  'src/orders/receivers/secrets.ts',
  'src/orders/record.ts',
  'src/orders/settle-license.ts',
  'src/orders/settle.ts',
  'src/orders/shops.ts',
  'src/orders/views.ts',
  'src/transfer/moving/plan-map.ts',
  'src/transfer/moving/report.ts',
  'src/transfer/moving/wanted.ts',
];

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

const refuseImports = (files, pattern) => ({
  files,
  rules: { 'no-restricted-imports': ['error', { patterns: [pattern] }] },
});

/** A folder's files, and those one folder deeper, whose way out begins with one step more. */
const layer = ([folder, others]) => {
  const allowed = [...others, ...FLOOR, ...(BELOW_TEXTS.includes(folder) ? [] : ['texts'])];
  const message = `src/${folder} may import from ${allowed.join(', ')} alone.`;
  return ['../', '../../'].map((out, depth) =>
    refuseImports([`src/${folder}/${'*/'.repeat(depth)}*.{ts,tsx}`], {
      group: [`${out}**`, ...allowed.flatMap((name) => [`!${out}${name}`, `!${out}${name}/**`])],
      message,
    }),
  );
};

/** Of the rest of src/, texts know types of licensing and support, and nothing that runs. */
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
    { files: ['**/*.mjs'], globals: readonly('process', 'console') },
    {
      files: ['src/**/*.{ts,tsx}'],
      plugins: ['import'],
      rules: { 'import/no-cycle': ['error', { ignoreTypes: false }] },
    },
    {
      files: CYCLES_OF_TYPES,
      plugins: ['import'],
      rules: { 'import/no-cycle': ['error', { ignoreTypes: true }] },
    },
    ...Object.entries(LAYERS).flatMap(layer),
    refuseImports(['src/base/*.ts'], { regex: '^\\.\\.', message: 'src/base imports nothing else of src/.' }),
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
