import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { regenerateUpdateXml, readUpdateXmlState } from '../../src/joomla/regenerate-update-xml';
import { publish, type JoomlaPublishRequest } from '../../src/joomla/publish';
import { setUpdateXmlOptions } from '../../src/joomla/update-xml/options';
import type { XmlLocation } from '../../src/joomla/update-xml/location';
import { writeUpdateXml } from '../../src/joomla/update-xml/write';
import { addProduct, editProduct } from '../../src/licensing/catalogue';
import { OperatorError } from '../../src/licensing/operator-error';
import { listOfferedVersions } from '../../src/joomla/update-xml/plan-updates';
import { editRelease, setRollout, withdrawRelease } from '../../src/packages/releases';
import { giveRelease, makePackage } from '../support/packages';
import { temporaryFolder } from '../support/processes';
import { setPlan } from '../../src/store/catalogue';
import { givePlan, ONE_BACKEND, startTestService, type TestService } from '../support/service';

/** Tests that the update XML follows every change, and that its address is guarded. */

const SITE = 'https://shop.example';
const SERVER = `${SITE}/licensing-updates/pkg_example.xml`;

describe.each(ONE_BACKEND)('on %s', (_name, settings) => {
  let service: TestService;
  let home: XmlLocation;
  let nextId = 100;
  beforeAll(async () => {
    service = await startTestService(await settings());
  });
  afterAll(() => service.stop());
  beforeEach(() => {
    home = { xmlDir: join(temporaryFolder(), 'xml'), publicUrl: SITE };
  });

  /** Adds a product with an element of its own, because each file belongs to one product. */
  async function product(element?: string | null): Promise<number> {
    const id = nextId++;
    await addProduct(
      service.db,
      { id, name: 'Example', element: element === undefined ? `pkg_${id}` : element },
      new Date(),
    );
    return id;
  }
  const follow = (id: number) => regenerateUpdateXml(service.db, home, id);
  const state = (id: number) => readUpdateXmlState(service.db, home, id);
  const file = (id: number) => join(home.xmlDir, `pkg_${id}.xml`);
  const addressOf = (id: number) => `${SITE}/licensing-updates/pkg_${id}.xml`;
  const versions = (path: string) =>
    [...readFileSync(path, 'utf8').matchAll(/<version>(.*?)</g)].map(([, version]) => version);
  const release = (productId: number, version: string) => giveRelease(service, { productId, version });

  it('writes the folder and the file, and returns the address', async () => {
    const id = await product();
    await release(id, '1.0.0');
    expect(await state(id)).toMatchObject({ state: 'stale', url: addressOf(id) });
    expect(await follow(id)).toMatchObject({ state: 'written', url: addressOf(id), reason: null });
    expect(versions(file(id))).toEqual(['1.0.0']);
    expect(readFileSync(file(id), 'utf8')).toContain(
      `${SITE}/api/index.php/v1/licensing/downloads/${id}?version=1.0.0`,
    );
    expect(await state(id)).toMatchObject({
      state: 'written',
      url: addressOf(id),
      xml: readFileSync(file(id), 'utf8'),
    });
    await release(id, '1.1.0');
    expect(await state(id)).toMatchObject({ state: 'stale', xml: expect.stringContaining('1.1.0') });
    await follow(id);
    await withdrawRelease(service.db, id, '1.1.0', new Date());
    // A withdrawn version holds lower versions back, as in `release withdraw`.
    expect(await follow(id)).toMatchObject({
      state: 'written',
      written: { heldBack: { versions: ['1.0.0'] } },
    });
    expect(versions(file(id))).toEqual([]);
  });

  it('has a file for each published version that an ended licence may cover', async () => {
    const id = await product();
    for (const version of ['1.0.0', '1.1.0', '2.0.0']) await release(id, version);
    const folder = join(home.xmlDir, `pkg_${id}`);
    const upTo = () => (existsSync(folder) ? readdirSync(folder).sort() : []);
    await follow(id);
    expect(upTo()).toEqual([]);

    await givePlan(service.db, { productId: id, afterExpiry: 'last_release' });
    expect(await state(id)).toMatchObject({ state: 'stale' });
    await follow(id);
    expect(upTo()).toEqual(['up-to-1.0.0.xml', 'up-to-1.1.0.xml']);
    expect(versions(join(folder, 'up-to-1.0.0.xml'))).toEqual(['1.0.0']);
    expect(await state(id)).toMatchObject({ state: 'written' });

    await withdrawRelease(service.db, id, '1.1.0', new Date());
    await follow(id);
    expect(upTo()).toEqual(['up-to-1.0.0.xml']);
    await withdrawRelease(service.db, id, '1.0.0', new Date());
    await follow(id);
    expect(existsSync(folder)).toBe(false);
  });

  it('has such files for security updates, until no plan needs them', async () => {
    const id = await product();
    for (const version of ['2.4.0', '2.4.1', '3.0.0']) await release(id, version);
    for (const version of ['2.4.2', '3.0.1'])
      await giveRelease(service, { productId: id, version, security: true });
    const folder = join(home.xmlDir, `pkg_${id}`);
    const upTo = () => (existsSync(folder) ? readdirSync(folder).sort() : []);
    const plan = await givePlan(service.db, { productId: id, afterExpiry: 'security' });
    await follow(id);
    const files = ['2.4.0', '2.4.1', '2.4.2', '3.0.0'].map((version) => `up-to-${version}.xml`);
    expect(upTo()).toEqual(files);
    // The file of the older branch's fix does not offer 3.0.0, which was published before it.
    expect(versions(join(folder, 'up-to-2.4.2.xml'))).toEqual(['2.4.2']);
    expect(versions(file(id))).toEqual(['3.0.1']);

    await withdrawRelease(service.db, id, '2.4.2', new Date());
    await follow(id);
    expect(upTo()).toEqual(files.filter((name) => !name.includes('2.4.2')));
    await setPlan(service.db, plan, { afterExpiry: 'nothing' });
    await follow(id);
    await release(id, '3.1.0');
    await follow(id);
    expect([upTo(), existsSync(folder)]).toEqual([[], false]);
  });

  it('has such files for the products of a club', async () => {
    const id = await product();
    for (const version of ['1.0.0', '2.0.0']) await release(id, version);
    const club = await product(null);
    await editProduct(service.db, club, { includes: [id] });
    await givePlan(service.db, { productId: club, afterExpiry: 'last_release' });
    await follow(id);
    expect(readdirSync(join(home.xmlDir, `pkg_${id}`))).toEqual(['up-to-1.0.0.xml']);
  });

  it('changes the share of a rollout without taking a version away', async () => {
    const id = await product();
    await release(id, '1.0.0');
    await release(id, '2.0.0');
    const folder = join(home.xmlDir, `rollout/pkg_${id}`);
    const buckets = () => (existsSync(folder) ? readdirSync(folder).sort() : []);
    const named = (count: number) =>
      Array.from({ length: count }, (_, i) => `${String(i).padStart(2, '0')}.xml`);
    const to = async (version: string, percent: number) => {
      await setRollout(service.db, id, version, percent);
      expect(await state(id)).toMatchObject({ state: 'stale' });
      expect(await follow(id)).toMatchObject({ state: 'written' });
      expect(await state(id)).toMatchObject({ state: 'written' });
    };

    await to('2.0.0', 3);
    expect([buckets(), versions(file(id)), versions(join(folder, '02.xml'))]).toEqual([
      named(3),
      ['1.0.0'],
      ['2.0.0'],
    ]);
    const before = statSync(join(folder, '00.xml')).mtimeMs;
    await to('2.0.0', 25);
    expect(buckets()).toEqual(named(25));
    // A file that is right already is not written again.
    expect(statSync(join(folder, '00.xml')).mtimeMs).toBe(before);
    await to('2.0.0', 10);
    expect(buckets()).toEqual(named(10));
    // A fix goes first to some of the sites that got the bad version.
    await release(id, '2.1.0');
    await to('2.1.0', 5);
    expect([versions(join(folder, '04.xml')), versions(join(folder, '05.xml'))]).toEqual([
      ['2.1.0'],
      ['2.0.0'],
    ]);
    await to('2.1.0', 100);
    expect([buckets(), versions(file(id))]).toEqual([[], ['2.1.0']]);
    expect(await listOfferedVersions(service.db, id)).toEqual(['2.1.0', '1.0.0']);
  });

  it('leaves no buckets in a place where it is no longer written', async () => {
    const id = await product();
    await release(id, '1.0.0');
    await release(id, '2.0.0');
    await setRollout(service.db, id, '2.0.0', 10);
    await follow(id);
    const folder = join(home.xmlDir, `rollout/pkg_${id}`);
    expect(readdirSync(folder)).toHaveLength(10);
    writeFileSync(join(folder, 'notes.txt'), 'mine');

    const elsewhere = join(temporaryFolder(), 'updates.xml');
    const moved = await writeUpdateXml(service.db, id, { out: elsewhere }, '/', [], home);
    expect(moved.leftBehind).toBe(file(id));
    expect([readdirSync(folder), versions(file(id)), versions(elsewhere)]).toEqual([
      ['notes.txt'],
      ['1.0.0'],
      ['1.0.0'],
    ]);
  });

  it('keeps the changelog of every published version next to it', async () => {
    const id = await product();
    await giveRelease(service, { productId: id, version: '1.0.0', changelog: 'fix: a' });
    await follow(id);
    const changelog = join(home.xmlDir, `pkg_${id}-changelog.xml`);
    expect(readFileSync(changelog, 'utf8')).toContain('<fix>\n            <item><![CDATA[a]]></item>');
    expect(readFileSync(file(id), 'utf8')).toContain(
      `<changelogurl>${addressOf(id).replace('.xml', '-changelog.xml')}</changelogurl>`,
    );
    await editRelease(service.db, id, '1.0.0', { changelog: 'add: b' });
    expect(await state(id)).toMatchObject({ state: 'stale' });
    await follow(id);
    expect(readFileSync(changelog, 'utf8')).toContain('<addition>');
    writeFileSync(changelog, 'my own notes');
    expect(await follow(id)).toMatchObject({
      state: 'stale',
      reason: expect.stringContaining('-changelog.xml'),
    });
    expect(readFileSync(changelog, 'utf8')).toBe('my own notes');
    // Sites get their updates without the changelog, too.
    rmSync(changelog);
    expect(await state(id)).toMatchObject({ state: 'written' });
  });

  it('is not set without an element, and without an address', async () => {
    const notSet = { state: 'not_set', url: null };
    const id = await product(null);
    expect([await follow(id), await state(id)]).toMatchObject([notSet, { ...notSet, xml: null, out: null }]);
    home = { ...home, publicUrl: undefined };
    const other = await product();
    expect([await follow(other), await state(other)]).toMatchObject([notSet, notSet]);
    expect(existsSync(home.xmlDir)).toBe(false);
  });

  it('keeps the file and the address when the element changes', async () => {
    const id = await product();
    await release(id, '1.0.0');
    await follow(id);
    await editProduct(service.db, id, { element: 'pkg_renamed', name: 'Renamed' });

    expect(await follow(id)).toMatchObject({ state: 'written', url: addressOf(id) });
    expect(readFileSync(file(id), 'utf8')).toMatch(/<name>Renamed<[^]*<element>pkg_renamed</);
    expect(existsSync(join(home.xmlDir, 'pkg_renamed.xml'))).toBe(false);
    // Another product may take the element, but not the file that the first product's sites ask for.
    const other = await product(`pkg_${id}`);
    await release(other, '7.0.0');
    expect(await follow(other)).toMatchObject({
      state: 'stale',
      reason: expect.stringContaining(`is already the update XML of product ${id}`),
    });
    expect(versions(file(id))).toEqual(['1.0.0']);
  });

  it('stays where it was first written, and is stale if it cannot be written there', async () => {
    const id = await product();
    await release(id, '1.0.0');
    const site = temporaryFolder();
    mkdirSync(join(site, 'updates'));
    const out = join(site, 'updates/own.xml');
    await writeUpdateXml(service.db, id, { out, baseUrl: 'https://old.example' }, '/');
    await release(id, '1.1.0');
    expect(await follow(id)).toMatchObject({ state: 'written', url: null });
    home = { ...home, joomlaRoot: site };
    expect(await follow(id)).toMatchObject({ state: 'written', url: 'https://old.example/updates/own.xml' });
    expect(versions(out)).toEqual(['1.1.0']);
    expect(existsSync(home.xmlDir)).toBe(false);

    rmSync(join(site, 'updates'), { recursive: true });
    await release(id, '1.2.0');
    const stale = { state: 'stale', url: 'https://old.example/updates/own.xml' };
    expect(await follow(id)).toMatchObject({
      ...stale,
      reason: expect.stringContaining('there is no folder'),
    });
    expect(await state(id)).toMatchObject({ ...stale, xml: expect.stringContaining('1.2.0') });
  });

  it('never throws, and never overwrites what is not an update XML', async () => {
    const id = await product();
    await release(id, '1.0.0');
    mkdirSync(home.xmlDir);
    writeFileSync(file(id), 'a poem');
    expect(await follow(id)).toMatchObject({
      state: 'stale',
      reason: expect.stringContaining('something other'),
    });
    expect(readFileSync(file(id), 'utf8')).toBe('a poem');
    // A module needs a client, because it belongs either to the site or to the administrator.
    const module = await product('mod_example');
    expect(await follow(module)).toMatchObject({ state: 'stale', reason: expect.stringContaining('client') });
    expect(await follow(99_999)).toMatchObject({ state: 'stale', fault: expect.any(OperatorError) });
    await expect(state(99_999)).rejects.toThrow('There is no product');
    if (process.getuid?.() === 0) return;
    rmSync(file(id));
    chmodSync(home.xmlDir, 0o500);
    expect(await follow(id)).toMatchObject({ state: 'stale', url: addressOf(id) });
    chmodSync(home.xmlDir, 0o700);
  });

  it('accepts options, checks them like the command, and forgets them', async () => {
    const id = await product();
    await release(id, '1.0.0');
    const { db } = service;
    const options = {
      description: 'Sells <things>',
      info_url: 'https://shop.example/news',
      target_platform: '5\\.[0-9]+',
      php_minimum: '8.1',
      supported_databases: { mysql: '8.0.13' },
      tag: 'beta' as const,
    };
    expect(await setUpdateXmlOptions(db, id, options)).toMatchObject({
      ...options,
      info_title: null,
      folder: null,
    });
    expect(await follow(id)).toMatchObject({ state: 'written' });
    expect((await state(id)).options).toMatchObject(options);
    const text = readFileSync(file(id), 'utf8');
    for (const part of [
      '<description>Sells &lt;things&gt;<',
      '>https://shop.example/news<',
      'version="5\\.[0-9]+"',
      '<php_minimum>8.1<',
      'mysql="8.0.13"',
      '<tag>beta<',
    ])
      expect(text).toContain(part);
    for (const [field, value] of [
      ['target_platform', '5.1'],
      ['target_platform', '('],
      ['php_minimum', 'eight'],
      ['info_url', 'news'],
      ['supported_databases', { oracle: '1' }],
      ['tag', 'golden'],
      ['type', 'widget'],
      ['client', 'both'],
      ['folder', 'system'],
    ] as const)
      await expect(setUpdateXmlOptions(db, id, { [field]: value })).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
        field,
      });
    await expect(setUpdateXmlOptions(db, id, { type: 'module' })).rejects.toMatchObject({ field: 'client' });
    await setUpdateXmlOptions(db, id, { description: null, tag: null, php_minimum: '' });
    await follow(id);
    const { options: left } = await state(id);
    expect(left).toMatchObject({
      description: null,
      tag: null,
      php_minimum: null,
      info_url: options.info_url,
    });
    expect(readFileSync(file(id), 'utf8')).toContain('<tag>stable<');
    const empty = await product();
    await expect(setUpdateXmlOptions(db, empty, { tag: 'beta' })).rejects.toMatchObject({ field: 'tag' });
    await expect(setUpdateXmlOptions(db, 99_999, {})).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('has all versions that are published at the same time', async () => {
    const id = await product();
    const names = Array.from({ length: 8 }, (_, i) => `1.${i}.0`);
    await Promise.all(
      names.map(async (version) => {
        await release(id, version);
        await follow(id);
      }),
    );
    expect(versions(file(id))).toEqual(['1.7.0']);
    // The file keeps versions for different platforms.
    const apart = await product();
    for (const [major, version] of [
      ['4', '1.0.0'],
      ['5', '2.0.0'],
    ] as const) {
      await release(apart, version);
      await setUpdateXmlOptions(service.db, apart, { target_platform: `${major}\\.[0-9]+` });
      await follow(apart);
    }
    await Promise.all([
      withdrawRelease(service.db, apart, '1.0.0', new Date()).then(() => follow(apart)),
      release(apart, '2.1.0').then(() => follow(apart)),
    ]);
    expect(versions(file(apart))).toEqual(['2.1.0']);
    expect(await state(apart)).toMatchObject({ state: 'written' });
  });

  describe('a package with other update servers', () => {
    const manifest = (version: string, ...servers: string[]) =>
      `<extension type="package"><packagename>example</packagename><version>${version}</version><updateservers>${servers
        .map((server) => `<server type="extension">${server}</server>`)
        .join('')}</updateservers><dlid prefix="dlid="/></extension>`;
    const packed = async (version: string, ...servers: string[]) =>
      (await makePackage({ 'pkg_example.xml': manifest(version, ...servers) })).path;
    const put = (
      productId: number,
      version: string,
      file: string | undefined,
      more: Partial<JoomlaPublishRequest> = {},
    ) =>
      publish(
        service.db,
        { packagesDir: service.packagesDir, home },
        { productId, version, file, changelog: undefined, draft: false, date: undefined, ...more },
        new Date(),
      );
    const refused = { code: 'INVALID_REQUEST', field: 'file', facts: { reason: 'other-update-server' } };

    it.each<[string, string[]]>([
      ['another scheme', [SERVER.replace('https', 'http')]],
      ['a slash more', [`${SERVER}/`]],
      ['another case', [SERVER.toUpperCase()]],
      ['one more', [SERVER, `${SITE}/second.xml`]],
      ['none', []],
    ])('is refused with the reason: %s', async (_how, servers) => {
      const id = await product('pkg_example');
      await put(id, '1.0.0', await packed('1.0.0', SERVER));
      const other = await packed('1.1.0', ...servers);
      await expect(put(id, '1.1.0', other)).rejects.toMatchObject({
        ...refused,
        message: expect.stringMatching(/up to 5\.3\.0, .* loses its key.*Nothing was published\.$/),
      });
      // A draft is stored with a warning, and refused when it is published.
      const [draft] = (await put(id, '1.1.0', other, { draft: true })).remarks.filter(
        ({ code }) => code === 'other-update-server',
      );
      expect(draft?.message).toMatch(/^when it is published: /);
      await expect(put(id, '1.1.0', undefined)).rejects.toMatchObject(refused);
      const { release: published } = await put(id, '1.1.0', undefined, { newUpdateServer: true });
      expect(published.state).toBe('published');
      // The next version is compared with the accepted one.
      await put(id, '1.2.0', await packed('1.2.0', ...servers));
    });

    it('is accepted as the first one, the first with any servers, or with the same servers in another order', async () => {
      const id = await product('pkg_example');
      await put(id, '1.0.0', await packed('1.0.0'), { unchecked: true });
      await put(id, '1.1.0', await packed('1.1.0', SERVER, `${SITE}/b.xml`));
      expect((await put(id, '1.2.0', await packed('1.2.0', `${SITE}/b.xml`, SERVER))).remarks).toEqual([]);
    });

    it('is compared with the service’s address if the earlier package is missing, and a remark says so', async () => {
      const id = await product('pkg_example');
      const { release: first } = await put(id, '1.0.0', await packed('1.0.0', SERVER));
      rmSync(join(service.packagesDir, `${first.sha256}.zip`));
      await expect(put(id, '1.1.0', await packed('1.1.0', `${SITE}/other.xml`))).rejects.toMatchObject({
        facts: { reason: 'foreign-server' },
      });
      const { remarks } = await put(id, '1.1.0', await packed('1.1.0', SERVER));
      expect(remarks).toMatchObject([
        { code: 'before-unread', message: expect.stringContaining('package of version 1.0.0 is missing') },
      ]);
    });
  });
});
