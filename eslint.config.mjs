import js from '@eslint/js';
import ts from 'typescript-eslint';

/** The arrows of the architecture: which folders a folder may not import from. */
const layer = (folder, ...forbidden) => ({
  files: [`src/${folder}/**/*.ts`],
  rules: {
    'no-restricted-imports': [
      'error',
      {
        patterns: forbidden.map((name) => ({
          group: [`**/${name}/**`, `**/${name}`, `**/${name}.js`],
          message: `src/${folder} must not know ${name}: arrows run main|cli -> http -> licensing -> store.`,
        })),
      },
    ],
  },
});

export default ts.config(
  { ignores: ['dist/', 'var/', 'node_modules/'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
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
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
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
  { files: ['**/*.mjs'], languageOptions: { globals: { process: 'readonly', console: 'readonly' } } },
  layer('store', 'http', 'licensing', 'transfer', 'support', 'cli', 'joomla', 'config', 'main'),
  layer('licensing', 'http', 'transfer', 'support', 'cli', 'joomla', 'config', 'main'),
  layer('transfer', 'http', 'support', 'cli', 'joomla', 'config', 'main'),
  layer('support', 'http', 'cli', 'joomla', 'config', 'main'),
  layer('joomla', 'http', 'cli', 'config', 'main'),
  layer('http', 'transfer', 'support', 'cli', 'main'),
  layer('cli', 'main'),
  {
    files: ['test/**/*.ts', 'bench/**/*.ts', 'jest.config.ts'],
    rules: {
      'no-restricted-properties': 'off',
      'no-console': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
);
