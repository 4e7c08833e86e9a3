import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { regenerateUpdateXml } from '../../src/joomla/regenerate-update-xml';
import { readFiles, versionsIn } from '../../src/joomla/update-xml/files';
import { addProduct } from '../../src/licensing/catalogue';
import { createSiteRecorder } from '../../src/licensing/spreading';
import { releaseForShare, rolloutBucket } from '../../src/licensing/updates';
import { setRollout, withdrawRelease } from '../../src/packages/releases';
import { readGoods } from '../../src/overview/first-steps';
import { readInstalled } from '../../src/overview/overview';
import { refreshFigures } from '../../src/figures/kept-figures';
import { listPublished } from '../../src/store/releases';
import { NOW, startManaged, type Managed } from '../support/manage';
import { giveRelease } from '../support/packages';
import { eventually, temporaryFolder } from '../support/processes';
import { giveLicense, givePlan, PREFIX } from '../support/service';

/** Tests that the API, downloads, files, pages and answers name the same version, even during a rollout. */

let service: Managed;
beforeAll(async () => {
  service = await startManaged();
});
afterAll(() => service.stop());

const DAY = 86_400_000;
let nextId = 1000;
/** Returns the time n days after NOW, which is day 0. */
const day = (n: number) => new Date(NOW.getTime() + n * DAY);

interface Row {
  /** Version, share and day of publication of each release; `gone` if it is withdrawn. */
  releases: [version: string, rollout: number, day: number, state?: 'gone'][];
  /** The day on which the licence ended, which still downloads earlier releases; `undefined` if it is active. */
  endedOn?: number;
  /** The version that the API offers to an address inside every share, and to one outside all shares. */
  offered: [inside: string | null, outside: string | null];
  /** The version that the licence's downloads give, if it differs. */
  given?: [inside: string, outside: string];
  /** The version that most addresses are offered. The pages name it. */
  most: string;
}

