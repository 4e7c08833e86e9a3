import { jsonOf } from '../base/json';
import { storedMetadata, type Metadata } from '../licensing/metadata';
import { storedKey } from '../licensing/sealing';
import { classifySites, type ClassifiedSite } from '../licensing/core/staging-sites';
import type { StoredStatus } from '../licensing/core/states';
import type { Activation } from '../store/licenses/activations';
import type { Plan } from '../store/catalogue';
import type { Transaction } from '../store/engine/database';
import { isDuplicate } from '../store/engine/errors';
import { insertEvents, type LicenseEvent } from '../store/events';
import { insertCountedInChunks, insertInChunks } from '../store/import';
import { insertLicenses } from '../store/licenses/licenses';
import { fieldsToRow } from '../store/engine/row-fields';
import { importError } from './refusals';

/** Inserts another system's licences, both for the CSV importer and for moves from a system with its own source. */

/** A licence to be inserted, with its keys and activations. */
export interface ImportedLicense {
  /** the main key in canonical form */
  key: string;
  /** further keys */
  otherKeys: AdditionalKey[];
  plan: Plan;
  status: StoredStatus;
  /** the maximum number of sites; 0 for any number */
  activationLimit: number;
  /** null if it never ends */
  expiresAt: Date | null;
  customer: string | null;
  reference: string | null;
  metadata: Metadata;
  /** the last use at the source; null if unknown */
  lastCheckAt?: Date | null;
  sites: NewSite[];
}

export interface AdditionalKey {
  /** the key in canonical form */
  key: string;
  /** null for the licence's limit */
  limit: number | null;
  /** null for the licence's end */
  endsAt: Date | null;
}

/** A site to store, and the key that activated it. */
export interface NewSite extends ClassifiedSite {
  /** the index in `otherKeys`; undefined for the main key */
  otherKey?: number | undefined;
}

export interface ImportContext {
  actor: string;
  /** the secret that seals the keys; undefined to store them without a sealed copy */
  secret: Buffer | undefined;
  now: Date;
}

/** Finds the free staging sites among a licence's identifiers. @returns all sites, and the number of slots they use */
export function classifyAll(
  plan: Plan,
  limit: number,
  identifiers: string[],
): { sites: ClassifiedSite[]; used: number } {
  const sites = classifySites(plan, limit, identifiers);
  return { sites, used: slotsOf(sites) };
}

function slotsOf(sites: ClassifiedSite[]): number {
  return sites.filter(({ free }) => !free).length;
}

/**
 * Inserts licences with their keys, their activations and the first event of their history.
 * @returns their ids, in the same order @throws OperatorError when a key or reference has just been used elsewhere
 */
export async function insertNewLicenses(
  trx: Transaction,
  added: ImportedLicense[],
  { actor, secret, now }: ImportContext,
): Promise<number[]> {
  const licenses = added.map(({ key, plan, metadata, sites, otherKeys: _others, ...license }) => ({
    ...license,
    ...storedKey(key, secret),
    planId: plan.id,
    lastCheckAt: license.lastCheckAt ?? null,
    activationsUsed: slotsOf(sites),
    metadata: storedMetadata(metadata),
    issuedBy: null,
    createdAt: now,
  }));
  try {
    const ids = await insertLicenses(trx, licenses);
    await insertEvents(
      trx,
      licenses.map((license, i): LicenseEvent => {
        const after = {
          ...jsonOf(license, 'status', 'planId', 'activationLimit', 'activationsUsed'),
          ...jsonOf(license, 'customer', 'reference', 'expiresAt'),
          ...(license.metadata !== null && { metadata: added[i]?.metadata }),
        };
        return { licenseId: ids[i] as number, at: now, actor, action: 'import', before: null, after };
      }),
    );
    const keyIds = await insertOtherKeys(
      trx,
      added.flatMap(({ otherKeys }, i) => otherKeys.map((key) => ({ ...key, licenseId: ids[i] as number }))),
      { secret, now },
    );
    let next = 0;
    const activations = added.flatMap(({ sites, otherKeys }, i) => {
      const first = next;
      next += otherKeys.length;
      return sites.map(({ otherKey, ...site }) => ({
        ...site,
        licenseId: ids[i] as number,
        keyId: otherKey === undefined ? null : (keyIds[first + otherKey] as number),
      }));
    });
    await insertSites(trx, activations, now);
    return ids;
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    throw importError('meanwhile');
  }
}

/** Inserts keys. @returns their ids, in the same order @throws a duplicate error (`isDuplicate`) when a key already exists */
export function insertOtherKeys(
  trx: Transaction,
  keys: (AdditionalKey & { licenseId: number })[],
  { secret, now }: Pick<ImportContext, 'secret' | 'now'>,
): Promise<number[]> {
  return insertCountedInChunks(
    trx,
    'license_keys',
    keys.map(({ key, licenseId, limit, endsAt }) =>
      fieldsToRow({
        ...storedKey(key, secret),
        licenseId,
        label: null,
        activationLimit: limit,
        endsAt,
        createdAt: now,
      }),
    ),
  );
}

/** Inserts activations without a name or address. The caller counts the slots. */
export async function insertSites(
  trx: Transaction,
  sites: (ClassifiedSite & Pick<Activation, 'licenseId' | 'keyId'>)[],
  now: Date,
): Promise<void> {
  const rows = sites.map((site): Activation => {
    return { ...site, name: null, ip: null, heldUntil: null, activatedAt: now };
  });
  if (rows.length > 0) await insertInChunks(trx, 'activations', rows.map(fieldsToRow));
}
