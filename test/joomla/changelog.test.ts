import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { changelogBeside, changesOf, renderChangelog } from '../../src/joomla/changelog';
import { lintChangelog } from '../../src/joomla/lint/changelog';
import { lintUpdateXmlAt } from '../../src/joomla/lint/lint';
import { parseXml } from '../../src/joomla/xml';
import { operator } from '../support/operator';
import { php } from '../support/php-xml';
import { temporaryFolder } from '../support/processes';
import { startStaticSite } from '../support/static-site';

/** Tests the changelog for Joomla's own window: the file, and how Joomla reads it. */

/**
 * Reads a changelog as Joomla 4.4 to 6.1 do: every piece of text that the parser reports within an <item> is an entry, and
 * Joomla shows the `changelog` of exactly this version.
 */
function asJoomlaReads(xml: string, version: string): unknown {
  return php(
    `
    $stack = []; $lists = []; $items = []; $text = ''; $found = (object) [];
    $names = ['SECURITY', 'FIX', 'LANGUAGE', 'ADDITION', 'CHANGE', 'REMOVE', 'NOTE'];
    $parser = xml_parser_create('');
    xml_set_element_handler($parser, function ($p, $name) use (&$stack, &$lists, &$text) {
      $stack[] = $name;
      if ($name === 'CHANGELOG') { $lists = []; }
      if ($name === 'VERSION') { $text = ''; }
    }, function ($p, $name) use (&$stack, &$lists, &$items, &$text, &$found, $names, $in) {
      array_pop($stack);
      if (in_array($name, $names, true)) { $lists[strtolower($name)] = $items; $items = []; }
      if ($name === 'CHANGELOG' && version_compare($text, $in['version'], '==')) { $found = (object) $lists; }
    });
    xml_set_character_data_handler($parser, function ($p, $data) use (&$stack, &$items, &$text) {
      if (end($stack) === 'ITEM') { $items[] = $data; }
      if (end($stack) === 'VERSION') { $text .= $data; }
    });
    $out = xml_parse($parser, $in['xml']) ? $found : xml_error_string(xml_get_error_code($parser));
    `,
    { xml, version },
  );
}

const EXTENSION = { element: 'pkg_example', type: 'package' };
const render = (changelog: string, version = '2.0.0') =>
  renderChangelog(EXTENSION, [
    { version: '2.1.0', changelog: 'fix: of 2.1.0' },
    { version, changelog },
  ]);

describe('a changelog', () => {
  it.each<[string, object]>([
    ['Faster', { note: ['Faster'] }],
    ['fix: no flicker\nadd: a map\n', { fix: ['no flicker'], addition: ['a map'] }],
    ['- Fix: one\n* fix:two\n  - three', { fix: ['one', 'two'], note: ['three'] }],
    [
      'security: s\nchange: c\nremove: r\nlanguage: l\nnote: n',
      { security: ['s'], change: ['c'], remove: ['r'], language: ['l'], note: ['n'] },
    ],
    ['fixed: is a word of its own', { note: ['fixed: is a word of its own'] }],
    ['a & b < c > d "e" \'f\'', { note: ['a &amp; b &lt; c &gt; d &quot;e&quot; &#039;f&#039;'] }],
    ['&amp; stays what it says', { note: ['&amp;amp; stays what it says'] }],
    ['<script>alert(1)</script> ]]> end', { note: ['&lt;script&gt;alert(1)&lt;/script&gt; ]]&gt; end'] }],
    ['Für größere Bilder – 漢字 😀', { note: ['Für größere Bilder – 漢字 😀'] }],
    ['a\u0000\u0008b\ud800c\uffff', { note: ['abc'] }],
    ['one\r\ntwo\rthree\n\n', { note: ['one', 'two', 'three'] }],
    [`${'long '.repeat(5000)}ü end`, { note: [`${'long '.repeat(5000)}ü end`] }],
    ['fix:', { note: ['fix:'] }],
    ['', {}],
  ])('%j is shown as it was written', (changelog, shown) => {
    const xml = render(changelog);

    expect(asJoomlaReads(xml, '2.0.0')).toEqual(shown);
    expect(asJoomlaReads(xml, '2.1.0')).toEqual({ fix: ['of 2.1.0'] });
    expect(lintChangelog(Buffer.from(xml), '', ['2.0.0', '2.1.0'])).toEqual([]);
    expect(parseXml(Buffer.from(xml)).tagName).toBe('changelogs');
  });

  it('begins its security list with the names of the holes and the advice', () => {
    const cve = ['CVE-2026-1234', 'CVE-2026-99999'];
    const advisory = '- Change <all> passwords\n\nfix: your templates';
    const release = { version: '2.0.0', changelog: 'fix: f\nsecurity: s', cve, advisory };
    const xml = renderChangelog(EXTENSION, [
      release,
      { ...release, version: '1.0.0', cve: [], advisory: null },
    ]);
    const advice = ['CVE-2026-1234, CVE-2026-99999', 'Change &lt;all&gt; passwords', 'your templates'];
    expect(asJoomlaReads(xml, '2.0.0')).toEqual({ security: [...advice, 's'], fix: ['f'] });
    expect(asJoomlaReads(xml, '1.0.0')).toEqual({ security: ['s'], fix: ['f'] });
    expect(lintChangelog(Buffer.from(xml), '', ['2.0.0', '1.0.0'])).toEqual([]);
  });

  it('has the 50 newest versions, with the fields by which Joomla identifies an extension', () => {
    const releases = Array.from({ length: 60 }, (_, i) => ({ version: `1.${60 - i}`, changelog: 'x' }));
    const xml = renderChangelog(EXTENSION, releases);

    expect([...xml.matchAll(/<version>(.*?)</g)].map(([, version]) => version)).toEqual(
      releases.slice(0, 50).map(({ version }) => version),
    );
    expect(xml).toContain('<element>pkg_example</element>\n        <type>package</type>');
  });

  it('leaves out older versions rather than exceed the size that a site can parse', () => {
    const long = 'fix: x\n'.repeat(20_000);
    const xml = renderChangelog(EXTENSION, [
      { version: '2', changelog: long },
      { version: '1', changelog: 'x' },
    ]);
    expect(xml.match(/<item>/g)).toHaveLength(10_000);
    expect(xml).not.toContain('<version>1<');
    expect(lintChangelog(Buffer.from(xml), '')).toEqual([]);
  });

  it.each([
    ['/var/lib/licensing/xml/pkg_example.xml', '/var/lib/licensing/xml/pkg_example-changelog.xml'],
    ['https://shop.example/u/pkg_example.xml?a=1', 'https://shop.example/u/pkg_example-changelog.xml?a=1'],
    ['https://shop.example/u/feed', 'https://shop.example/u/feed-changelog.xml'],
  ])('of %s lies at %s', (xml, changelog) => {
    expect(changelogBeside(xml)).toBe(changelog);
  });

  it('reads its own lines for the page as they are written', () => {
    expect(changesOf(' * ADD: <b> ')).toEqual({ addition: ['<b>'] });
  });
});

