import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { rowToFields } from '../../src/store/engine/row-fields';
import { operator, type Operator } from '../support/operator';
import { startManaged, type Managed } from '../support/manage';
import { giveRelease, makePackage } from '../support/packages';
import { giveLicense, givePlan, newPlace, ONE_KIND, rows } from '../support/service';
import { customerClient, pagesClient, textOf } from '../pages/support/session';

/** The statements of a version about its security holes: advice, their names, and the version with the same fix. */

const CVES = ['CVE-2026-1234', 'CVE-2026-123456'];
const ADVISORY = 'Change **all** passwords.\n\n- Look for user <admin2>.';

describe.each(ONE_KIND)('advice, on %s', (kind) => {
  let service: Managed;
  let seller: Operator;
  let write: Managed['write'];
  let first: number;
  let foreign: number;
  beforeAll(async () => {
    const settings = {
      ...(await newPlace(kind)),
      LICENSING_MAIL_URL: 'smtp://127.0.0.1:9?from=shop@shop.example',
      LICENSING_PUBLIC_URL: 'https://shop.example',
    };
    service = await startManaged(settings);
    seller = operator(settings);
    ({ write } = service);
    await givePlan(service.db, { afterExpiry: 'security' });
    await givePlan(service.db, { productId: 43 });
    first = (await giveRelease(service, { version: '2.4.2', security: true })).release.id;
    foreign = (await giveRelease(service, { version: '2.4.2', productId: 43 })).release.id;
  });
  afterAll(() => service.stop());

  async function upload(fields: Record<string, string>) {
    const body = new FormData();
    for (const [name, value] of Object.entries(fields)) body.append(name, value);
    body.append('file', new Blob([new Uint8Array((await makePackage()).bytes)]), 'package.zip');
    return write.send('POST /products/42/releases', { body });
  }
  const stored = async (version: string) =>
    rowToFields(
      (await rows(service.db, 'releases')).find((one) => one.version === version && one.product_id === 42)!,
    );

  it('comes with an upload, with a draft, and with its publication', async () => {
    const fields = { advisory: ADVISORY, cve: CVES.join(', '), same_fix_as: String(first) };
    const { status, body } = await upload({ version: '3.0.1', security: '1', ...fields });
    expect(status).toBe(201);
    expect(body.data).toMatchObject({ advisory: ADVISORY, cve: CVES, same_fix_as: first });
    expect(await service.read.ok(`GET /releases/${body.data.id}`)).toMatchObject({
      cve: CVES,
      same_fix_as: first,
    });
    const { id } = body.data as { id: number };
    const draft = await upload({ version: '3.1.0', draft: '1', cve: CVES[0] as string });
    expect(draft.body.data).toMatchObject({ advisory: null, cve: [CVES[0]], same_fix_as: null });
    const published = await write.ok(`POST /releases/${draft.body.data.id}/publish`, {
      ...{ advisory: ` ${ADVISORY}\r\n`, same_fix_as: id },
    });
    expect(published).toMatchObject({ advisory: ADVISORY, cve: [CVES[0]], same_fix_as: id });
  });

  it('is changed and removed, and an absent field stays', async () => {
    const path = `PATCH /releases/${first}`;
    const name = CVES[0] as string;
    expect(await write.ok(path, { cve: [name, ` ${name} `], advisory: 'x'.repeat(2_000) })).toMatchObject({
      cve: [name],
    });
    expect(await write.ok(path, { advisory: '😀'.repeat(2_000) })).toMatchObject({
      cve: [name],
      same_fix_as: null,
    });
    expect(await write.ok(path, { security: true })).toMatchObject({ advisory: '😀'.repeat(2_000) });
    expect(await write.ok(path, { advisory: ' ', cve: [] })).toMatchObject({ advisory: null, cve: [] });
    expect(await write.ok(path, { advisory: null, same_fix_as: null })).toMatchObject({ advisory: null });
  });

  it.each<[string, object, RegExp]>([
    ['advisory', { advisory: 'x'.repeat(2_001) }, /2,000/],
    ['advisory', { advisory: 'a\0b' }, /UTF-8/],
    ['advisory', { advisory: 5 }, /string/],
    ['cve', { cve: ['CVE-2026-123'] }, /CVE-2026-12345/],
    ['cve', { cve: ['2026-1234'] }, /at least four digits/],
    ['cve', { cve: [''] }, /at least four digits/],
    ['cve', { cve: Array.from({ length: 51 }, (_, i) => `CVE-2026-${1_000 + i}`) }, /at most 50/],
    ['cve', { cve: CVES[0] }, /array/],
    ['same_fix_as', { same_fix_as: 999_999 }, /no version/],
    ['same_fix_as', { same_fix_as: 'x' }, /integer/],
    ['same_fix_as', { same_fix_as: 0 }, /./],
  ])('a wrong %s is 400, and nothing is changed (%#)', async (field, body, reason) => {
    const before = await rows(service.db, 'releases');
    const answer = await write.send(`PATCH /releases/${first}`, { body });
    const { code, field: named, message } = answer.body.error;
    expect([answer.status, code, String(named).split('.')[0]]).toEqual([400, 'INVALID_REQUEST', field]);
    expect(message).toMatch(reason);
    expect(await rows(service.db, 'releases')).toEqual(before);
  });

  it('has the same fix as another version of the same product only, and nothing is published otherwise', async () => {
    const refuse = async (id: number) =>
      (await write.send(`PATCH /releases/${first}`, { body: { same_fix_as: id } })).body.error;
    expect(await refuse(first)).toMatchObject({
      field: 'same_fix_as',
      message: expect.stringMatching(/itself/),
    });
    expect(await refuse(foreign)).toMatchObject({
      field: 'same_fix_as',
      message: expect.stringMatching(/Product 42/),
    });
    const count = (await rows(service.db, 'releases')).length;
    for (const wrong of [
      { same_fix_as: String(foreign) },
      { cve: 'CVE-1' },
      { advisory: 'x'.repeat(2_001) },
    ]) {
      const answer = await upload({ version: '9.0.0', ...(wrong as Record<string, string>) });
      expect([answer.status, answer.body.error.field]).toEqual([400, Object.keys(wrong)[0]]);
    }
    expect(await rows(service.db, 'releases')).toHaveLength(count);
  });

  it('is given and removed by the command, where a version names the same fix', async () => {
    const of = (version: string) => ['--product', '42', '--version', version];
    const file = (await makePackage()).path;
    const given = ['--advisory', ADVISORY, '--cve', CVES.join(','), '--same-fix-as', '2.4.2'];
    expect(
      await seller.json(['release', 'publish', ...of('4.0.1'), '--file', file, '--security', ...given]),
    ).toMatchObject({ advisory: ADVISORY, cve: CVES, same_fix_as: first });
    const edit = (...options: string[]) => seller.run(['release', 'edit', ...of('4.0.1'), ...options]);
    const { stdout } = await edit('--cve', CVES[1] as string, '--same-fix-as', String(first));
    expect(stdout).toContain('The advice of version 4.0.1 is changed.');
    expect(await stored('4.0.1')).toMatchObject({ advisory: ADVISORY, cve: [CVES[1]], sameFixAs: first });
    for (const [wrong, reason] of [
      [['--cve', 'CVE-1'], /at least four digits/],
      [['--same-fix-as', '4.0.1'], /itself/],
      [['--same-fix-as', '7.7.7'], /no version 7\.7\.7/],
      [['--advisory', 'x'.repeat(2_001)], /2,000/],
    ] as const) {
      const { code, stderr } = await edit(...wrong);
      expect([code, stderr]).toEqual([1, expect.stringMatching(reason)]);
    }
    await edit('--cve', 'none', '--same-fix-as', 'none', '--advisory', 'none');
    expect(await stored('4.0.1')).toMatchObject({ advisory: null, cve: [], sameFixAs: null });
  });

  it('is mailed by the command, which first prints how to give the fix for free', async () => {
    const { db } = service;
    const keeping = await givePlan(db);
    const generous = await givePlan(db, { afterExpiry: 'security' });
    const expiresAt = new Date(service.clock.now.getTime() - 86_400_000);
    await giveLicense(db, keeping, { customer: 'commanded@example.com', expiresAt });
    const line = ['release', 'notify', '--product', '42', '--version', '2.4.2', '--audience', 'everybody'];
    const dry = await seller.run([...line, '--dry-run']);
    expect(dry.stdout).toContain('1 mail:\n\nSecurity hole in Example Shop before version 2.4.2');
    expect(dry.stderr).toContain('From 11 December 2027 the law asks for free security updates');
    expect(dry.stderr).toContain(`  licensing plan edit ${keeping} --after-expiry security`);
    expect(dry.stderr).not.toContain(`plan edit ${generous} `);
    expect(await rows(db, 'outbox')).toEqual([]);
    const unasked = await seller.run(line);
    expect([unasked.code, unasked.stderr]).toEqual([1, expect.stringContaining('Nothing was sent')]);
    const sent = await seller.run([...line, '--yes']);
    expect([sent.stdout, sent.stderr]).toEqual([
      expect.stringContaining('1 mail will be sent'),
      expect.stringContaining('the law asks for free security updates'),
    ]);
    expect(await rows(db, 'outbox')).toMatchObject([{ type: 'security_notice' }]);
    expect((await seller.run([...line.slice(0, -1), 'all'])).code).toBe(2);
  });

  it('is typed on the page, and customers see it before what is fixed, by key and by mail', async () => {
    const pages = await pagesClient(service);
    const path = `/releases/${first}/edit`;
    const changelog = 'fix: Faster.\nsecurity: Only the owner sees an order.';
    const form = (await pages.get(path)).html;
    expect(form).toMatch(/<option value="\d+">4\.0\.1<\/option>/);
    expect(form).not.toMatch(/<option value="\d+">2\.4\.2<\/option>/);
    const { id: other } = (await stored('4.0.1')) as { id: number };
    const typed = {
      changelog,
      security: 'true',
      advisory: ADVISORY,
      cve: CVES.join(' '),
      same_fix_as: other,
    };
    const refused = await pages.post(path, { ...typed, cve: 'CVE-26-1' });
    expect([refused.status, textOf(refused.html)]).toEqual([
      400,
      expect.stringContaining('Please type names such as CVE-2026-12345'),
    ]);
    expect(refused.html).toContain('value="CVE-26-1"');
    await pages.send(path, typed);
    expect(await stored('2.4.2')).toMatchObject({ advisory: ADVISORY, cve: CVES, sameFixAs: other });
    const again = (await pages.get(path)).html;
    expect(again).toContain(`value="${CVES.join(', ')}"`);
    expect(again).toMatch(new RegExp(`<option value="${other}" selected`));
    expect(textOf((await pages.get('/releases.csv?product_id=42')).html)).toContain(CVES.join(', '));

    const { key } = await giveLicense(service.db, await givePlan(service.db), { customer: 'jo@example.com' });
    const shown =
      /CVE-2026-1234, CVE-2026-123456 ?Security Change \*\*all\*\* passwords\. ?Security Look for user <admin2>\. ?Security Only the owner/;
    const byKey = await customerClient(service, { key });
    expect(textOf((await byKey.get('/my?all=42')).html)).toMatch(shown);
    const byMail = await customerClient(service, { email: 'jo@example.com' });
    const { html } = await byMail.get('/my/mail');
    expect(html).not.toContain('<admin2>');
    await write.ok(`PATCH /releases/${other}`, { advisory: 'Update now.', cve: [CVES[1]] });
    expect(textOf((await byMail.get('/my/mail')).html)).toMatch(
      /Version 4\.0\.1 of Example Shop closes a security hole\. Please update\. ?Security CVE-2026-123456 ?Security Update now\./,
    );

    // An upload form sends the fields that were left empty.
    const body = new FormData();
    for (const name of ['advisory', 'cve', 'same_fix_as', 'changelog']) body.append(name, '');
    for (const [name, value] of [
      ['version', '5.0.0'],
      ['draft', '0'],
      ['rollout', '100'],
    ])
      body.append(name as string, value);
    body.append('file', new Blob([new Uint8Array((await makePackage()).bytes)]), 'package.zip');
    await pages.get('/products/42/releases/new');
    await pages.send('/products/42/releases/new', body);
    expect(await stored('5.0.0')).toMatchObject({ advisory: null, cve: [], sameFixAs: null });
  });
});
