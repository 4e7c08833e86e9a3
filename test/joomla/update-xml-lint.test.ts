import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { writeUpdateXml } from '../../src/joomla/update-xml/write';
import { lintUpdateXml, lintUpdateXmlAt } from '../../src/joomla/lint/lint';
import { accidentalMatches } from '../../src/joomla/target-platform';
import { parseXml } from '../../src/joomla/xml';
import { withdrawRelease } from '../../src/packages/releases';
import { operator, type Operator } from '../support/operator';
import { giveRelease, makePackage, zipOf } from '../support/packages';
import { php } from '../support/php-xml';
import { temporaryFolder } from '../support/processes';
import {
  createMariaDbDatabase,
  giveLicense,
  givePlan,
  PREFIX,
  startTestService,
  type TestService,
} from '../support/service';
import { startStaticSite, type StaticSite } from '../support/static-site';

/** A correct update XML. */
const GOOD = `<?xml version="1.0" encoding="UTF-8"?>
<updates>
  <update>
    <name>Example</name>
    <description>Example</description>
    <element>pkg_example</element>
    <type>package</type>
    <version>2.0.0</version>
    <client>site</client>
    <infourl title="Example">https://shop.example/</infourl>
    <downloads>
      <downloadurl type="full" format="zip">https://shop.example${PREFIX}/downloads/42?version=2.0.0</downloadurl>
    </downloads>
    <sha256>${'a'.repeat(64)}</sha256>
    <sha512>${'B'.repeat(128)}</sha512>
    <tags><tag>stable</tag></tags>
    <targetplatform name="joomla" version="5\\.[0-9]+"/>
    <php_minimum>8.1</php_minimum>
    <supported_databases mysql="8.0.13" mariadb="10.4"/>
  </update>
</updates>
`;

const replaced = (from: string | RegExp, to: string) => {
  const text = GOOD.replace(from, to);
  expect(text).not.toBe(GOOD);
  return text;
};
const element = (name: string, content: string) =>
  replaced(
    new RegExp(`<${name}[^>]*>[^<]*</${name}>`),
    content === '' ? '' : `<${name}>${content}</${name}>`,
  );
const platform = (version: string) => replaced('5\\.[0-9]+', version);
const download = (rest: string) => replaced('/42?version=2.0.0', rest);
const lint = async (text: string, url?: string) =>
  (await lintUpdateXml(Buffer.from(text), {}, url === undefined ? undefined : new URL(url))).map(
    ({ level, code, problem }) => `${level} ${code}: ${problem}`,
  );