describe('the lint of a changelog', () => {
  const wrap = (inner: string) =>
    `<?xml version="1.0"?>\n<changelogs>\n<changelog><version>2.0.0</version>\n${inner}\n</changelog>\n</changelogs>`;

  it.each<[string, number]>([
    ['<item>plain</item>', 1],
    ['<item>a &amp; b</item>', 3],
    ['<item>für alle</item>', 2],
    ['<item> <![CDATA[a]]></item>', 2],
    ['<item><![CDATA[a & b]]></item>', 1],
    ['<item>a<!-- no --> b</item>', 2],
  ])('counts the entries that PHP makes of %s: %d', (item, entries) => {
    const xml = wrap(`<fix>\n${item}</fix>`);

    expect(asJoomlaReads(xml, '2.0.0')).toMatchObject({ fix: { length: entries } });
    const found = lintChangelog(Buffer.from(xml), 'c.xml', ['2.0.0']);
    expect(found.map(({ code, line, problem }) => [code, line, problem])).toEqual(
      entries === 1
        ? []
        : [
            [
              'changelog',
              5,
              expect.stringMatching(new RegExp(`^The changelog c.xml line 5: .* as ${entries} entries`)),
            ],
          ],
    );
  });

  it('of an address reads the file that the address names, and that of a file the one next to it', async () => {
    const updateXml = (url: string) =>
      `<updates><update><name>E</name><element>pkg_example</element><type>package</type><version>2.0.0</version><client>site</client>
        <changelogurl>${url}/c.xml</changelogurl><downloads><downloadurl type="full" format="zip">https://shop.example/x.zip</downloadurl></downloads>
        <targetplatform name="joomla" version="5\\.[0-9]+"/></update></updates>`;
    const answers = new Map<string, [status: number, body: string]>();
    const site = await startStaticSite(({ url = '' }, response) => {
      const [status, body] = answers.get(url) ?? [404, ''];
      response.writeHead(status).end(body);
    });
    const found = async () =>
      (await lintUpdateXmlAt(`${site.url}/u.xml`))
        .filter(({ code }) => code === 'changelog')
        .map(({ line, problem }) => [line ?? null, problem]);
    try {
      answers.set('/u.xml', [200, updateXml(site.url)]);
      expect(await found()).toEqual([[null, `The server answers 404 for the changelog ${site.url}/c.xml.`]]);
      answers.set('/c.xml', [200, wrap('<fix><item>a &amp; b</item></fix>')]);
      expect(await found()).toEqual([
        [4, expect.stringContaining(`The changelog ${site.url}/c.xml line 4: `)],
      ]);
      answers.set('/c.xml', [200, render('x')]);
      expect(await found()).toEqual([]);
    } finally {
      await site.stop();
    }

    const file = join(temporaryFolder(), 'pkg_example.xml');
    writeFileSync(file, updateXml('https://shop.example'));
    writeFileSync(changelogBeside(file), wrap('<fixed/>'));
    const { stdout } = await operator({}).run(['update-xml', 'lint', file]);
    expect(stdout).toMatch(
      /^warning: The changelog https:\/\/shop\.example\/c\.xml line 4: Joomla does not know the list <fixed>/m,
    );
    const itself = await operator({}).run(['update-xml', 'lint', changelogBeside(file)]);
    expect(itself.stdout).toMatch(/^warning: The changelog line 4: /m);
  });

  it.each<[string, string, number | null]>([
    ['<changelogs><changelog></changelogs>', 'not well-formed', 1],
    ['<changelogs/>', 'no <changelog>', null],
    ['<changelogs>\n<changelog><fix/></changelog></changelogs>', 'no <version>', 2],
    [wrap('<fixed><item>x</item></fixed>'), 'does not know the list <fixed>', 4],
    [wrap('<fix><item><![CDATA[<b>x</b>]]></item></fix>'), 'as HTML', 4],
    [wrap('').replace('2.0.0', '1.0.0'), 'version 2.0.0 is not in it', null],
  ])('names the fault of %s', (xml, problem, line) => {
    expect(lintChangelog(Buffer.from(xml), 'c.xml', ['2.0.0'])).toContainEqual(
      expect.objectContaining({
        code: 'changelog',
        line: line ?? undefined,
        problem: expect.stringContaining(problem),
      }),
    );
  });
});
