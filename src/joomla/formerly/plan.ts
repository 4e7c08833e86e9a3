import { basename, dirname } from 'node:path';
import { requireProduct } from '../../licensing/find-or-throw';
import { OperatorError } from '../../licensing/operator-error';
import type { Db } from '../../store/engine/database';
import { listArsItems, type FormerPlace } from './tables';
import { locateUpdateXml, type XmlLocation } from '../update-xml/location';
import { formerAddresses, nameOfFormerly, type FormerAddress, type Formerly } from './addresses';

/** Plans the legacy URLs that a web server must respond to, and the responses. */

export type FormerAnswer = FormerAddress & {
  /** for an update XML: its name in LICENSING_XML_DIR, or the path of a file elsewhere */
  xml: { name: string } | { path: string } | undefined;
};

export interface FormerPlan {
  answers: FormerAnswer[];
  /** the requests that get no response, for the seller */
  remarks: string[];
}

interface PlanOptions {
  home: XmlLocation;
  /** the place of the former system's tables */
  place: FormerPlace;
  /** the sub-folder of the site, such as `/joomla`, or empty */
  folder: string;
}

/** Plans the responses. @throws OperatorError for a product that does not exist, or has no update XML for a response */
export async function planFormerly(
  db: Db,
  list: readonly Formerly[],
  { home, place, folder }: PlanOptions,
): Promise<FormerPlan> {
  const { items, remarks } = await findArsItems(db, list, place);
  const answers: FormerAnswer[] = [];
  for (const address of formerAddresses(list, items, folder))
    answers.push({ ...address, xml: await xmlOf(db, address, home) });
  return { answers, remarks };
}

/** Returns the downloads of each update stream of ARS, and remarks about streams whose downloads are unknown. */
export async function findArsItems(
  db: Db,
  list: readonly Formerly[],
  place: FormerPlace,
): Promise<{ items: Map<string, string[]>; remarks: string[] }> {
  const remarks: string[] = [];
  const items = new Map<string, string[]>();
  for (const one of list.filter(({ system }) => system === 'ars')) {
    const found = await listArsItems(db, place, Number(one.id));
    if (found === undefined)
      remarks.push(
        `The tables of Akeeba Release System cannot be read, so downloads by ${nameOfFormerly(one)} cannot be answered. Name their path: --formerly "path=/download/acme/*.zip:${one.productId}"`,
      );
    else if (found.length === 0)
      remarks.push(
        `The update stream of ${nameOfFormerly(one)} has no downloads in ${place.prefix}ars_items.`,
      );
    else items.set(one.id, found);
  }
  return { items, remarks };
}

async function xmlOf(
  db: Db,
  { asked, productId }: FormerAddress,
  home: XmlLocation,
): Promise<FormerAnswer['xml']> {
  const product = await requireProduct(db, productId);
  if (asked !== 'xml') return undefined;
  const place = await locateUpdateXml(db, product, home);
  if (place === undefined)
    throw new OperatorError(
      `Product ${productId} has no update XML to answer with. Enter the address of the site (licensing settings set public_url), give the product its element (licensing product edit), and publish a version.`,
    );
  return dirname(place.out) === home.xmlDir ? { name: basename(place.out) } : { path: place.out };
}
