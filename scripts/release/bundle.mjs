import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { build } from 'esbuild';
import { HttpMethodEnum, KoaBodyMiddlewareOptionsSchema } from 'koa-body';
import { transform } from '@swc/core';
import { moveToParts } from './parts.mjs';

/**
 * Bundles the command, the service and the demo, each with its parts of node_modules. A module is evaluated at the
 * first use of its exports, not at its import: a command needs a tenth of its imports.
 */

const root = join(import.meta.dirname, '../..');

/** Packages that cannot be bundled: libsql loads a compiled file. */
export const BESIDE = ['libsql'];

/** Drivers that Knex names and this program does not use. */
const UNUSED_DRIVERS = [
  ...[
    'better-sqlite3',
    'mariadb',
    'mysql',
    'oracledb',
    'pg',
    'pg-native',
    'pg-query-stream',
    'sqlite3',
    'tedious',
  ],
  'mariadb/callback',
];

/** The writer of XML that the CycloneDX library uses if it is installed. It is used for JSON only. */
const UNUSED_XML = ['xmlbuilder2'];

const UNUSED_DIALECTS = /^\.\/(?:cockroachdb|mariadb|mssql|oracle|oracledb|pgnative|postgres|redshift)$/;

/**
 * Patches of packages whose import does work that few uses need, each with the saving of a start on Node 20.20, where
 * `node -e 0` takes 100 ms. A patch that saves less than 10 ms or 2 MB is not worth its upkeep. Each text must exist,
 * so that an update of the package cannot bypass it.
 */
const EASED = [
  {
    // Saves 20 ms and 1 MB: 700 KB of tables of old encodings, although databases answer and bodies are read in UTF-8
    file: 'iconv-lite/encodings/index.js',
    from: [
      /\s+require\("\.\/sbcs-data-generated"\),/g,
      /\s+require\("\.\/dbcs-codec"\),/g,
      /require\("\.\/dbcs-data"\)/g,
    ],
    to: ['', '', '{}'],
  },
  {
    // Saves 90 ms and 6 MB, for commands that migrate
    file: 'knex/lib/knex-builder/make-knex.js',
    from: [
      "const { Migrator } = require('../migrations/migrate/Migrator');",
      'new Migrator(this)',
      "const Seeder = require('../migrations/seed/Seeder');",
      'new Seeder(this)',
    ],
    to: [
      '',
      "new (require('../migrations/migrate/Migrator').Migrator)(this)",
      '',
      "new (require('../migrations/seed/Seeder'))(this)",
    ],
  },
  {
    // Saves 4 MB at the first body that is read, for forms with files
    file: 'koa-body/dist/commonjs/utils/parse-with-formidable.js',
    from: ['const formidable_1 = __importDefault(require("formidable"));', '(0, formidable_1.default)('],
    to: ['', '__importDefault(require("formidable")).default('],
  },
  {
    // Saves 70 ms and 6 MB, for metrics with examples of traces
    file: 'prom-client/lib/metrics/processCpuTotal.js',
    from: [/^const OtelApi = require\('@opentelemetry\/api'\);$/gm, /\bOtelApi\b/g],
    to: ['', "require('@opentelemetry/api')"],
  },
];

const ours = new RegExp(
  `^${root.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}/(?:src|migrations|seeds)/.*\\.tsx?$`,
);

/** The function to which swc compiles an import that is evaluated at its use. */
const GETTER =
  /^function (\w+)\(\) \{\s+const data = require\("(\.[^"]+)"\);\s+\1 = function\(\) \{\s+return data;\s+\};\s+return data;\s+\}\n/gm;

/** Removes these functions, because a bundle's own require() already is one, and there are 5,000 of these imports. */
function withoutGetters(code) {
  const paths = new Map();
  const rest = code.replace(GETTER, (_, name, path) => {
    paths.set(name, path);
    return '';
  });
  return rest.replace(/\b(_\w+)\(\)/g, (call, name) =>
    paths.has(name) ? `require("${paths.get(name)}")` : call,
  );
}