describe.each<[string, Row]>([
  [
    'a rollout',
    {
      releases: [
        ['1.0', 100, -9],
        ['1.1', 10, -5],
      ],
      offered: ['1.1', '1.0'],
      most: '1.0',
    },
  ],
  [
    'a withdrawn rollout',
    {
      releases: [
        ['1.0', 100, -9],
        ['1.1', 10, -5, 'gone'],
      ],
      offered: ['1.0', '1.0'],
      most: '1.0',
    },
  ],
  [
    'a rollout that a newer version replaced',
    {
      releases: [
        ['1.0', 100, -9],
        ['1.1', 10, -5],
        ['1.2', 100, -2],
      ],
      offered: ['1.2', '1.2'],
      most: '1.2',
    },
  ],
  [
    'a rollout within a rollout',
    {
      releases: [
        ['1.0', 100, -9],
        ['1.1', 10, -5],
        ['1.2', 10, -2],
      ],
      offered: ['1.2', '1.0'],
      most: '1.0',
    },
  ],
  [
    'a pre-release beside a final version',
    {
      releases: [
        ['1.0', 100, -9],
        ['1.1-beta', 10, -5],
      ],
      offered: ['1.0', '1.0'],
      most: '1.0',
    },
  ],
  [
    'pre-releases alone',
    {
      releases: [
        ['1.0-alpha', 100, -9],
        ['1.0-beta', 10, -5],
      ],
      offered: ['1.0-beta', '1.0-alpha'],
      most: '1.0-alpha',
    },
  ],
  ['the first version', { releases: [['1.0', 10, -5]], offered: ['1.0', null], most: '1.0' }],
  [
    'the last release of a licence that ended after a rollout began',
    {
      releases: [
        ['1.0', 100, -9],
        ['1.1', 10, -8],
        ['1.2', 100, -2],
      ],
      endedOn: -7,
      offered: ['1.2', '1.2'],
      given: ['1.1', '1.0'],
      most: '1.2',
    },
  ],
  [
    'the last release of a licence that ended before a rollout began',
    {
      releases: [
        ['1.0', 100, -9],
        ['1.1', 10, -5],
      ],
      endedOn: -7,
      offered: ['1.1', '1.0'],
      given: ['1.0', '1.0'],
      most: '1.0',
    },
  ],
])('%s', (_name, { releases, endedOn, offered, given = offered, most }) => {
  const id = nextId++;
  const element = `pkg_${id}`;
  const addresses = Array.from({ length: 200 }, (_, i) => `198.51.100.${i + 1}`);
  const inside = addresses.find((ip) => rolloutBucket(ip, id) < 10)!;
  const outside = addresses.find((ip) => rolloutBucket(ip, id) >= 50)!;
  const home = { xmlDir: join(temporaryFolder(), 'xml'), publicUrl: 'https://shop.example' };
  let license: { id: number; key: string };

  beforeAll(async () => {
    const { db } = service;
    await addProduct(db, { id, name: 'Example', element }, NOW);
    for (const [version, rollout, published, state] of releases) {
      await giveRelease(service, { productId: id, version, date: day(published) });
      if (rollout < 100) await setRollout(db, id, version, rollout);
      if (state === 'gone') await withdrawRelease(db, id, version, NOW);
    }
    const plan = await givePlan(db, { productId: id, afterExpiry: 'last_release' });
    license = await giveLicense(db, plan, endedOn === undefined ? {} : { expiresAt: day(endedOn) });
    await regenerateUpdateXml(db, home, id);
  });

  const ask = async (path: string, ip: string) =>
    fetch(`${service.url}${PREFIX}/${path}`, { headers: { 'X-Forwarded-For': ip } });
  const data = async (path: string, ip: string) =>
    ((await (await ask(path, ip)).json()) as { data: Record<string, unknown> }).data;
  const both = async <T>(work: (ip: string) => Promise<T>) => [await work(inside), await work(outside)];

  it('is what the update check offers', async () => {
    expect(await both(async (ip) => (await data(`updates/${id}`, ip)).version ?? null)).toEqual(offered);
  });

  it('is what downloads give, and what a check before them reports', async () => {
    const download = async (ip: string) => {
      const answer = await ask(`downloads/${id}?dlid=${license.key}`, ip);
      await answer.arrayBuffer();
      return /-([\d.]+(?:-\w+)?)\.zip"/.exec(answer.headers.get('content-disposition') ?? '')?.[1] ?? null;
    };
    expect(await both(download)).toEqual(given);
    const check = async (ip: string) => {
      const { entitled_version: entitled, latest } = await data(
        `downloads/${id}?dlid=${license.key}&check=1`,
        ip,
      );
      return [entitled, latest];
    };
    const latest = releaseForShare(await listPublished(service.db, id), 1)!.version;
    expect(await both(check)).toEqual(given.map((version) => [version, latest]));
  });

  it('is what the update XML offers each share', async () => {
    const { xml, buckets } = await readFiles(join(home.xmlDir, `${element}.xml`));
    // Next to the final version, Joomla offers a pre-release to testers, which is left out here.
    const proper = (text: string | undefined) =>
      versionsIn(text)?.find((version) => offered.includes(version)) ?? null;
    expect([proper(buckets.get(0) ?? xml), proper(xml)]).toEqual(offered);
  });

  it('is what pages and answers name for the address that asked last', async () => {
    for (const [ip, version] of [
      [outside, given[1]],
      [inside, given[0]],
    ] as const) {
      if (version === null) continue;
      service.clock.now = new Date(service.clock.now.getTime() + 60_000);
      await (await ask(`downloads/${id}?dlid=${license.key}&version=${version}`, ip)).arrayBuffer();
      // The log is written a moment after the answer.
      await eventually(async () => {
        const why = await service.read.ok('POST /why', { about: String(license.id) });
        const { sentence } = (why.now as { updates: { sentence: string } }).updates;
        expect([ip, sentence]).toEqual([ip, `Updates work: version ${version} is sent.`]);
      });
    }
  });

  it('is what sites are compared with', async () => {
    const { db } = service;
    const told = { licenseId: license.id, productId: id, site: 'shop.example', installedVersion: most };
    await createSiteRecorder(
      db,
      3,
    )([
      {
        at: NOW,
        endpoint: 'check',
        outcome: 'ok',
        keyId: null,
        keyHint: null,
        version: null,
        identifier: null,
        ip: null,
        userAgent: null,
        ...told,
      },
    ]);
    expect(await service.read.ok(`GET /products/${id}/sites`)).toMatchObject({ newest: most, share: 1 });
    await refreshFigures(db, undefined, () => NOW);
    expect(await readInstalled(db, await readGoods(db), id)).toMatchObject([{ newest: most, upToDate: 1 }]);
  });
});
