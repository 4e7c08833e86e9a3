import { constants, type Stats } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readUpdateXmlState, type ReadUpdateXml } from '../joomla/follow-xml';
import { changelogBeside } from '../joomla/changelog';
import { lintChangelog } from '../joomla/lint/changelog';
import { BUCKET_HEADER } from '../joomla/update-xml/staged';
import { XML_PATH } from '../joomla/update-xml/place';
import { listProducts, type Product } from '../store/catalogue';
import type { Db } from '../store/database';
import { listPublishedVersions } from '../store/releases';
import { octal, serviceUser } from './file-readers';
import { attempt, ok, problem, reasonOf, unchecked, warning, type Check, type Finding } from './finding';
import { header, httpGet } from './http-get';
import { mayUse, readNginxUser } from './nginx-user';

interface ProductXml {
  product: Product;
  xml: ReadUpdateXml;
}

/** Checks that every published product's update XML offers what is published, and that the web server serves it. */
export const checkUpdateXml: Check = async (patient) => {
  const { config, db, url } = patient;
  const xmls = await readAll(db, config);
  const { publicUrl, xmlDir } = config;
  const home = xmls.filter(({ xml }) => xml.out !== null && dirname(xml.out) === xmlDir);
  const written = home.filter(({ xml }) => xml.state === 'written');
  const served = written.find(({ xml }) => xml.rollouts.length > 0) ?? written[0];
  const isSite = url !== undefined && publicUrl !== undefined && new URL(publicUrl).host === url.host;
  return [
    ...(home.length === 0 ? [] : await attempt('UPDATE_XML_FOLDER', () => checkFolder(xmlDir))),
    ...describeStates(xmls),
    ...(served === undefined || !isSite
      ? []
      : await attempt('UPDATE_XML_SERVED', async () => [
          await checkServed(served.xml, patient),
          ...(await checkChangelog(served.xml, patient)),
        ])),
  ];
};

async function readAll(db: Db, config: Parameters<Check>[0]['config']): Promise<ProductXml[]> {
  const found: ProductXml[] = [];
  for (const product of await listProducts(db)) {
    // Nobody waits for the update XML of a product without versions.
    if (product.element === null || (await listPublishedVersions(db, product.id)).length === 0) continue;
    const xml = await readUpdateXmlState(db, config, product.id);
    if (xml.state !== 'not_set') found.push({ product, xml });
  }
  return found;
}

function describeStates(xmls: ProductXml[]): Finding[] {
  const stale = xmls.filter(({ xml }) => xml.state === 'stale');
  if (stale.length === 0)
    return xmls.length === 0
      ? []
      : [
          ok(
            'UPDATE_XML',
            'Every update XML offers what is published.',
            'Jedes Update-XML bietet an, was veröffentlicht ist.',
          ),
        ];
  return stale.map(({ product, xml }) =>
    warning(
      'UPDATE_XML_STALE',
      `The update XML of product ${product.id} is stale: ${xml.reason ?? ''}`,
      {
        why: 'Joomla offers customers what that file says, not what is published.',
        remedy: `As a user who may write it: licensing update-xml write --product ${product.id}`,
      },
      {
        ...describeStale(product, xml),
        why: 'Joomla bietet Kunden an, was in dieser Datei steht, nicht was veröffentlicht ist.',
        remedy: `Unter einem Benutzer, der sie schreiben darf: licensing update-xml write --product ${product.id}`,
      },
    ),
  );
}

function describeStale(
  { id }: Product,
  { out, offered, xml, reason }: ReadUpdateXml,
): { what: string; said?: string | undefined } {
  const what = `Das Update-XML von Produkt ${id} ist veraltet`;
  if (xml === null) return { what: `${what} und lässt sich nicht erzeugen.`, said: reason ?? undefined };
  return {
    what: `${what}: ${out ?? ''} ${offered === null ? 'fehlt oder ist nicht lesbar' : 'bietet nicht an, was veröffentlicht ist'}.`,
  };
}

