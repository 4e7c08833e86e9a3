import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ConfigError } from '../../src/base/errors';
import {
  type ConfigurationValue,
  parseConfigurationPhp,
  readJoomlaSite,
} from '../../src/joomla/site/configuration';
import { explainDatabaseError } from '../../src/store/engine/error-messages';
import type { MysqlSettings } from '../../src/store/engine/mysql';
import { createAuthority } from '../support/certificates';
import { runs } from '../support/extent';

const authority = createAuthority();
const folder = mkdtempSync(join(tmpdir(), 'joomla-configuration-'));
let root: string;
let roots = 0;
beforeEach(() => {
  root = join(folder, `site${++roots}`);
  mkdirSync(root);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Writes values in the format of joomla-framework/registry 2 and 3 (Joomla 4 to 6), Format/Php.php. */
function written(values: Record<string, ConfigurationValue>): string {
  const lines = Object.entries(values).map(([name, value]) => `\tpublic $${name} = ${literal(value)};\n`);
  return `<?php\nclass JConfig {\n${lines.join('')}}`;
}
function literal(value: ConfigurationValue): string {
  return typeof value === 'string' ? `'${value.replace(/[\\']/g, '\\$&')}'` : String(value);
}

const JOOMLA_3 = `<?php
class JConfig {
	public $offline = '0';
	public $offline_message = 'This site is down for maintenance.<br />Please check back again soon.';
	public $sitename = 'L\\'atelier d\\'Émile';
	public $list_limit = '20';
	public $dbtype = 'mysqli';
	public $host = 'localhost';
	public $user = 'joomla3';
	public $password = 'it\\'s C:\\\\temp\\n "quoted" $HOME {$x}';
	public $db = 'joomla3';
	public $dbprefix = 'a1b2c_';
	public $live_site = '';
	public $gzip = '0';
	public $asset_id = '1';
	public $proxy = array("host" => "pro\\'xy", "list" => array("0" => "C:\\\\x", "1" => "\\"a\\""));
	public $session_handler = 'database';
}`;

const JOOMLA_4 = written({
  offline: false,
  sitename: 'Shop & Söhne',
  captcha: '0',
  list_limit: 20,
  access: 1,
  debug_lang_const: true,
  dbtype: 'mysqli',
  host: 'localhost',
  user: 'joomla',
  password: String.raw`ends with a backslash\ ` + '\\',
  db: 'joomla',
  dbprefix: 'jos_',
  dbencryption: 0,
  dbsslverifyservercert: false,
  dbsslkey: '',
  dbsslcert: '',
  dbsslca: '',
  dbsslcipher: '',
  secret: 'FBVtggIk5lAzEU9H',
  helpurl: 'https://help.joomla.org/proxy?keyref=Help{major}{minor}:{keyref}&lang={langcode}',
  cachetime: 15,
  log_path: '/var/www/html/administrator/logs',
});

const JOOMLA_5 = written({
  offline: false,
  sitename: 'Joomla 5',
  dbtype: 'mysql',
  host: 'db.example:3307',
  user: 'joomla',
  password: `?> <?php // # /* */ ' " \` $a {$b} \\' \\\\ <<<X`,
  db: 'joomla',
  dbprefix: 'x7k_',
  behind_loadbalancer: false,
  proxy_port: null,
  session_memcached_server_port: 11211,
  ratio: 0.75,
  offset_hours: -2,
  big: 1e25,
}).replace(
  /}$/,
  "\tpublic $session = array('a' => 'b', 'c' => array('0' => 1, '1' => true), 'd' => array());\n}",
);

const JOOMLA_6 = JOOMLA_5.replace("'x7k_'", "'y8l_'").replace(/}$/, '\tpublic $cors = false;\n}\n');

const BY_HAND = `\uFEFF<?PHP
/**
 * @package Joomla // ?> and <?php and ' and "
 */
# a line; /* no comment
Class jconfig
{ // {
  var $dbtype="mysqli" ; // Normally mysqli's
	PUBLIC $host /* the host */ = /* ' */ 'localhost'
  ;
  public $user = "plain \\d text", $ignored_not = 1;
}`.replace(', $ignored_not = 1', '');