/** Compiles our own files with imports that are evaluated at their use. */
const lazyImports = {
  name: 'lazy imports',
  setup(bundle) {
    bundle.onLoad({ filter: ours }, async ({ path }) => {
      const source = readFileSync(path, 'utf8');
      const names = [...source.matchAll(/\bfrom\s+'([^']+)'/g)].map(([, name]) => name);
      const { code } = await transform(source, {
        swcrc: false,
        configFile: false,
        filename: path,
        module: {
          type: 'commonjs',
          importInterop: 'node',
          lazy: [...new Set([...names, 'hono/jsx/jsx-runtime'])],
        },
        jsc: {
          target: 'es2023',
          parser: { syntax: 'typescript', tsx: path.endsWith('x') },
          transform: { react: { runtime: 'automatic', importSource: 'hono/jsx' } },
        },
      });
      return { contents: withoutGetters(code), loader: 'js', resolveDir: dirname(path) };
    });
    // Resolve import('../cli/init.js') to init.ts, from which the build makes it.
    bundle.onResolve({ filter: /^\.\.?\/.*\.js$/ }, ({ path, importer, resolveDir }) => {
      const typed = join(resolveDir, path.replace(/\.js$/, '.ts'));
      return ours.test(importer) && existsSync(typed) ? { path: typed } : undefined;
    });
  },
};

/** Validates koa-body's options once at the build. Otherwise it loads zod, which takes 1 MB and 20 ms. */
const judgedOptions = {
  name: 'judged options',
  setup(bundle) {
    const defaults = JSON.stringify(KoaBodyMiddlewareOptionsSchema.parse({}));
    const contents =
      `exports.HttpMethodEnum = ${JSON.stringify(HttpMethodEnum)};\n` +
      `exports.KoaBodyMiddlewareOptionsSchema = { parse: (options) => ({ ...${defaults}, ...options }) };\n`;
    bundle.onLoad({ filter: /\/node_modules\/koa-body\/dist\/commonjs\/types\.js$/ }, () => ({
      contents,
      loader: 'js',
    }));
  },
};

/**
 * Maps each installed package's folder to the one to bundle: one of each version. There is only one table of media
 * types, the newest, because a second one takes 1 MB of memory.
 */
function foldersToBundle() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const installed = Object.entries(packages).filter(([folder]) => folder !== '');
  const keyOf = ([folder, { version }]) => {
    const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
    return name === 'mime-db' ? name : `${name} ${version}`;
  };
  const byVersion = ([, one], [, other]) =>
    other.version.localeCompare(one.version, 'en', { numeric: true }) || 0;
  const chosen = new Map();
  // The sort is stable: of equal versions, the first folder of the lock file is chosen.
  for (const one of installed.sort(byVersion)) if (!chosen.has(keyOf(one))) chosen.set(keyOf(one), one[0]);
  return new Map(installed.map((one) => [one[0], chosen.get(keyOf(one))]));
}

/** Bundles a package once that is installed several times. */
const onceEach = {
  name: 'once each',
  setup(bundle) {
    const folders = foldersToBundle();
    bundle.onLoad({ filter: /\/node_modules\/.*\.(?:c?js|json)$/ }, ({ path }) => {
      const at = path.lastIndexOf('/node_modules/') + '/node_modules/'.length;
      const name = path
        .slice(at)
        .split('/', path[at] === '@' ? 2 : 1)
        .join('/');
      const folder = path.slice(root.length + 1, at) + name;
      const other = folders.get(folder);
      if (other === undefined || other === folder) return undefined;
      const file = join(root, other, path.slice(at + name.length));
      return { contents: `module.exports = require(${JSON.stringify(file)});`, loader: 'js' };
    });
  },
};

const ease = {
  name: 'ease',
  setup(bundle) {
    for (const { file, from, to } of EASED)
      bundle.onLoad({ filter: new RegExp(`/node_modules/${file.replaceAll('.', '\\.')}$`) }, ({ path }) => {
        let contents = readFileSync(path, 'utf8');
        for (const [i, text] of from.entries()) {
          const eased = contents.replaceAll(text, to[i]);
          if (eased === contents)
            throw new Error(`${file} no longer contains ${text}. See scripts/release/bundle.mjs.`);
          contents = eased;
        }
        return { contents, loader: 'js' };
      });
    bundle.onResolve({ filter: UNUSED_DIALECTS }, ({ path, importer }) =>
      importer.endsWith('/knex/lib/dialects/index.js') ? { path, external: true } : undefined,
    );
  },
};

