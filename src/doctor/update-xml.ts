import { constants, type Stats } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readUpdateXmlState, type ReadUpdateXml } from '../joomla/regenerate-update-xml';
import { changelogBeside } from '../joomla/changelog';
import { lintChangelog } from '../joomla/lint/changelog';
import { BUCKET_HEADER } from '../joomla/update-xml/rollout-support';
import { XML_PATH } from '../joomla/update-xml/location';
import { listProducts, type Product } from '../store/catalogue';
import type { Db } from '../store/engine/database';
import { listPublishedVersions } from '../store/releases';
import { octal, serviceUser } from './file-readers';
import {
  runCheck,
  ok,
  problem,
  shortReason,
  unchecked,
  warning,
  type Check,
  type CheckFinding,
} from './finding';
import { AS_JOOMLA, challengeOf, header, httpGet } from './http-get';
import { mayUse, readNginxUser } from './nginx-user';

interface ProductXml {
  product: Product;
  xml: ReadUpdateXml;
}

/** Checks that each product's update XML offers the published version, and that the web server serves it. */
export const checkUpdateXml: Check = async (patient) => {
  const { config, db, url } = patient;
  const xmls = await readAll(db, config);
  const { publicUrl, xmlDir } = config;
  const home = xmls.filter(({ xml }) => xml.out !== null && dirname(xml.out) === xmlDir);
  const written = home.filter(({ xml }) => xml.state === 'written');
  const served = written.find(({ xml }) => xml.rollouts.length > 0) ?? written[0];
  const isSite = url !== undefined && publicUrl !== undefined && new URL(publicUrl).host === url.host;
  return [
    ...(home.length === 0 ? [] : await runCheck('UPDATE_XML_FOLDER', () => checkFolder(xmlDir))),
    ...describeStates(xmls),
    ...(served === undefined || !isSite
      ? []
      : await runCheck('UPDATE_XML_SERVED', async () => [
          await checkServed(served.xml, patient),
          ...(await checkChangelog(served.xml, patient)),
        ])),
  ];
};

async function readAll(db: Db, config: Parameters<Check>[0]['config']): Promise<ProductXml[]> {
  const found: ProductXml[] = [];
  for (const product of await listProducts(db)) {
    // No site needs the update XML of a product without versions.
    if (product.element === null || (await listPublishedVersions(db, product.id)).length === 0) continue;
    const xml = await readUpdateXmlState(db, config, product.id);
    if (xml.state !== 'not_set') found.push({ product, xml });
  }
  return found;
}

function describeStates(xmls: ProductXml[]): CheckFinding[] {
  const stale = xmls.filter(({ xml }) => xml.state === 'stale');
  if (stale.length === 0) return xmls.length === 0 ? [] : [ok('UPDATE_XML', (t) => t.xmlsFit)];
  return stale.map(({ product, xml }) => warning('UPDATE_XML_STALE', (t) => t.xmlStale(product.id, xml)));
}

async function checkFolder(folder: string): Promise<CheckFinding[]> {
  const nginx = await readNginxUser();
  const command = `install -d -m 750 -o ${serviceUser()} -g ${nginx?.group ?? serviceUser()} ${folder}`;
  const way: { path: string; stats: Stats }[] = [];
  try {
    for (let path = folder; ; path = dirname(path)) {
      way.push({ path, stats: await stat(path) });
      if (path === dirname(path)) break;
    }
  } catch (error) {
    return [problem('UPDATE_XML_FOLDER', (t) => t.xmlFolder(folder, command, shortReason(error)))];
  }
  const closed = nginx && way.reverse().find(({ stats }) => !mayUse(nginx, stats, 1));
  if (nginx && closed)
    return [
      problem('UPDATE_XML_NGINX', (t) =>
        t.xmlNginx(nginx.name, nginx.group, closed.path, octal(closed.stats.mode), XML_PATH),
      ),
    ];
  // Root may write everywhere, which proves nothing about the service.
  if (process.getuid?.() === 0) return [unchecked('UPDATE_XML_ACCESS', (t) => t.xmlAccessUnknown(folder))];
  const mayWrite = await access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  return mayWrite
    ? [ok('UPDATE_XML_ACCESS', (t) => t.xmlAccess(folder))]
    : [problem('UPDATE_XML_ACCESS', (t) => t.xmlNotWritable(folder, command))];
}

async function checkServed(
  { url, served, rollouts }: ReadUpdateXml,
  { ca }: { ca: string[] | undefined },
): Promise<CheckFinding> {
  const address = url ?? '';
  const code = 'UPDATE_XML_SERVED';
  try {
    const chunks: Buffer[] = [];
    const answer = await httpGet(new URL(address), {
      ...AS_JOOMLA,
      ca,
      onChunk: (chunk) => chunks.push(chunk),
    });
    if (answer.status !== 200) return problem(code, (t) => t.xmlRefused(address, XML_PATH, answer.status));
    if (rollouts.length > 0 && header(answer, BUCKET_HEADER) === '')
      return problem(code, (t) => t.xmlWithoutBucket(address, XML_PATH));
    return served.includes(Buffer.concat(chunks).toString('utf8'))
      ? ok(code, (t) => t.xmlServed(address))
      : problem(code, (t) => t.xmlOther(address, XML_PATH));
  } catch (error) {
    if (challengeOf(error) !== undefined) throw error;
    return problem(code, (t) => t.xmlUnreachable(address, XML_PATH, shortReason(error)));
  }
}

/** Checks that the changelog can be fetched and that Joomla can show it. */
async function checkChangelog(
  { url }: ReadUpdateXml,
  { ca }: { ca: string[] | undefined },
): Promise<CheckFinding[]> {
  const address = changelogBeside(url ?? '');
  const code = 'UPDATE_XML_CHANGELOG';
  const failed = (status: number | undefined, said?: string) =>
    warning(code, (t) => t.changelogFails(address, XML_PATH, url ?? '', status, said));
  try {
    const chunks: Buffer[] = [];
    const { status } = await httpGet(new URL(address), {
      ...AS_JOOMLA,
      ca,
      onChunk: (chunk) => chunks.push(chunk),
    });
    if (status !== 200) return [failed(status)];
    const [first] = lintChangelog(Buffer.concat(chunks), address);
    return [
      first === undefined
        ? ok(code, (t) => t.changelogFits(address))
        : warning(code, (t) => t.changelogWrong(address, first)),
    ];
  } catch (error) {
    if (challengeOf(error) !== undefined) throw error;
    return [failed(undefined, shortReason(error))];
  }
}