async function checkFolder(folder: string): Promise<Finding[]> {
  const nginx = await readNginxUser();
  const command = `install -d -m 750 -o ${serviceUser()} -g ${nginx?.group ?? serviceUser()} ${folder}`;
  const remedy = `As root: ${command}; or correct LICENSING_XML_DIR.`;
  const remedyInGerman = `Als root: ${command}; oder berichtigen Sie LICENSING_XML_DIR.`;
  const way: { path: string; stats: Stats }[] = [];
  try {
    for (let path = folder; ; path = dirname(path)) {
      way.push({ path, stats: await stat(path) });
      if (path === dirname(path)) break;
    }
  } catch (error) {
    return [
      problem(
        'UPDATE_XML_FOLDER',
        `The folder of the update XMLs ${folder} cannot be used: ${reasonOf(error)}.`,
        {
          why: 'What is published reaches no Joomla.',
          remedy,
        },
        {
          what: `Der Ordner der Update-XMLs ${folder} ist nicht benutzbar.`,
          said: reasonOf(error),
          why: 'Was veröffentlicht ist, erreicht kein Joomla.',
          remedy: remedyInGerman,
        },
      ),
    ];
  }
  const closed = nginx && way.reverse().find(({ stats }) => !mayUse(nginx, stats, 1));
  if (nginx && closed)
    return [
      problem(
        'UPDATE_XML_NGINX',
        `nginx, which runs as ${nginx.name}, may not enter ${closed.path} (mode ${octal(closed.stats.mode)}).`,
        {
          why: `nginx serves the update XMLs at ${XML_PATH} from there: Joomla gets 403.`,
          remedy: `As root: chgrp ${nginx.group} ${closed.path} && chmod g+x ${closed.path}; then: licensing doctor`,
        },
        {
          what: `nginx läuft als ${nginx.name} und darf ${closed.path} nicht betreten (Modus ${octal(closed.stats.mode)}).`,
          why: `Von dort liefert nginx die Update-XMLs unter ${XML_PATH} aus: Joomla bekommt 403.`,
          remedy: `Als root: chgrp ${nginx.group} ${closed.path} && chmod g+x ${closed.path}; dann: licensing doctor`,
        },
      ),
    ];
  // Root may write everywhere, which tells nothing of the service.
  if (process.getuid?.() === 0)
    return [
      unchecked(
        'UPDATE_XML_ACCESS',
        `Whether the service may write to ${folder} cannot be told as root, who may do everything.`,
        'Run this as the user the service runs as: sudo -u USER licensing doctor',
        {
          what: `Ob der Dienst in ${folder} schreiben darf, lässt sich als root nicht sagen, denn root darf alles.`,
          remedy:
            'Führen Sie dies unter dem Benutzer aus, unter dem der Dienst läuft: sudo -u USER licensing doctor',
        },
      ),
    ];
  const mayWrite = await access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  return mayWrite
    ? [
        ok(
          'UPDATE_XML_ACCESS',
          `This user may write to ${folder}.`,
          `Dieser Benutzer darf in ${folder} schreiben.`,
        ),
      ]
    : [
        problem(
          'UPDATE_XML_ACCESS',
          `This user may not write to ${folder}.`,
          {
            why: 'If it is the user the service runs as, its update XMLs stay as they are when something is published.',
            remedy,
          },
          {
            what: `Dieser Benutzer darf nicht in ${folder} schreiben.`,
            why: 'Läuft der Dienst unter ihm, bleiben die Update-XMLs beim Veröffentlichen, wie sie sind.',
            remedy: remedyInGerman,
          },
        ),
      ];
}