/**
 * Escapes letters of regular expressions, which esbuild leaves unchanged. They would double the memory of the whole
 * source: V8 keeps a text with one letter beyond Latin-1 as UTF-16.
 */
function inAscii(text) {
  return text.replace(/[^\0-\x7f]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const packages = (...names) => `node_modules/(?:${names.join('|')})/`;

const MAIL = packages('nodemailer');
const REDIS = packages(
  ...['@ioredis', 'cluster-key-slot', 'denque', 'ioredis', 'rate-limiter-flexible', 'redis-errors'],
  ...['redis-parser', 'standard-as-callback'],
);
/** Parts that few requests and commands need. */
const LATER = [
  'node_modules/mysql2/lib/constants/errors',
  packages(
    ...['@fastify', '@noble', '@opentelemetry', '@xmldom', 'csv-parse', 'entities', 'formidable', 'hono'],
    ...['object-inspect', 'qs', 'send', 'tldts', 'yauzl', 'yazl'],
  ),
];

/** The part that only the publishing of a version with lock files needs. */
const SBOM = packages('@cyclonedx');

/** Parts that a service needs rarely or in few installations, in files of their own. */
const SERVICE_PARTS = {
  redis: REDIS,
  mail: MAIL,
  sbom: SBOM,
  operators: [
    '^src/http/(?:pages|api|document|hooks|operator-router|public-keys)\\b',
    '^src/access/idempotency',
    '^src/(?:cli|operations|overview|privacy|selfservice|support|transfer)/',
    '^src/doctor/(?!xml-reach)',
    '^src/(?:store/columns|licensing/schemas)/',
    '^src/texts/(?!customers/languages)',
    '^src/orders/adapters/',
    '^src/joomla/(?!formerly|site/api-tokens)',
    '^src/packages/(?!package-files)',
    'node_modules/knex/lib/migrations/',
    packages('ajv', 'fast-uri'),
    ...LATER,
  ].join('|'),
};

/** Parts that most commands do not need. */
const COMMAND_PARTS = {
  sbom: SBOM,
  later: [
    ...['^src/(?:doctor|overview|support|transfer)/', '^src/http/(?!server)'],
    ...['^src/orders/adapters/', REDIS, MAIL, ...LATER],
  ].join('|'),
};

const PARTS = { command: COMMAND_PARTS, hosting: SERVICE_PARTS, service: SERVICE_PARTS };

/**
 * Writes FOLDER/command.js, service.js, demo.js and hosting.js, and their parts, such as service/mail.js.
 * @returns esbuild's description of the contents
 */
export async function bundle(folder) {
  const { metafile, outputFiles } = await build({
    absWorkingDir: root,
    write: false,
    entryPoints: {
      command: 'src/cli.ts',
      service: 'src/main.ts',
      demo: 'src/demo.ts',
      hosting: 'src/hosting.ts',
    },
    outdir: folder,
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    format: 'cjs',
    minifySyntax: true,
    // Keep names for stack traces. Reading the file takes a tenth of a start, so remove blanks.
    minifyWhitespace: true,
    lineLimit: 160,
    legalComments: 'none',
    external: [...BESIDE, ...UNUSED_DRIVERS, ...UNUSED_XML],
    // Use Typebox's modules, which need far fewer steps to evaluate than its CommonJS.
    alias: { '@sinclair/typebox': join(root, 'node_modules/@sinclair/typebox/build/esm/index.mjs') },
    plugins: [lazyImports, judgedOptions, ease, onceEach],
    metafile: true,
    logLevel: 'warning',
  });
  mkdirSync(folder, { recursive: true });
  for (const { path, text } of outputFiles) {
    const { text: own, files } = moveToParts(inAscii(text), PARTS[basename(path, '.js')] ?? {});
    writeFileSync(path, own);
    const beside = path.replace(/\.js$/, '');
    for (const [name, part] of Object.entries(files)) {
      mkdirSync(beside, { recursive: true });
      writeFileSync(join(beside, `${name}.js`), part);
    }
  }
  return metafile;
}
