import { domainToUnicode } from 'node:url';
import { chunksOf } from '../base/chunks';
import { normalizedForms, type ActivationType, type NormalizedForms } from '../licensing/core/identifiers';
import { storedCustomer } from '../licensing/customer-email';
import { parseKeyHint } from '../licensing/core/keys';
import { findAccessesWith, lastAccessId, type LoggedAccess } from '../store/access-log';
import { activationKey, findActivationsOf } from '../store/licenses/activations';
import type { Db } from '../store/engine/database';
import {
  findLicensesByIds,
  findLicensesOfCustomers,
  listLicenses,
  type License,
} from '../store/licenses/licenses';
import type { SearchMatch } from './case-state';
import type { Name } from './finding-model';
import { emailsWithinOneTypo } from './similar-keys';
import { uniqueNonNull } from './distinct';

/** Licences that a text names exactly, nearly, or in the access log. */

/** The maximum of licences in a list to choose from. */
export const MAX_NAMED_LICENSES = 20;
/** The latest accesses that are searched for an identifier, which takes two seconds on MariaDB. */
const LATEST_ACCESSES = 1_000_000;
/** The maximum of accesses whose text contains the identifier, before the exact comparison. */
const MAX_ALIKE = 5_000;

/** Finds licences by customer, reference, end of key or activated identifier. Each is listed once, by id. */
export async function findLicensesNamed(db: Db, text: string, now: Date): Promise<SearchMatch[]> {
  const limit = MAX_NAMED_LICENSES + 1;
  const hint = parseKeyHint(text);
  const found: Record<'customer' | 'reference' | 'hint' | 'identifier', License[]> = {
    customer: await listLicenses(db, { customer: storedCustomer(text), limit }, now),
    reference: await listLicenses(db, { reference: text, limit }, now),
    hint: hint === undefined ? [] : await listLicenses(db, { hint, limit }, now),
    identifier: await findLicensesByIdentifier(db, text, limit),
  };
  const named = new Map<number, SearchMatch>();
  for (const [by, licenses] of Object.entries(found) as [Name, License[]][])
    for (const license of licenses) if (!named.has(license.id)) named.set(license.id, { license, by });
  return [...named.values()].sort((a, b) => a.license.id - b.license.id);
}

async function findLicensesByIdentifier(db: Db, text: string, limit: number): Promise<License[]> {
  const spelled = normalizedForms(text);
  const identifiers = [...new Set(Object.values(spelled))].filter((one) => one !== undefined);
  if (identifiers.length === 0) return [];
  const activations = await findActivationsOf(db, identifiers, limit);
  const licenses = await findLicensesByIds(db, uniqueNonNull(activations.map(({ licenseId }) => licenseId)));
  const isActivated = new Set(activations.map(activationKey));
  return licenses.filter(({ id, plan }) => {
    const identifier = spelled[plan.activationType as ActivationType];
    return identifier !== undefined && isActivated.has(activationKey({ licenseId: id, identifier }));
  });
}

/** Finds licences of customers whose e-mail begins with the text, or has one slip, or has its name at another provider. */
export async function findLicensesByNearEmail(db: Db, text: string): Promise<SearchMatch[]> {
  const email = storedCustomer(text);
  const limit = MAX_NAMED_LICENSES + 1;
  // A number means an id or an order.
  if (!/^\S{3,190}$/.test(email) || /^\d+$/.test(email)) return [];
  const named = (licenses: License[], by: Name) =>
    licenses.map((license) => ({ license, by })).sort((a, b) => a.license.id - b.license.id);
  const begun = await findLicensesOfCustomers(db, { beginning: email }, limit);
  const [name = '', provider] = email.split('@');
  if (begun.length > 0 || provider === undefined) return named(begun, 'beginning');
  const emails = emailsWithinOneTypo(email);
  const near: License[] = [];
  for (const among of chunksOf(emails)) {
    near.push(...(await findLicensesOfCustomers(db, { among }, limit)));
    if (near.length >= limit) break;
  }
  if (near.length > 0 || name === '') return named(near.slice(0, limit), 'near');
  return named(await findLicensesOfCustomers(db, { beginning: `${name}@` }, limit), 'provider');
}

/** Finds accesses with this identifier, newest first, and their licences. */
export async function findLogged(
  db: Db,
  text: string,
  { limit, searched = LATEST_ACCESSES }: { limit: number; searched?: number },
): Promise<{ accesses: LoggedAccess[]; licenses: License[] }> {
  const spelled = normalizedForms(text);
  const { domain, seat } = spelled;
  // The log stores identifiers as clients sent them.
  const texts = uniqueNonNull([
    seat ?? null,
    domain ?? null,
    domain === undefined ? null : domainToUnicode(domain),
  ]);
  if (texts.length === 0) return { accesses: [], licenses: [] };
  const after = (await lastAccessId(db)) - searched;
  const alike = await findAccessesWith(db, texts, { after, limit: MAX_ALIKE });
  const licenses = await findLicensesByIds(db, uniqueNonNull(alike.map(({ licenseId }) => licenseId)));
  const types = new Map(licenses.map(({ id, plan }) => [id, plan.activationType as ActivationType]));
  const accesses = alike
    .filter(({ identifier, licenseId }) =>
      isSameIdentifier(spelled, normalizedForms(identifier ?? ''), types.get(licenseId ?? 0)),
    )
    .slice(0, limit);
  const named = new Set(accesses.map(({ licenseId }) => licenseId));
  return {
    accesses,
    licenses: licenses.filter(({ id }) => named.has(id)).sort((a, b) => a.id - b.id),
  };
}

function isSameIdentifier(
  asked: NormalizedForms,
  sent: NormalizedForms,
  type: ActivationType | undefined,
): boolean {
  // An invalid identifier was refused and is logged as sent.
  if (sent.seat !== undefined && sent.seat === asked.seat) return true;
  if (sent.domain === undefined || sent.domain !== asked.domain) return false;
  // As a domain, an e-mail address would match all addresses of its provider.
  return type === undefined ? ![sent, asked].some(({ seat }) => seat?.includes('@')) : type === 'domain';
}
