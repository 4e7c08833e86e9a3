import { SealError } from '../licensing/sealing';
import { openKey } from '../licensing/issue';
import type { License } from '../licensing/licenses';
import { OperatorError } from '../licensing/operator-error';
import type { Db } from '../store/engine/database';
import { findLicensesByIds } from '../store/licenses/licenses';
import { findOrder, listOrderLicenses, listOrderLines } from '../store/orders/orders';
import { orderDigest } from './names';

/** Returns the keys of all licences of an order's line, as far as they are kept and valid. */
export async function readItemKeys(
  db: Db,
  shop: string,
  { order: number, line }: { order: string; line: string },
  secret: Buffer | undefined,
): Promise<string[]> {
  const order = await findOrder(db, { digest: orderDigest(shop, number) });
  if (order === undefined) return [];
  const own = (await listOrderLines(db, [order.id])).find((one) => one.line === line);
  const licenses = (await listOrderLicenses(db, [order.id])).filter(({ lineId }) => lineId === own?.id);
  const found = await findLicensesByIds(db, [...new Set(licenses.map(({ licenseId }) => licenseId))]);
  return found
    .filter(({ status }) => status === 'active')
    .flatMap((license) => keptKey(license, secret) ?? []);
}

/** Returns a licence's key; undefined: it is not kept, or cannot be opened. */
export function keptKey(license: License, secret: Buffer | undefined): string | undefined {
  try {
    return openKey(license.id, license, secret);
  } catch (error) {
    if (error instanceof OperatorError || error instanceof SealError) return undefined;
    throw error;
  }
}