const HANDMADE = [
  BY_HAND,
  '<?php class JConfig{}',
  "<?php\r\nclass JConfig {\r\n\tpublic $a = 'one\r\ntwo';\r\n}\r\n?>\r\n",
  '<?php\nclass JConfig { public $a = TRUE; public $b = Null; public $c = -1.5e-3; public $d = .5; public $e = 1.; public $f = +7; public $g = -0; }\n\n?>\n',
  "<?php class JConfig { public $a = [1, 'x' => [], -2 => ['y', ['z' => null,],],]; public $b = array ( ) ; public $c = 'after'; }",
  "<?php class JConfig { public $a = '\\n\\\\n\\'\\\\'; public $b = '\\\\\\''; public $c = '\\\"'; public $d = ''; public $e = '\\\\'; }",
  `<?php class JConfig { public $a = '/*'; public $b = '*/'; public $c = '// # ?>'; public $d = "it's /* no */ comment ?>"; }`,
  '<?php class JConfig { public $a = "50 $"; public $b = "$5 \\d {x} \\q"; public $émile = 1; public $A = 2; }',
  '<?php class JConfig { public$a=1;var$b=2;} // end ?> \n',
  '<?php class JConfig { public $a = 1; } # end',
  `<?php class JConfig { public $a = ["x \\" \\$y \\\\ " => "\\n{\\$z}"]; public $b = 1; }`,
];

describe('a configuration.php is read', () => {
  it('as Joomla 3.10 writes it', () => {
    const values = parseConfigurationPhp(JOOMLA_3);
    expect(values.get('sitename')).toBe("L'atelier d'Émile");
    expect(values.get('password')).toBe(`it's C:\\temp\\n "quoted" $HOME {$x}`);
    expect(values.get('list_limit')).toBe('20');
    expect(values.has('proxy')).toBe(false);
    expect(values.get('session_handler')).toBe('database');
  });

  it('as Joomla 4, 5 and 6 write it', () => {
    expect(parseConfigurationPhp(JOOMLA_4).get('password')).toBe('ends with a backslash\\ \\');
    const values = parseConfigurationPhp(JOOMLA_6);
    expect(values.get('password')).toBe(`?> <?php // # /* */ ' " \` $a {$b} \\' \\\\ <<<X`);
    expect(values.get('proxy_port')).toBeNull();
    expect(values.get('ratio')).toBe(0.75);
    expect(values.get('offset_hours')).toBe(-2);
    expect(values.get('behind_loadbalancer')).toBe(false);
    expect(values.get('dbprefix')).toBe('y8l_');
    expect(values.has('session')).toBe(false);
  });

  it('with the comments and the spacing of a file written by hand', () => {
    expect([...parseConfigurationPhp(BY_HAND)]).toEqual([
      ['dbtype', 'mysqli'],
      ['host', 'localhost'],
      ['user', 'plain \\d text'],
    ]);
  });

  it('whatever string Joomla wrote', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.stringMatching(/^[a-z_]\w{0,9}$/), anyText()), (values) => {
        expect(Object.fromEntries(parseConfigurationPhp(written(values)))).toEqual({ ...values });
      }),
    );
  });
});