describe('"update-xml lint" on a file', () => {
  it.each([
    ['as it should be', () => GOOD],
    [
      'with names in other cases, which Joomla does not mind',
      () => GOOD.replaceAll('client>', 'CLIENT>').replace('<tag>stable', '<tag>Stable'),
    ],
    [
      'with blanks around the download address, which Joomla takes off',
      () => replaced(/(<downloadurl[^>]*>)([^<]*)/, '$1\n  $2\n '),
    ],
    ['in CDATA sections', () => element('name', '<![CDATA[A & B]]>')],
    [
      'of a component',
      () =>
        replaced('package</type>', 'component</type>')
          .replace('pkg_', 'com_')
          .replace('site</client>', 'administrator</client>'),
    ],
    [
      'of a component without a client',
      () =>
        replaced('package</type>', 'component</type>')
          .replace('pkg_', 'com_')
          .replace('<client>site</client>', ''),
    ],
    [
      'of a plugin',
      () => replaced('package</type>', 'plugin</type><folder>system</folder>').replace('pkg_', ''),
    ],
    ['for several versions of Joomla', () => platform('(4\\.4|5|6)')],
    ['for Joomla 5.1 alone', () => platform('5\\.1\\.')],
    ['for all of Joomla 5 by one digit', () => platform('5.[0-9]')],
    ['for what begins with a digit', () => platform('[45]')],
    ['for what begins so, and anything after it', () => platform('(4|5).*')],
    ['for digits by their class', () => platform('5\\.[[:digit:]]+')],
    ['for digits with a flag in front', () => platform('(?i)5\\.[0-9]+')],
    ['for a group with a name', () => platform('(?P&lt;major>5|6)\\.[0-9]+')],
    ['for all three numbers', () => platform('[4-6]\\.[0-9]+\\.[0-9]+')],
    ['for three numbers or two', () => platform('((4\\.\\d+(\\.\\d+)?)|(5\\.\\d+(\\.\\d+)?))')],
    ['for digits that are counted', () => platform('[456]\\.[0-9]{1,2}(\\.[0-9]{1,2})?')],
    [
      'for each minor version by name',
      () => platform('((4\\.(0|1|2|3|4)\\.)|(5\\.(0|1|2|3|4)\\.)|(6\\.(0|1)\\.))'),
    ],
    [
      'with a beta for those who want it',
      () => GOOD.replaceAll('2.0.0', '2.0.0-beta1').replace('<tag>stable', '<tag>beta'),
    ],
    ['with one hash', () => element('sha256', '')],
    ['with the version in other words of the address', () => download('/42?format=zip&amp;version=2.0.0')],
  ])('finds nothing in a file %s', async (_what, text) => {
    expect(await lint(text(), 'https://shop.example/updates/pkg_example.xml')).toEqual([]);
  });

  it.each([
    [
      'a client that packages do not have',
      () => element('client', 'administrator'),
      /^error client: .*silently never offers/,
    ],
    ['the same as a number', () => element('client', '1'), /^error client: /],
    [
      'an empty client',
      () => element('client', ' ').replace('> <', '><'),
      /^error client: .*counts as administrator/,
    ],
    ['no client', () => element('client', ''), /^error client: A missing <client> counts as administrator/],
    [
      'a client named as what every object has',
      () => element('client', 'constructor'),
      /^error client: .*does not know/,
    ],
    ['a client with blanks', () => element('client', ' site '), /^error client: .*does not know/],
    [
      'the site for a component',
      () => element('type', 'component').replace('pkg_', 'com_'),
      /^error client: .*component is installed as administrator/,
    ],
    [
      'no client for a module',
      () => replaced('<client>site</client>', '').replace('package</type>', 'module</type>'),
      /^warning client: /,
    ],
    [
      'a plugin without a group',
      () => element('type', 'plugin').replace('pkg_', ''),
      /^error folder: .*silently never offers/,
    ],
    [
      'a package with a group',
      () => replaced('<client>', '<folder>system</folder><client>'),
      /^error folder: .*silently never offers/,
    ],
    ['a type Joomla has not', () => element('type', 'extension'), /^error type: /],
    ['a package without its prefix', () => element('element', 'example'), /^error element: .*pkg_/],
    [
      'a plugin with its prefix',
      () =>
        element('type', 'plugin')
          .replace('pkg_', 'plg_')
          .replace('<client>', '<folder>system</folder><client>'),
      /^error element: .*its name without a prefix/,
    ],
    ['no element', () => element('element', ''), /^error missing: <element>/],
    ['no version', () => element('version', ''), /^error missing: <version>/],
    ['an element with a line break', () => element('element', '\npkg_example\n'), /^error padded: <element>/],
    [
      'a version that the column cannot hold',
      () => GOOD.replaceAll('2.0.0', `2.0.${'0.'.repeat(20)}0`),
      /^error too_long: <version>/,
    ],
    ['a name that the column cannot hold', () => element('name', 'x'.repeat(101)), /^error too_long: <name>/],
    [
      'a platform that also matches another',
      () => platform('5.1'),
      /^error platform: .*also matches Joomla 5\.10\.0, /,
    ],
    [
      'the same with its dot escaped',
      () => platform('5\\.1'),
      /^error platform: .*also matches Joomla 5\.10\.0, /,
    ],
    [
      'a second half that is not tied to the beginning',
      () => platform('5\\.4\\.|6\\.'),
      /^error platform: .*also matches Joomla 4\.6\.0, 4\.16\.0, 5\.6\.0/,
    ],
    [
      'a second half that any number may meet',
      () => platform('4.4|5'),
      /^error platform: .*also matches Joomla 4\.0\.5, 4\.1\.5, 4\.2\.5, 6\.0\.5, /,
    ],
    [
      'a first half that is a version, and a second half',
      () => platform('5.0.6|6'),
      /^error platform: .*also matches Joomla 4\.0\.6, /,
    ],
    [
      'a possessive repetition, which PHP alone has',
      () => platform('5\\.[0-9]++'),
      /^warning platform: .*was not checked: only PHP/,
    ],
    ['an atomic group', () => platform('(?>5\\.)[0-9]'), /^warning platform: .*was not checked/],
    ['an anchor of PHP', () => platform('\\A5\\.[0-9]'), /^warning platform: .*was not checked/],
    [
      'a platform that is no expression',
      () => platform('5.*)'),
      /^error platform: .*not a regular expression/,
    ],
    ['a platform with a slash', () => platform('5/6'), /^error platform: .*not a regular expression/],
    [
      'a platform that repeats without end',
      () => platform(`${'(.*)'.repeat(9)}x`),
      /^error platform: .*too repetitive to be tested/,
    ],
    ['the same without a star', () => platform(`${'(.?.?)'.repeat(12)}x`), /^error platform: .*to be tested/],
    ['a repeated choice', () => platform('(.|.|.|.|.|.)+x'), /^error platform: .*to be tested/],
    ['a platform longer than any', () => platform(`5${'|5'.repeat(200)}`), /^error platform: .*too long/],
    ['a platform of everything', () => platform('.*'), /^warning platform: .*also matches Joomla 3\./],
    ['a platform of the past', () => platform('3\\.[0-9]+'), /^error no_current_joomla: /],
    ['another platform', () => replaced('"joomla"', '"Joomla"'), /^error platform: .*"Joomla"/],
    [
      'blanks around the platform of one update, which no other hides',
      () =>
        GOOD.replace(
          '</updates>',
          `${/<update>[^]*<\/update>/.exec(GOOD)![0].replace('"5', '" 5')}</updates>`,
        ),
      /^error platform: The target platform " 5.*has blanks around it/,
    ],
    [
      'no platform',
      () => replaced(/<targetplatform[^>]*>/, ''),
      /^error platform: No <targetplatform> has a name/,
    ],
    ['a PHP that is none', () => element('php_minimum', 'PHP 8'), /^warning php_minimum: /],
    ['a database that no site has', () => replaced('mysql=', 'mssql='), /^warning database: .*"mssql"/],
    [
      'a tag with blanks, by which every site is offered a beta',
      () => element('tag', ' beta '),
      /^error tag: .*counts as stable: every site is offered it/,
    ],
    [
      'the same with line breaks, and no second finding about the pre-release',
      () => element('tag', '\n beta\r\n').replaceAll('2.0.0', '2.0.0-beta1'),
      /^error tag: <tag> has blanks or line breaks around "beta"/,
    ],
    [
      'a tag that Joomla does not know, of a pre-release',
      () => element('tag', 'preview').replaceAll('2.0.0', '2.0.0-beta1'),
      /^error tag: Joomla does not know <tag>preview<\/tag>, .*every site/,
    ],
    [
      'such a tag of a release, which counts as what is meant',
      () => element('tag', '\nstable\n'),
      /^warning tag: .*counts as stable\.$/,
    ],
    [
      'a PHP with line breaks, which then excludes no site',
      () => element('php_minimum', '\n8.1\n'),
      /^error padded: <php_minimum> .*older PHP/,
    ],
    [
      'a database with a blank, which then excludes no site',
      () => replaced('mysql="8', 'mysql=" 8'),
      /^error padded: <supported_databases> .*mysql/,
    ],
    [
      'the address of a changelog with line breaks',
      () => replaced('<infourl', '<changelogurl>\nhttps://shop.example/a.xml\n</changelogurl><infourl'),
      /^warning padded: <changelogurl> /,
    ],
    [
      'a beta for everybody',
      () => GOOD.replaceAll('2.0.0', '2.0.0-beta1'),
      /^warning tag: .*every site is offered it/,
    ],
    ['a release proper tagged beta', () => element('tag', 'beta'), /^warning tag: .*only sites that accept/],
    [
      'no hash',
      () => GOOD.replace(/<sha256>.*<\/sha256>/, '').replace(/<sha512>.*<\/sha512>/, ''),
      /^warning hash_missing: /,
    ],
    [
      'an empty hash',
      () => replaced(/<sha256>.*<\/sha256>/, '<sha256></sha256>'),
      /^error hash: <sha256> is empty/,
    ],
    ['a hash with blanks', () => replaced('<sha256>', '<sha256> '), /^error hash: <sha256> has blanks/],
    ['a hash that is too short', () => replaced('<sha512>B', '<sha512>'), /^error hash: <sha512> is not 128/],
    ['no download address', () => element('downloadurl', ''), /^error download: .*Invalid extension update/],
    ['a fragment', () => download('/42?version=2.0.0#x.zip'), /^error download: .*"#"/],
    ['a blank in the address', () => download('/42?version=2.0.0&amp;a=my file'), /^error download: .*blank/],
    [
      'an address without a host',
      () => replaced('https://shop.example/api', '/api'),
      /^error download: .*not a complete address/,
    ],
    [
      'an ampersand without a question mark',
      () => download('/42&amp;version=2.0.0'),
      /^error download: .*"&"/,
    ],
    ['an address without the version', () => download('/42'), /^error download_version: .*names no version/],
    [
      'an address with another version',
      () => download('/42?version=2.0.1'),
      /^error download_version: .*2\.0\.1, not 2\.0\.0/,
    ],
    [
      "an address that is not the service's",
      () => replaced('/licensing/downloads/42', '/files/42'),
      /^warning download: .*not an address of the licence service/,
    ],
    [
      'an address that is http',
      () => replaced('https://shop.example/api', 'http://shop.example/api'),
      /^error download_http: /,
    ],
    [
      'another host',
      () => replaced('https://shop.example/api', 'https://shop2.example/api'),
      /^warning download_host: .*shop2\.example/,
    ],
    [
      'a second extension',
      () =>
        replaced(
          '</updates>',
          `${/<update>[^]*<\/update>/.exec(GOOD)![0].replace('pkg_example', 'pkg_other')}</updates>`,
        ),
      /^error several_extensions: /,
    ],
    ['no update', () => '<updates></updates>', /^warning no_update: .*no site is offered an update/],
    ['another document', () => '<extension/>', /^error no_update: .*<extension>/],
    ['a bare ampersand', () => element('name', 'A & B'), /^error malformed: .*\(line 4\)/],
    ['an element that is not closed', () => replaced('</name>', ''), /^error malformed: /],
    ['an end that is missing', () => GOOD.slice(0, -20), /^error malformed: /],
    ['something before it', () => `\n${GOOD}`, /^error malformed: /],
    [
      'a control character',
      () => element('name', 'A\u0001'),
      /^error malformed: .*control character.*\(line 4\)/,
    ],
    ['a page instead', () => '<!DOCTYPE html><html><body>Not found<br></body></html>', /^error malformed: /],
    [
      'more tags than are read',
      () => `<updates>${'<a/>'.repeat(50_000)}</updates>`,
      /^error too_much: It has more than 50000 tags/,
    ],
    [
      'more namespaces than are read',
      () => `<updates>${Array.from({ length: 501 }, (_, i) => `<a xmlns:n${i}="x">`).join('')}`,
      /^error too_much: It has more than 500 namespaces/,
    ],
    [
      'more attributes than are read',
      () => `<updates><a ${Array.from({ length: 480_000 }, (_, i) => `n${i}=">"`).join(' ')}/></updates>`,
      /^error too_much: A tag has more than 500 attributes/,
    ],
    ['a tag of megabytes', () => `<updates><a ${'x'.repeat(5_000_000)}/ ></updates>`, /^error malformed: /],
    [
      'an empty element that ends with a blank',
      () => replaced('</updates>', '<x/ ></updates>'),
      /^error malformed: .*a "\/" that is not directly before/,
    ],
    [
      'an empty element that ends with two slashes',
      () => replaced('</updates>', '<x a="/"//></updates>'),
      /^error malformed: .*a "\/" that is not directly before/,
    ],
    ['nothing at all', () => '', /^error malformed: /],
  ])('finds %s', async (_what, text, finding) => {
    expect(await lint(text(), 'https://shop.example/updates/pkg_example.xml')).toContainEqual(
      expect.stringMatching(finding),
    );
  });

  it('says that a package without its prefix may be of another type', async () => {
    const nameless = element('element', 'example');
    const remedies = async (text: string) =>
      (await lintUpdateXml(Buffer.from(text))).map(({ remedy }) => remedy);
    expect(await remedies(nameless)).toEqual([
      'Write <element>pkg_example</element>. If it is not a package, write its own <type> instead: pass it to "licensing update-xml write" with --type, such as --type plugin --folder GROUP.',
    ]);
    const component = nameless.replace('package</type>', 'component</type>');
    expect(await remedies(component.replace('site</client>', 'administrator</client>'))).toEqual([
      'Write <element>com_example</element>.',
    ]);
  });

  it.each(['/api/index.php', PREFIX, '/shop/api'])(
    "finds a download address with the service's path below %s, where no service answers",
    async (path) => {
      const findings = await lint(GOOD.replace(PREFIX, `${path}${PREFIX}`));
      expect(findings).toEqual([
        expect.stringMatching(
          /^error download: The <downloadurl> contains the service's path, or a part of it, twice/,
        ),
      ]);
      expect(await lint(GOOD.replace(PREFIX, `/shop${PREFIX}`))).toEqual([]);
    },
  );

  it('finds text that is not UTF-8', async () => {
    const latin1 = Buffer.from(GOOD.replace('Example<', 'Beispiel für alle<'), 'latin1');
    expect(await lintUpdateXml(latin1)).toMatchObject([
      {
        level: 'error',
        code: 'malformed',
        problem: 'The update XML is not well-formed: it is not UTF-8 text (line 4).',
      },
    ]);
    expect(await lint('<!---->')).toEqual([expect.stringMatching(/^error malformed: .*[^.]\.$/)]);
    const declared = Buffer.from(latin1.toString('latin1').replace('UTF-8', 'ISO-8859-1'), 'latin1');
    expect(await lintUpdateXml(declared)).toEqual([]);
  });

  it.each([
    ['tags', '<'],
    ['attributes', '<a x="'],
    ['comments', '<!--'],
    ['CDATA sections', '<![CDATA['],
    ['instructions', '<?x '],
  ])('finds thousands of %s that never end', async (_what, begun) => {
    expect(await lint(`<updates>${begun.repeat(49_000)}`)).toEqual([
      expect.stringMatching(/^error malformed: .*\(line 1\)/),
    ]);
  });

  // If each were examined with everything inside it, the test would run out of time.
  it('reads thousands of nested updates as the outermost one', async () => {
    const findings = await lint(
      `<updates>${'<update>'.repeat(24_000)}${'</update>'.repeat(24_000)}<update/></updates>`,
    );
    expect(findings.filter((finding) => finding.startsWith('error missing: <version>'))).toHaveLength(2);
  });

  it('does not run a platform pattern that might never end, and says no more about it', async () => {
    const findings = await lint(platform(`${'(.*)'.repeat(40)}x`));
    expect(findings).toHaveLength(1);
  });

  it('judges the first thousand of many updates, and says so', async () => {
    const findings = await lint(
      `<updates>${'<update><version>1</version></update>'.repeat(1_200)}</updates>`,
    );
    expect(findings).toContainEqual(
      expect.stringMatching(/^error too_many: The update XML has 1200 <update> elements/),
    );
    expect(findings.filter((finding) => finding.startsWith('error missing: <element>'))).toHaveLength(1_000);
  });

  it("agrees with PHP's parser about well-formed files", () => {
    const bits = [
      '&',
      '<',
      '>',
      '"',
      '/',
      '=',
      'a',
      ' ',
      '&amp;',
      '&#1;',
      '&#65;',
      '&#xD800;',
      '&nbsp;',
      ']]>',
      '\u0001',
      'é',
      '<![CDATA[',
      '-->',
      '<!--',
      '?>',
      '<x/>',
      '</update>',
      '#',
      ';',
      '!',
      '-',
    ];
    const change = fc.tuple(
      // The declaration stays, and the filter below drops undeclared prefixes: PHP is lenient about both, and no seller writes them.
      fc.integer({ min: GOOD.indexOf('<updates>'), max: GOOD.length - 1 }),
      fc.nat(3),
      fc.oneof(fc.constantFrom(...bits), fc.constant('')),
    );
    const documents = fc
      .sample(
        fc
          .array(change, { minLength: 1, maxLength: 2 })
          .map((changes) =>
            changes.reduce((text, [at, cut, bit]) => text.slice(0, at) + bit + text.slice(at + cut), GOOD),
          ),
        2_000,
      )
      .filter((text) => !/<[^>]*\w:\w*[\s=>]/.test(text.replace(/"[^"]*"/g, '')));
    const wellFormed = php(
      `$out = []; foreach ($in as $text) { $p = xml_parser_create(''); $out[] = xml_parse($p, $text, true) === 1; }`,
      documents,
    ) as boolean[];
    const ours = documents.map((text) => {
      try {
        return parseXml(Buffer.from(text)).tagName !== '';
      } catch {
        return false;
      }
    });
    expect(documents.filter((_text, i) => ours[i] !== wellFormed[i])).toEqual([]);
    expect(new Set(ours).size).toBe(2);
  });

  it.each([
    ['5.1', '5.10.0 5.11.0 5.12.0 5.13.0 5.14.0 5.15.0 5.16.0 5.17.0 5.18.0 5.19.0'],
    ['5\\.[12]', '5.10.0 5.11.0 5.12.0 5.13.0 5.14.0 5.15.0 5.16.0 5.17.0 5.18.0 5.19.0 5.20.0'],
    ['(5|6)\\.[0-9]+', ''],
    ['[456]', ''],
    ['5\\.(1|2)\\.', ''],
    ['5\\.1(?![0-9])', ''],
  ])('knows which versions the platform %s matches by accident', (pattern, accidents) => {
    expect(accidentalMatches(pattern).join(' ')).toBe(accidents);
  });
});

describe('"update-xml lint" with the database', () => {
  let service: TestService;
  let shop: Operator;
  let out: string;
  let published = 0;
  beforeAll(async () => {
    const settings = {
      LICENSING_DATABASE_URL: await createMariaDbDatabase(),
      LICENSING_PACKAGES_DIR: temporaryFolder(),
    };
    service = await startTestService(settings);
    shop = operator(settings);
    await givePlan(service.db);
    await give('1.0.0');
    out = join(temporaryFolder(), 'update.xml');
  });
  afterAll(() => service.stop());

  const manifestOf = (version: string, more = '') =>
    `<extension type="package"><packagename>example</packagename><version>${version}</version>${more}</extension>`;
  const give = async (
    version: string,
    more: { draft?: true } = {},
    entries: Record<string, string | Buffer> = { 'pkg_example.xml': manifestOf(version) },
  ) => giveRelease(service, { version, ...more, file: (await makePackage(entries)).path });
  const write = () =>
    writeUpdateXml(
      service.db,
      42,
      { baseUrl: service.url, out, element: 'pkg_example', allowDowngrade: true },
      '/',
    );
  const findings = async (...options: string[]) => {
    const { code, stdout } = await shop.run(['update-xml', 'lint', out, '--json', ...options]);
    const result = JSON.parse(stdout) as { errors: number; findings: { code: string; problem: string }[] };
    expect(code).toBe(result.errors > 0 ? 1 : 0);
    return result.findings.map(({ code: name, problem }) => `${name}: ${problem}`);
  };

  it("finds hashes that are not the published package's, and versions that are not published", async () => {
    await write();
    expect(await findings()).toEqual([]);
    const text = readFileSync(out, 'utf8');
    writeFileSync(
      out,
      text.replace(/<sha384>./, (match) => `<sha384>${match.endsWith('0') ? '1' : '0'}`),
    );
    expect(await findings()).toEqual(['hash: <sha384> differs from that of the published package.']);
    writeFileSync(out, text.replaceAll('1.0.0', '9.0.0'));
    expect(await findings()).toEqual(['not_published: Version 9.0.0 is unknown: its download answers 404.']);
    writeFileSync(out, text.replace('/downloads/42', '/downloads/43'));
    expect(await findings()).toEqual(['product: There is no product 43.']);

    await give('1.1.0');
    await write();
    await withdrawRelease(service.db, 42, '1.1.0', new Date());
    expect(await findings()).toEqual([
      'not_published: Version 1.1.0 is withdrawn: its download answers 404.',
    ]);
    await write();
    expect(await findings()).toEqual([]);
  });

  it('says what can be done about a version that is not published', async () => {
    const remedy = async () => (await shop.run(['update-xml', 'lint', out])).stdout;
    await give('1.2.0');
    await write();
    await withdrawRelease(service.db, 42, '1.2.0', new Date());
    expect(await remedy()).toMatch(/404\. Write the update XML again with .*, which leaves it out\.\n$/);
    await give('1.2.1', { draft: true });
    writeFileSync(out, readFileSync(out, 'utf8').replaceAll('1.2.0', '1.2.1'));
    expect(await remedy()).toMatch(
      /404\. Publish it \(licensing release publish --product 42 --version 1\.2\.1\), or take it out: /,
    );
    await withdrawRelease(service.db, 42, '1.2.1', new Date());
  });

  it('names the newest version if the file leaves it out', async () => {
    await write();
    const missing = (version: string) =>
      `left_out: Version ${version} is published but missing from the update XML: Joomla offers it to no site.`;
    for (const [version, expected] of [
      ['0.9.0', []],
      ['2.0.0-beta1', [missing('2.0.0-beta1')]],
      ['1.9.0', [missing('2.0.0-beta1'), missing('1.9.0')]],
    ] as const) {
      await give(version);
      expect(await findings()).toEqual(expected);
    }
    await write();
    expect(await findings()).toEqual([]);
    await give('1.9.1');
    expect(await findings()).toEqual([missing('1.9.1')]);
    for (const version of ['2.0.0-beta1', '1.9.1', '1.9.0'])
      await withdrawRelease(service.db, 42, version, new Date());
  });

  it('fetches the packages if it gets a key, and never shows the key', async () => {
    const { key } = await giveLicense(service.db, await givePlan(service.db));
    await write();
    expect(await findings('--key', key)).toEqual([]);
    const expired = await giveLicense(service.db, await givePlan(service.db), { expiresAt: new Date(0) });
    const [finding, ...rest] = await findings('--key', expired.key);
    expect(finding).toBe('package: The package was not sent: 403 "License has expired".');
    expect(rest).toEqual([]);

    const tampering = await startStaticSite((_request, response) => response.end(`other bytes ${key}`));
    writeFileSync(out, readFileSync(out, 'utf8').replaceAll(service.url, tampering.url));
    expect(await findings('--key', key)).toEqual([
      expect.stringMatching(/^package: .* has a different sha256/),
    ]);
    await tampering.stop();
    expect((await findings('--key', key)).join()).toMatch(
      /^package: The package could not be fetched: Failed to connect/,
    );
  });

  it('names the extensions of a package that do not name it, here and as they are sent', async () => {
    const { key } = await giveLicense(service.db, await givePlan(service.db));
    const child = '<extension type="component"><name>Example</name><version>2.0.0</version></extension>';
    const { path: file } = await makePackage({
      'pkg_example.xml':
        '<extension type="package"><packagename>example</packagename><version>2.0.0</version><files><file type="component" id="com_example">com_example.zip</file></files></extension>',
      'com_example.zip': await zipOf({ 'example.xml': child }),
    });
    await giveRelease(service, { version: '2.0.0', file });
    await write();
    const expected = [
      expect.stringMatching(/^package_children: .* lack <packagename>: "com_example\.zip"\. /),
    ];
    expect(await findings()).toEqual(expected);
    expect(await findings('--key', key)).toEqual(expected);
    await withdrawRelease(service.db, 42, '2.0.0', new Date());
  });

  it.each<
    [what: string, entries: (version: string) => Promise<Record<string, string | Buffer>>, problem: RegExp]
  >([
    [
      'without a file that its manifest names',
      (version) =>
        Promise.resolve({
          'pkg_example.xml': manifestOf(
            version,
            '<files><file type="component" id="com_a">com_a.zip</file></files>',
          ),
        }),
      /^package_files: The package lacks .*"com_a\.zip" is missing\. Joomla would end the update with "Package Update: /,
    ],
    [
      'without media, which Joomla installs all the same',
      (version) =>
        Promise.resolve({
          'pkg_example.xml': manifestOf(
            version,
            '<media folder="media" destination="a"><folder>css</folder></media>',
          ),
        }),
      /^package_files: .*"media\/css" is missing\. Joomla would report success, although it is missing\.$/,
    ],
    [
      'with a zip in it whose manifest is not UTF-8',
      async (version) => ({
        'pkg_example.xml': manifestOf(
          version,
          '<files><file type="component" id="com_a">com_a.zip</file></files>',
        ),
        'com_a.zip': await zipOf({ 'a.xml': Buffer.from('<extension>\n\u00e9</extension>', 'latin1') }),
      }),
      /^package_files: .*"com_a\.zip" has a manifest .*: a\.xml: it is not UTF-8 text \(line 2\)\. /,
    ],
    [
      'with a manifest that is not UTF-8',
      (version) =>
        Promise.resolve({
          'pkg_example.xml': Buffer.from(manifestOf(version, '\n<name>\u00e9</name>'), 'latin1'),
        }),
      /^package: The package cannot be installed: .*: pkg_example\.xml: it is not UTF-8 text \(line 2\)\.$/,
    ],
    [
      'without a manifest',
      () => Promise.resolve({ 'a.txt': 'a' }),
      /^package: The package cannot be installed: it has no manifest of an extension\.$/,
    ],
  ])('finds a package %s, here and as it is sent', async (_what, entries, problem) => {
    const { key } = await giveLicense(service.db, await givePlan(service.db));
    const version = `3.0.${++published}`;
    await give(version, {}, await entries(version));
    await write();
    const expected = [expect.stringMatching(problem)];
    expect(await findings()).toEqual(expected);
    expect(await findings('--key', key)).toEqual(expected);
    await withdrawRelease(service.db, 42, version, new Date());
  });

  it('says what is wrong, where, and what to do; without a database it checks the rest', async () => {
    await write();
    writeFileSync(out, readFileSync(out, 'utf8').replace('<client>site', '<client>administrator'));
    for (const url of [undefined, 'mysql://u:p@127.0.0.1:1/none']) {
      const { code, stdout, stderr } = await operator(
        url === undefined ? {} : { LICENSING_DATABASE_URL: url },
      ).run([...['update-xml', 'lint', out]]);
      expect(code).toBe(1);
      expect(stdout).toMatch(
        /^error: line 3 \(1\.0\.0\): .*administrator.* Write <client>site<\/client>\.\n$/,
      );
      expect(stderr).toMatch(
        /^The XML was not compared with the published versions: .*\nerror: There is one error\.\n$/,
      );
    }
    const missing = await shop.run(['update-xml', 'lint', '/no/such.xml']);
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringMatching(/cannot be read/)]);
  });
});

