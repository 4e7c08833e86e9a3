import js from '@eslint/js';
import ts from 'typescript-eslint';

/** The arrows of the architecture, main -> http | cli -> operations -> subjects -> licensing -> store: what of src/ each of its folders may import. */
const LAYERS = {
  store: ['../migrations'],
  process: [],
  runner: ['licensing', 'store'],
  licensing: ['store'],
  packages: ['licensing', 'process', 'store'],
  mail: ['joomla', 'licensing', 'runner', 'store'],
  webhooks: ['access', 'licensing', 'mail', 'runner', 'store'],
  access: ['joomla', 'licensing', 'store'],
  operations: [
    'access',
    'config',
    'joomla',
    'licensing',
    'mail',
    'orders',
    'packages',
    'privacy',
    'selfservice',
    'settings',
    'store',
    'stored-settings',
    'support',
    'transfer',
    'webhooks',
  ],
  http: [
    'access',
    'joomla',
    'licensing',
    'mail',
    'operations',
    'orders',
    'packages',
    'privacy',
    'selfservice',
    'settings',
    'store',
    'support',
    'transfer',
    'webhooks',
  ],
  joomla: ['licensing', 'packages', 'process', 'store'],
  setup: ['config', 'licensing', 'packages', 'process', 'store'],
  transfer: ['licensing', 'packages', 'store'],
  privacy: ['licensing', 'mail', 'orders', 'packages', 'store', 'transfer'],
  selfservice: ['licensing', 'packages', 'store'],
  orders: ['licensing', 'mail', 'store', 'webhooks'],
  support: ['joomla', 'licensing', 'orders', 'packages', 'store'],
  doctor: [
    'access',
    'config',
    'http',
    'joomla',
    'licensing',
    'mail',
    'operations',
    'orders',
    'packages',
    'process',
    'settings',
    'store',
    'webhooks',
  ],
  cli: [
    'access',
    'config',
    'doctor',
    'http',
    'joomla',
    'licensing',
    'mail',
    'operations',
    'orders',
    'packages',
    'privacy',
    'process',
    'settings',
    'setup',
    'stored-settings',
    'support',
    'transfer',
    'webhooks',
    'work',
  ],
};
/** The command reaches rows through the rooms above the store; these files open the database, make it, and explain its errors. */
const OPEN_DATABASE = ['database', 'describe-error', 'init', 'migrate', 'upgrade'].map(
  (name) => `src/cli/${name}.ts`,
);
/** What every folder may import. The files import nothing of src/. */
const FLOOR = ['api', 'errors', 'quantity'];
/** The rooms below the texts; all others may import texts, too. */
const BELOW_TEXTS = ['licensing', 'store', 'packages', 'process', 'runner'];

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

const refuseImports = (files, regex, message) => ({
  files,
  rules: { 'no-restricted-imports': ['error', { patterns: [{ regex, message }] }] },
});

/** A folder's files, and those one folder deeper, whose way out begins with one step more. */
const layer = ([folder, others]) => {
  const allowed = [...others, ...FLOOR, ...(BELOW_TEXTS.includes(folder) ? [] : ['texts'])];
  const message = `src/${folder} may import from ${allowed.join(', ')} alone.`;
  const outside = `(?!(?:${allowed.join('|')})(?:/|$))`;
  return [
    refuseImports([`src/${folder}/*.{ts,tsx}`], `^\\.\\./${outside}`, message),
    refuseImports([`src/${folder}/*/*.{ts,tsx}`], `^\\.\\./\\.\\./${outside}`, message),
  ];
};

/** How an import of a file of texts that lies so deep leaves them. */
const out = (below) => `^${below.replaceAll('*', '\\.\\.')}\\.\\./`;

/** Of the rest of src/, texts know types of licensing and store, and nothing that runs. */
const floorOfTexts = (below) => ({
  files: [`src/texts/${below}*.ts`],
  rules: {
    '@typescript-eslint/no-restricted-imports': [
      'error',
      {
        patterns: [
          {
            regex: `${out(below)}(?:licensing|store)/`,
            message: 'src/texts imports only types of other folders.',
            allowTypeImports: true,
          },
          {
            regex: `${out(below)}(?!licensing/|store/)[a-z]+/`,
            message:
              'src/texts declares the facts that it tells of, or takes their types from licensing and store.',
          },
        ],
      },
    ],
  },
});

export default ts.config(
  { ignores: ['dist/', 'docs-site/', 'var/', 'node_modules/'] },
  js.configs.recommended,
  {
    files: ['**/*.{ts,tsx}'],
    extends: [ts.configs.strictTypeChecked, ts.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/consistent-type-definitions': ['error', 'interface'],
      '@typescript-eslint/no-confusing-void-expression': 'off',
      '@typescript-eslint/non-nullable-type-assertion-style': 'off',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
      '@typescript-eslint/prefer-nullish-coalescing': ['error', { ignorePrimitives: { string: true } }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      'no-restricted-properties': [
        'error',
        {
          object: 'process',
          property: 'env',
          message: 'src/config.ts is the only reader of the environment.',
        },
      ],
      'no-console': 'error',
      eqeqeq: 'error',
    },
  },
  // An old Node has to read the entry points before it can be refused, and knows no "??" (src/process/node-version.ts).
  { files: ENTRY_POINTS, rules: { '@typescript-eslint/prefer-nullish-coalescing': 'off' } },
  {
    files: ['src/http/document/page/*.js', 'php/**/*.js'],
    languageOptions: { sourceType: 'script', globals: { document: 'readonly', matchMedia: 'readonly' } },
  },
  {
    files: ['src/http/pages/script/*.js'],
    languageOptions: {
      sourceType: 'script',
      globals: Object.fromEntries(BROWSER.map((name) => [name, 'readonly'])),
    },
  },
  {
    files: ['**/*.cjs'],
    languageOptions: {
      globals: { process: 'readonly', console: 'readonly', require: 'readonly', __dirname: 'readonly' },
    },
  },
  {
    // It runs on Node 10.
    files: ['deploy/hosting/app.js'],
    languageOptions: {
      ecmaVersion: 2018,
      sourceType: 'commonjs',
      globals: { __filename: 'readonly', global: 'readonly', process: 'readonly' },
    },
    rules: { 'no-var': 'off', 'no-unused-vars': ['error', { caughtErrors: 'none' }] },
  },
  { files: ['**/*.mjs'], languageOptions: { globals: { process: 'readonly', console: 'readonly' } } },
  ...Object.entries(LAYERS).flatMap(layer),
  { files: OPEN_DATABASE, rules: layer(['cli', [...LAYERS.cli, 'store']])[0].rules },
  refuseImports(['src/api.ts', 'src/errors.ts'], '^\\.', 'It imports nothing of src/.'),
  refuseImports(
    ['migrations/**/*.ts'],
    '^(?:\\.\\./)+src/(?!store/transaction$)',
    'A migration must not change with the rules of src/ (decision 6).',
  ),
  ...['', '*/', '*/*/'].map((below) => floorOfTexts(below)),
  {
    files: ['test/**/*.ts', 'bench/**/*.ts', 'jest.config.ts'],
    rules: {
      'no-restricted-properties': 'off',
      'no-console': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
);