async function checkServed(
  { url, served, rollouts }: ReadUpdateXml,
  { ca }: { ca: string[] | undefined },
): Promise<Finding> {
  const address = url ?? '';
  const failed = (what: string, german: string, said?: string) =>
    problem(
      'UPDATE_XML_SERVED',
      `${address} ${what}.`,
      {
        why: "Joomla asks there for updates, if the extension's manifest names this address.",
        remedy: `Let the web server serve LICENSING_XML_DIR at ${XML_PATH}: licensing nginx (docs/nginx.md) or docs/apache.md; and see that LICENSING_PUBLIC_URL is the site's address.`,
      },
      {
        what: `${address} ${german}.`,
        said,
        why: 'Dort fragt Joomla nach Updates, wenn das Manifest der Erweiterung diese Adresse nennt.',
        remedy: `Lassen Sie den Webserver LICENSING_XML_DIR unter ${XML_PATH} ausliefern: licensing nginx (docs/nginx.md) oder docs/apache.md; und prüfen Sie, ob LICENSING_PUBLIC_URL die Adresse der Website ist.`,
      },
    );
  try {
    const chunks: Buffer[] = [];
    const answer = await httpGet(new URL(address), { ca, onChunk: (chunk) => chunks.push(chunk) });
    if (answer.status !== 200) return failed(`answers ${answer.status}`, `antwortet mit ${answer.status}`);
    if (rollouts.length > 0 && header(answer, BUCKET_HEADER) === '')
      return failed(
        'answers without X-Licensing-Bucket, so no share of the sites gets the version that is rolled out',
        'antwortet ohne X-Licensing-Bucket, deshalb bekommt kein Teil der Websites die Version, die ausgerollt wird',
      );
    return served.includes(Buffer.concat(chunks).toString('utf8'))
      ? ok(
          'UPDATE_XML_SERVED',
          `${address} is the file that was written.`,
          `${address} ist die geschriebene Datei.`,
        )
      : failed('is another file than the one that was written', 'ist nicht die geschriebene Datei');
  } catch (error) {
    return failed(`cannot be reached: ${reasonOf(error)}`, 'ist nicht erreichbar', reasonOf(error));
  }
}

/** The changelog that Joomla shows in its own window, read as Joomla reads it. */
async function checkChangelog(
  { url }: ReadUpdateXml,
  { ca }: { ca: string[] | undefined },
): Promise<Finding[]> {
  const address = changelogBeside(url ?? '');
  const why = 'Joomla shows it in its own window, before and after an update.';
  const whyInGerman = 'Joomla zeigt es im eigenen Fenster, vor und nach einer Aktualisierung.';
  const remedy = `Let the web server serve LICENSING_XML_DIR at ${XML_PATH}; then: licensing update-xml lint ${url ?? ''}`;
  const remedyInGerman = `Lassen Sie den Webserver LICENSING_XML_DIR unter ${XML_PATH} ausliefern; dann: licensing update-xml lint ${url ?? ''}`;
  const failed = (what: string, german: string, said?: string) =>
    warning(
      'UPDATE_XML_CHANGELOG',
      `The changelog ${address} ${what}.`,
      { why, remedy },
      { what: `Das Changelog ${address} ${german}.`, said, why: whyInGerman, remedy: remedyInGerman },
    );
  try {
    const chunks: Buffer[] = [];
    const { status } = await httpGet(new URL(address), { ca, onChunk: (chunk) => chunks.push(chunk) });
    if (status !== 200) return [failed(`answers ${status}`, `antwortet mit ${status}`)];
    const [first] = lintChangelog(Buffer.concat(chunks), address);
    if (first !== undefined)
      return [
        warning(
          'UPDATE_XML_CHANGELOG',
          first.problem,
          { why, remedy: first.remedy },
          {
            what: `Joomla zeigt das Changelog ${address} nicht richtig${first.line === undefined ? '' : `, Zeile ${first.line}`}.`,
            said: first.problem,
            why: whyInGerman,
            remedy: remedyInGerman,
          },
        ),
      ];
    return [
      ok(
        'UPDATE_XML_CHANGELOG',
        `Joomla can show the changelog ${address}.`,
        `Joomla kann das Changelog ${address} zeigen.`,
      ),
    ];
  } catch (error) {
    return [failed(`cannot be reached: ${reasonOf(error)}`, 'ist nicht erreichbar', reasonOf(error))];
  }
}