const REFUSED: [what: string, body: string, words: RegExp][] = [
  ['a heredoc', 'public $a = <<<X\nsecret\nX;', /heredoc/],
  ['a nowdoc', "public $a = <<<'X'\nsecret\nX;", /heredoc/],
  ['a concatenation', "public $a = 'sec' . 'ret';", /";" is expected after the value of \$a/],
  ['a sum', 'public $a = 1 + 1;', /";" is expected/],
  ['a function call', "public $a = getenv('secret');", /function call/],
  ['a constant', 'public $a = secret;', /constant/],
  ['a class constant', 'public $a = \\Secret::X;', /constant/],
  ['interpolation', 'public $a = "secret$x";', /single quotes/],
  ['interpolation in braces', 'public $a = "secret{$x}";', /single quotes/],
  ['an escape in double quotes', 'public $a = "secret\\n";', /single quotes/],
  ['a hexadecimal escape', 'public $a = "\\x41";', /single quotes/],
  ['interpolation in an array', 'public $a = array("secret$x");', /single quotes/],
  ['backticks', 'public $a = `secret`;', /expression or other code/],
  ['an octal number', 'public $a = 0755;', /leading zero/],
  ['a hexadecimal number', 'public $a = 0x1F;', /form Joomla does not write/],
  ['a number with underscores', 'public $a = 1_000;', /form Joomla does not write/],
  ['a number beyond exactness', 'public $a = 9007199254740993;', /too large/],
  ['a negated expression', 'public $a = - 1;', /expression/],
  ['INF', 'public $a = INF;', /constant/],
  ['an unfinished string', "public $a = 'secret;", /string without an end/],
  ['a string that ends too early', "public $a = 'sec'ret';", /";" is expected/],
  ['an unfinished array', "public $a = array('secret'", /"," is expected/],
  ['an array without commas', "public $a = ['secret' 'x'];", /"," is expected/],
  ['an array with a lonely comma', 'public $a = [,];', /must be a string/],
  ['an array as a key', 'public $a = [[] => 1];', /array as a key/],
  ['an array without a bottom', `public $a = ${'['.repeat(5000)}`, /nested too deep/],
  ['an unfinished comment', 'public $a = 1; /* secret', /comment without an end/],
  ['a property set twice', "public $a = 'x'; public $a = 'secret';", /\$a is set a second time/],
  ['an array set twice', 'public $a = []; public $a = [];', /\$a is set a second time/],
  ['a property without a value', 'public $a;', /"=" and a value are expected after \$a/],
  ['two properties in one', 'public $a = 1, $b = 2;', /";" is expected/],
  ['a static property', "public static $a = 'secret';", /"public \$name = value;" is expected/],
  ['a typed property', "public string $a = 'secret';", /"public \$name = value;" is expected/],
  ['a private property', "private $a = 'secret';", /"public \$name = value;" is expected/],
  ['a class constant', "const A = 'secret';", /"public \$name = value;" is expected/],
  ['a method', 'public function f() {}', /"public \$name = value;" is expected/],
  ['an attribute', '#[secret] public $a = 1;', /"public \$name = value;" is expected/],
  ['the closing tag inside the class', 'public $a = 1; ?> secret', /closing tag/],
  ['the closing tag in a line comment', 'public $a = 1; // x ?> secret', /closing tag/],
];

