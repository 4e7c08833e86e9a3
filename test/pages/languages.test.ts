import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addOperator } from '../../src/access/operators';
import { addProduct } from '../../src/licensing/catalogue';
import { setUpdateXmlSettings } from '../../src/store/catalogue';
import { NOW, startManaged, type Managed } from '../support/manage';
import { giveRelease } from '../support/packages';
import { eventually, temporaryFolder } from '../support/processes';
import { giveLicense, givePlan, rows } from '../support/service';
import { customerClient, pagesClient, textOf } from './support/session';

/** A page's language also applies to what it leads to: the mails that it sends, and the reasons that it gives. */

let service: Managed;
const mails = join(temporaryFolder(), 'mails');
const xmlDir = join(temporaryFolder(), 'xml');
beforeAll(async () => {
  service = await startManaged({
    LICENSING_MAIL_URL: `file:${mails}?from=sales@shop.example`,
    LICENSING_PUBLIC_URL: 'https://shop.example',
    LICENSING_XML_DIR: xmlDir,
  });
});
afterAll(() => service.stop());

/** Returns the text of the next mail. */
async function nextMail(send: () => Promise<unknown>): Promise<string> {
  const before = existsSync(mails) ? readdirSync(mails) : [];
  await send();
  const name = await eventually(() => {
    const found = readdirSync(mails).find((one) => one.endsWith('.eml') && !before.includes(one));
    if (found === undefined) throw new Error('no mail');
    return found;
  });
  return readFileSync(join(mails, name), 'utf8')
    .replace(/=\r?\n/g, '')
    .replace(/\s+/g, ' ');
}

/** Both languages, because the shop itself has one of them. */
describe.each([
  [
    'en',
    {
      link: 'If you did not ask for it',
      operator: 'It works once, within ten minutes',
      site: 'If you did not remove it',
      key: 'If you did not change the key',
    },
  ],
  [
    'de',
    {
      link: 'Er funktioniert einmal, innerhalb einer Stunde',
      operator: 'Er funktioniert einmal, innerhalb von zehn Minuten',
      site: 'Haben Sie die Website nicht entfernt',
      key: 'hat einen neuen Schl',
    },
  ],
] as const)('mails of the pages in %s', (language, says) => {
  const email = `${language}@example.com`;
  let license: { id: number; key: string };
  beforeAll(async () => {
    const plan = await givePlan(service.db, { limit: 3, selfServiceMoves: 3 }, NOW);
    license = await giveLicense(service.db, plan, { customer: email }, NOW);
    await service.write.ok(
      `POST /licenses/${license.id}/activations`,
      { identifier: `${language}.example` },
      201,
    );
  });

  it('the link that a typed address asks for', async () => {
    const nobody = await pagesClient(service, { scope: 'none', language });
    expect(await nextMail(() => nobody.post('/my/link', { email }))).toContain(says.link);
  });

  it('the link that a key asks for', async () => {
    const customer = await customerClient(service, { key: license.key }, { language });
    expect(await nextMail(() => customer.post('/my/link'))).toContain(says.link);
  });

  it('the link of an operator', async () => {
    const boss = `boss.${email}`;
    await addOperator(service.db, { email: boss, scope: 'read' }, { actor: 'operator:test', now: NOW });
    const nobody = await pagesClient(service, { scope: 'none', language });
    expect(await nextMail(() => nobody.post('/sign-in/link', { email: boss }))).toContain(says.operator);
  });

  it('a removed site, and a new key', async () => {
    const customer = await customerClient(service, { email }, { language });
    const [site] = (await rows<{ id: number; license_id: number }>(service.db, 'activations')).filter(
      ({ license_id: id }) => id === license.id,
    );
    const path = `/my/licenses/${license.id}`;
    expect(await nextMail(() => customer.post(`${path}/sites/${site!.id}/remove`))).toContain(says.site);
    const [key] = (await rows<{ id: number; license_id: number }>(service.db, 'license_keys')).filter(
      ({ license_id: id }) => id === license.id,
    );
    const making = () => customer.post(`${path}/keys/${key!.id}/new`, { overlap: 'none' });
    expect(await nextMail(making)).toContain(says.key);
  });
});

describe('why an update XML is stale', () => {
  const about = async (id: number, language: 'en' | 'de') => {
    const reader = await pagesClient(service, { scope: 'read', language });
    return textOf((await reader.get(`/releases?product_id=${id}`)).html);
  };
  const give = async (id: number, element: string) => {
    await addProduct(service.db, { id, name: `Product ${id}`, element }, NOW);
    await giveRelease(service, { productId: id, version: '1.0.0' });
    await service.write.ok(`PUT /products/${id}/update-xml`, {});
    return join(xmlDir, `${element}.xml`);
  };

  it('says that it is missing or old, in the page’s language', async () => {
    const file = await give(51, 'pkg_old');
    writeFileSync(file, '<updates></updates>');
    expect(await about(51, 'en')).toContain(`${file} does not offer what is published now.`);
    expect(await about(51, 'de')).toContain(`${file} bietet nicht an, was jetzt veröffentlicht ist.`);
    rmSync(file);
    expect(await about(51, 'en')).toContain(`${file} is missing or cannot be read.`);
    expect(await about(51, 'de')).toContain(`${file} fehlt oder ist nicht lesbar.`);
  });

  it('says why it cannot be made, without the words of the command', async () => {
    await give(52, 'pkg_useless');
    await setUpdateXmlSettings(service.db, 52, JSON.stringify({ phpMinimum: 'new' }));
    expect(await about(52, 'en')).toContain('Please type a PHP version such as 8.1');
    const german = await about(52, 'de');
    expect(german).toContain('Grund: Bitte geben Sie eine PHP-Version ein');
    expect(german).not.toMatch(/a PHP version|--/);
  });
});

describe('the words of pages', () => {
  const folder = join(__dirname, '../../src/texts/operators');
  // A variable needs the server's files and a restart. Only the doctor names one, and only if it is necessary.
  const files = ['en', 'de'].flatMap((language) =>
    readdirSync(join(folder, language))
      .filter((name) => name !== 'doctor.ts')
      .map((name) => `${language}/${name}`),
  );

  it.each(files)('of %s name no variable of the settings file', (file) => {
    expect(readFileSync(join(folder, file), 'utf8').match(/.*LICENSING_.*/g)).toBeNull();
  });
});
