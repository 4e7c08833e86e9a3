import { expect, test } from '@jest/globals';
import { createAskForXml } from '../../src/doctor/xml-reach';
import { CHALLENGE } from '../support/challenge';
import { startManaged } from '../support/manage';
import { makePackage } from '../support/packages';
import { eventually, temporaryFolder } from '../support/processes';
import { PREFIX } from '../support/service';
import { startStaticSite } from '../support/static-site';

/** An update XML reaches no site until a web server answers at its address. */

test('the page is green only when the address of the update XML answers', async () => {
  let status = 404;
  let headers = {};
  let isSilent = false;
  const site = await startStaticSite((request, response) => {
    if (isSilent) request.socket.destroy();
    else response.writeHead(status, headers).end();
  });
  const service = await startManaged({
    LICENSING_XML_DIR: temporaryFolder(),
    LICENSING_PUBLIC_URL: site.url,
  });
  try {
    const product = (await service.write.ok(
      'POST /products',
      { name: 'Acme', element: 'pkg_acme' },
      201,
    )) as {
      id: number;
    };
    const address = `${site.url}/licensing-updates/pkg_acme.xml`;
    const manifest = `<extension type="package"><packagename>acme</packagename><version>1.0.0</version><updateservers><server>${address}</server></updateservers><dlid/></extension>`;
    const sent = await service.write.send(`POST /products/${product.id}/releases`, {
      body: (await makePackage({ 'pkg_acme.xml': manifest })).bytes,
      headers: { 'Content-Type': 'application/zip' },
    });
    expect(sent.status).toBe(201);

    const signIn = await fetch(`${service.url}${PREFIX}/pages/sign-in`, {
      method: 'POST',
      redirect: 'manual',
      headers: { Origin: service.url },
      body: new URLSearchParams({ token: service.write.token }),
    });
    const cookie = signIn.headers
      .getSetCookie()
      .map((one) => one.split(';')[0])
      .join('; ');
    const page = async () => {
      const answer = await fetch(`${service.url}${PREFIX}/pages/releases?product_id=${product.id}`, {
        headers: { Cookie: cookie },
      });
      return answer.text();
    };
    const refused = await page();
    expect(refused).toContain(`${address} answers 404`);
    expect(refused).toContain('Joomla does not offer 1.0.0.');
    expect(site.requests).toEqual(['GET /licensing-updates/pkg_acme.xml']);
    status = 200;
    // The page asks again after a minute at the earliest.
    expect(await page()).toContain('answers 404');
    service.clock.now = new Date(service.clock.now.getTime() + 60_000);
    await eventually(async () => expect(await page()).not.toContain('answers 404'));
    const green = await page();
    expect(green).toContain('<li class="yes">');
    expect(green).not.toContain('<li class="no">');
    expect(green).toContain('Joomla offers 1.0.0.');
    isSilent = true;
    service.clock.now = new Date(service.clock.now.getTime() + 60_000);
    await eventually(async () => expect(await page()).toContain(`${address} does not answer`));
    expect(await page()).toContain('It cannot be checked whether Joomla offers 1.0.0.');
    isSilent = false;
    [status, headers] = [403, CHALLENGE.headers];
    service.clock.now = new Date(service.clock.now.getTime() + 60_000);
    await eventually(async () =>
      expect(await page()).toContain(
        'Cloudflare answers instead of the site, because a program sent the request.',
      ),
    );
  } finally {
    await service.stop();
    await site.stop();
  }
});

test('an answer counts for a minute, and the earlier one is used until the next arrives', async () => {
  let now = new Date('2026-03-01T12:00:00Z');
  let status = 200;
  const site = await startStaticSite((_request, response) => response.writeHead(status).end());
  const ask = createAskForXml(() => now);
  const url = `${site.url}/a.xml`;
  expect(await ask(url)).toEqual({ state: 'answers', isStaged: false });
  status = 503;
  now = new Date(now.getTime() + 59_000);
  expect(await ask(url)).toEqual({ state: 'answers', isStaged: false });
  expect(site.requests).toHaveLength(1);
  now = new Date(now.getTime() + 1_000);
  expect(await ask(url)).toEqual({ state: 'answers', isStaged: false });
  await eventually(async () =>
    expect(await ask(url)).toEqual({ state: 'refuses', status: 503, isStaged: false }),
  );
  expect(site.requests).toHaveLength(2);
  await site.stop();
  now = new Date(now.getTime() + 60_000);
  await eventually(async () => expect(await ask(url)).toEqual({ state: 'silent' }));
});