describe('"update-xml lint" on an address', () => {
  let site: StaticSite;
  const answers: Record<string, (response: ServerResponse, request: IncomingMessage) => void> = {
    good: (response) => response.end(GOOD),
    moved: (response) => response.writeHead(301, { Location: '/good' }).end(),
    cached: (response) => response.setHeader('Cache-Control', 'public, max-age=86400').end(GOOD),
    shared: (response) => response.setHeader('Cache-Control', 'max-age=60, s-maxage=7200').end(GOOD),
    expires: (response) =>
      response.setHeader('Expires', new Date(Date.now() + 5 * 3_600_000).toUTCString()).end(GOOD),
    fresh: (response) =>
      response
        .setHeader('Cache-Control', 'no-cache')
        .setHeader('Expires', new Date(Date.now() + 5 * 3_600_000).toUTCString())
        .end(GOOD),
    gzip: (response) => response.setHeader('Content-Encoding', 'gzip').end(GOOD),
    private: (response) => response.writeHead(401).end('Login'),
    slow: (response) => void setTimeout(() => response.end(GOOD), 5_200),
  };
  beforeAll(async () => {
    site = await startStaticSite((request, response) => {
      const answer = answers[request.url?.split('/').pop() ?? ''];
      if (answer) answer(response, request);
      else response.writeHead(404).end('Not found');
    });
  });
  afterAll(() => site.stop());

  it.each([
    ['good', []],
    ['fresh', []],
    ['moved', ['warning redirected']],
    ['cached', ['warning cached']],
    ['shared', ['warning cached']],
    ['expires', ['warning cached']],
    ['gzip', ['error encoded']],
    ['private', ['error status']],
    ['missing', ['error status']],
    ['slow', ['warning slow']],
    [`${PREFIX.slice(1)}/good`, ['error below_service']],
  ])('finds at /%s: %j', async (path, expected) => {
    const found = await lintUpdateXmlAt(`${site.url}/${path}`);
    // Always found, because the XML is on 127.0.0.1 and its package on shop.example.
    const own = found.filter(({ code }) => code !== 'download_host');
    expect(own.map(({ level, code }) => `${level} ${code}`)).toEqual(expected);
  });

  it('reports a server that does not answer', async () => {
    expect(await lintUpdateXmlAt('http://127.0.0.1:1/update.xml')).toMatchObject([
      { level: 'error', code: 'unreachable' },
    ]);
  });
});