describe('a configuration.php is refused in words, with the line and without a value, for', () => {
  it.each(REFUSED)('%s', (_what, body, words) => {
    const message = refusal(() => parseConfigurationPhp(`<?php\nclass JConfig {\n${body}\n}`));
    expect(message).toMatch(words);
    expect(message).toMatch(/^line \d+: /);
    expect(message).not.toMatch(/secret/i);
  });

  it.each([
    ['', 'line 1: the file must begin with <?php'],
    ['hello <?php class JConfig {}', 'line 1: the file must begin with <?php'],
    ['<?= 1 ?><?php class JConfig {}', 'line 1: the file must begin with <?php'],
    ["<?php\n\ndefined('_JEXEC') or die;\nclass JConfig {}", 'line 3: "class JConfig {" is expected'],
    ['<?php\nnamespace A;\nclass JConfig {}', 'line 2: "class JConfig {" is expected'],
    ['<?php\nclass Other {}', 'line 2: "class JConfig {" is expected'],
    ['<?php\nclass JConfig extends Other {}', 'line 2: "class JConfig {" is expected'],
    ['<?php\nclass JConfig {}\nexit;', 'line 3: nothing may follow the class'],
    ['<?php\nclass JConfig {}\n?>\n<html>', 'line 4: nothing may follow the class'],
    ['<?php\rclass JConfig {\r\npublic $a = 1;\n\nsecret }', 'line 5: "public $name = value;" is expected'],
    [`<?php class JConfig {}${' '.repeat(1_000_001)}`, 'line 1: the file is too long'],
  ])('code outside the class (%#)', (source, words) => {
    expect(refusal(() => parseConfigurationPhp(source))).toContain(words);
  });

  it('any text that it cannot read, and reading always ends', () => {
    const tokens = fc.constantFrom(...TOKENS);
    const body = fc.array(fc.oneof(tokens, anyText()), { maxLength: 60 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(
        fc.oneof(
          anyText(),
          body,
          body.map((text) => `<?php class JConfig {${text}`),
        ),
        (source) => {
          try {
            expect(parseConfigurationPhp(source)).toBeInstanceOf(Map);
          } catch (error) {
            if (!(error instanceof ConfigError)) throw error;
          }
        },
      ),
      { numRuns: runs(500, 2_000) },
    );
    for (const piece of ["'\\", '/*', '//', '[', 'array(', '"\\"', "''", '#', ' ', '\\', '1', 'public $a = '])
      expect(refusal(() => parseConfigurationPhp(`<?php class JConfig {${piece.repeat(80_000)}`))).toMatch(
        /^line 1: /,
      );
  });
});

const TOKENS = [
  ...[
    ' ',
    '\n',
    "'",
    '"',
    '\\',
    '$',
    '$a',
    '{',
    '}',
    '[',
    ']',
    '(',
    ')',
    ',',
    ';',
    '=',
    '=>',
    '.',
    '?>',
    '<?php',
  ],
  ...[
    '//',
    '#',
    '#[',
    '/*',
    '*/',
    '<<<',
    'array',
    'public',
    'var',
    'static',
    'true',
    'null',
    '0',
    '1',
    '-',
    '+',
    'e5',
  ],
  ...[
    '\\n',
    '{$',
    '${',
    "'x'",
    '"y"',
    '[1]',
    'public $z = 1;',
    '\\\\',
    "\\'",
    '_',
    'é',
    '\f',
    '\0',
    '?',
    ':',
  ],
];

/**
 * PHP's own reading of a file, without arrays; `undefined` if PHP fails. Without php (Debian: php-cli) these tests are
 * skipped.
 */
const READ_BY_PHP = `
  foreach (json_decode(stream_get_contents(STDIN)) as $file) {
    ob_start(); require $file; ob_end_clean();
    $values = array_filter(get_object_vars(new JConfig), fn ($value) => !is_array($value));
    echo json_encode((object) $values, JSON_THROW_ON_ERROR | JSON_PRESERVE_ZERO_FRACTION);
  }`;
function readByPhp(source: string): unknown {
  const file = join(root, 'by-php.php');
  writeFileSync(file, source);
  const options = ['-n', '-d', 'display_errors=0', '-d', 'log_errors=0', '-r', READ_BY_PHP];
  const { status, stdout } = spawnSync('php', options, { input: JSON.stringify([file]), encoding: 'utf8' });
  return status === 0 ? (JSON.parse(stdout) as unknown) : undefined;
}
const withPhp = spawnSync('php', ['-v']).status === 0 ? describe : describe.skip;

withPhp('PHP reads the same from', () => {
  it.each([JOOMLA_3, JOOMLA_4, JOOMLA_5, JOOMLA_6, ...HANDMADE])('the file %#', (source) => {
    expect(Object.fromEntries(parseConfigurationPhp(source))).toEqual(readByPhp(source));
  });

  it('any string Joomla writes', () => {
    const values = Object.fromEntries(fc.sample(anyText(), 1000).map((text, index) => [`p${index}`, text]));
    expect(readByPhp(written(values))).toEqual(values);
  });

  it('a file that was damaged, if it is accepted at all', () => {
    const originals = [JOOMLA_3, JOOMLA_5, ...HANDMADE];
    const damage = fc.record({
      source: fc.constantFrom(...originals),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      removed: fc.nat(3),
      added: fc.array(fc.constantFrom(...TOKENS), { maxLength: 3 }),
    });
    fc.assert(
      fc.property(damage, ({ source, at, removed, added }) => {
        const start = Math.floor(at * source.length);
        const damaged = source.slice(0, start) + added.join('') + source.slice(start + removed);
        let read: unknown;
        try {
          read = Object.fromEntries(parseConfigurationPhp(damaged));
        } catch {
          return;
        }
        expect(read).toEqual(readByPhp(damaged));
      }),
      { numRuns: runs(60, 300) },
    );
  });
});

describe("a site's database is reached", () => {
  const socket = join(folder, 'mysqld.sock');
  const sockets = [join(folder, 'none.sock'), socket, join(folder, 'second.sock')];
  writeFileSync(socket, '');
  writeFileSync(sockets[2]!, '');
  const bySocket = (socketPath: string) => ({ host: 'localhost', port: 3306, socketPath });

  it('with user, password, database and prefix', () => {
    site({ host: 'db.example', user: 'u', password: "p'\\", db: 'd', dbprefix: 'jos_', dbtype: 'MySQLi' });
    expect(readJoomlaSite(root)).toMatchObject({
      database: {
        kind: 'mysql',
        host: 'db.example',
        port: 3306,
        user: 'u',
        password: "p'\\",
        database: 'd',
      },
      tablePrefix: 'jos_',
    });
  });

  it.each<[string, Partial<MysqlSettings>]>([
    ['localhost', bySocket(socket)],
    ['LocalHost', bySocket(socket)],
    ['localhost:/srv/my.sock', bySocket('/srv/my.sock')],
    [':/srv/my.sock', bySocket('/srv/my.sock')],
    ['unix:/srv/my.sock', bySocket('/srv/my.sock')],
    ['db.example', { host: 'db.example', port: 3306 }],
    ['db.example:3307', { host: 'db.example', port: 3307 }],
    ['joomla_db:3307', { host: 'joomla_db', port: 3307 }],
    ['db.example:/srv/my.sock', { host: 'db.example', port: 3306 }],
    ['127.0.0.1', { host: '127.0.0.1', port: 3306 }],
    ['127.0.0.1:3307', { host: '127.0.0.1', port: 3307 }],
    ['::1', { host: '::1', port: 3306 }],
    ['[::1]', { host: '::1', port: 3306 }],
    ['[::1]:3307', { host: '::1', port: 3307 }],
    ['[fe80:102::2%eth1]:3306', { host: 'fe80:102::2%eth1', port: 3306 }],
  ])('at the host %s by either driver', (host, expected) => {
    for (const dbtype of ['mysqli', 'mysql', 'pdomysql']) expect(located({ host, dbtype })).toEqual(expected);
  });

  it.each(['localhost:3307', ':3307'])(
    'at %s by the socket with mysqli, by TCP with PDO, as in PHP',
    (host) => {
      expect(located({ host, dbtype: 'mysqli' })).toEqual(bySocket(socket));
      expect(located({ host, dbtype: 'mysql' })).toEqual({ host: 'localhost', port: 3307 });
    },
  );

  it('at localhost by TCP if no socket exists, and the failure names the sockets that were tried', () => {
    const none = [join(folder, 'none.sock'), join(folder, 'nor-this.sock')];
    const database = located({ host: 'localhost' }, none);
    expect(database).toEqual({ host: 'localhost', port: 3306, missingSockets: none });
    const settings = { kind: 'mysql', user: 'u', password: 'p', database: 'd', ...database } as MysqlSettings;
    const refused = Object.assign(new Error(), { code: 'ECONNREFUSED' });
    expect(explainDatabaseError(refused, settings, 'configuration.php').reason).toBe(
      `no server listens there, and there is no socket ${none.join(' or ')} (ECONNREFUSED)`,
    );
    expect(located({ host: 'localhost' }, [])).toEqual({ host: 'localhost', port: 3306 });
    expect(located({ host: 'localhost:3307', dbtype: 'mysqli' }, [])).toEqual({
      host: 'localhost',
      port: 3307,
    });
  });

  it.each([
    'tcp://db',
    'p:db',
    'db:0',
    'db:70000',
    'db:x',
    '[db]',
    '[::1',
    'a b',
    '/srv/my.sock',
    'a:1:2',
    'unix:',
  ])('not at %s', (host) => {
    site({ host });
    expect(refusal(() => readJoomlaSite(root))).toContain('$host must be a name or address');
  });

  it('with numbers as they are sometimes written by hand', () => {
    site({ password: 12345, user: '0' });
    expect(readJoomlaSite(root).database).toMatchObject({ password: '12345', user: '0' });
  });

  it('without TLS when Joomla uses none', () => {
    for (const dbencryption of [0, '0', '', false, null]) {
      site({ dbencryption, dbsslca: '/nowhere/ca.pem' });
      expect(readJoomlaSite(root).database.tls).toBeUndefined();
    }
  });

  it('with TLS one way, the certificate unverified or verified', () => {
    // PHP does not open the authority's file if it does not verify the certificate.
    site({ dbencryption: 1, dbsslverifyservercert: false, dbsslca: 'none', dbsslkey: '', dbsslcert: '' });
    expect(readJoomlaSite(root).database.tls).toEqual({ verify: false });
    copyFileSync(authority.ca, join(root, 'ca.pem'));
    site({
      dbencryption: '1',
      dbsslverifyservercert: true,
      dbsslca: ` ${root}/ca.pem `,
      dbsslcipher: 'AES128',
    });
    expect(readJoomlaSite(root).database.tls).toEqual({
      ca: readFileSync(authority.ca, 'utf8'),
      ciphers: 'AES128',
      verify: true,
    });
  });

  it('with TLS both ways', () => {
    const { cert, key } = authority.issue('DNS:client');
    copyFileSync(authority.ca, join(root, 'ca.pem'));
    const files = { dbsslca: 'ca.pem', dbsslcert: cert, dbsslkey: key };
    site({ dbencryption: 2, dbsslverifyservercert: '1', ...files });
    const [ca, ...own] = [authority.ca, cert, key].map((path) => readFileSync(path, 'utf8'));
    expect(readJoomlaSite(root).database.tls).toEqual({ verify: true, ca, cert: own[0], key: own[1] });
  });

  it('not when a certificate is missing, or is not a certificate', () => {
    site({ dbencryption: 2, dbsslkey: '/nowhere/key.pem' });
    const message = refusal(() => readJoomlaSite(root));
    expect(message).toContain('/nowhere/key.pem cannot be read (ENOENT)');
    expect(message).toContain('$dbsslkey');
    site({ dbencryption: 1, dbsslverifyservercert: true, dbsslca: 'configuration.php' });
    expect(refusal(() => readJoomlaSite(root))).toContain(
      `configuration.php, which is $dbsslca of ${root}/configuration.php, cannot be used (no start line)`,
    );
  });

  it.each(['pgsql', 'postgresql', 'sqlsrv', 'sqlite', 'mongodb'])(
    'not when it is of the type %s',
    (dbtype) => {
      site({ dbtype });
      const message = refusal(() => readJoomlaSite(root));
      expect(message).toContain('$dbtype is not a MySQL driver');
      expect(message).toContain('set LICENSING_DATABASE_URL');
    },
  );

  it.each(['host', 'user', 'db'])('not when $%s is missing, empty or not a text', (name) => {
    const message = `${join(root, 'configuration.php')}: $${name} is missing or empty. Set it in`;
    for (const value of ['', null]) {
      site({ [name]: value });
      expect(refusal(() => readJoomlaSite(root))).toContain(message);
    }
    writeFileSync(join(root, 'configuration.php'), written(complete({})).replace(`$${name} `, '$other '));
    expect(refusal(() => readJoomlaSite(root))).toContain(message);
    site({ [name]: true });
    expect(refusal(() => readJoomlaSite(root))).toContain(`$${name} must be a string`);
  });

  it('not without a file, with an empty one, or with something other than a file', () => {
    const file = join(root, 'configuration.php');
    expect(refusal(() => readJoomlaSite(root))).toContain(`There is no ${file}`);
    expect(refusal(() => readJoomlaSite(root))).not.toContain('defines.php');
    writeFileSync(join(root, 'defines.php'), '<?php');
    expect(refusal(() => readJoomlaSite(root))).toContain(
      'The defines.php there may set JPATH_CONFIGURATION',
    );
    expect(refusal(() => readJoomlaSite(join(root, 'defines.php')))).toContain('There is no ');
    writeFileSync(file, '');
    expect(refusal(() => readJoomlaSite(root))).toContain(`${file} is empty`);
    writeFileSync(file, Buffer.from(written(complete({ password: 'é' })), 'latin1'));
    expect(refusal(() => readJoomlaSite(root))).toContain(`${file} is not in UTF-8`);
    writeFileSync(file, '<?php\nclass JConfig {\n  public $a = SECRET;\n}');
    expect(refusal(() => readJoomlaSite(root))).toMatch(
      /configuration\.php, line 3: the value of \$a must be/,
    );
    rmSync(file);
    mkdirSync(file);
    expect(refusal(() => readJoomlaSite(root))).toContain(`${file} is not a file`);
  });

  // root may read every file.
  (process.getuid?.() === 0 ? it.skip : it)('not from a file that this user may not read', () => {
    site({});
    chmodSync(join(root, 'configuration.php'), 0);
    expect(refusal(() => readJoomlaSite(root))).toContain('configuration.php cannot be read (EACCES)');
  });

  function located(values: Record<string, ConfigurationValue>, places = sockets): Partial<MysqlSettings> {
    site(values);
    const { host, port, socketPath, missingSockets } = readJoomlaSite(root, places).database;
    return {
      ...{ host, port },
      ...(socketPath !== undefined && { socketPath }),
      ...(missingSockets && { missingSockets }),
    };
  }
});

function complete(values: Record<string, ConfigurationValue>): Record<string, ConfigurationValue> {
  const usual = {
    dbtype: 'mysqli',
    host: 'db.example',
    user: 'u',
    password: 'secret',
    db: 'd',
    dbprefix: 'jos_',
  };
  return { ...usual, ...values };
}

function site(values: Record<string, ConfigurationValue>): void {
  writeFileSync(join(root, 'configuration.php'), written(complete(values)));
}

function refusal(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('It was accepted.');
}

function anyText(): fc.Arbitrary<string> {
  const ordinary = fc.string({ unit: 'binary', maxLength: 40 });
  const hostile = fc.string({
    unit: fc.constantFrom('\\', "'", '"', '$', '\n', '\r', '?>', '/*', '//', 'a', '\0'),
  });
  return fc.oneof(ordinary, hostile);
}
