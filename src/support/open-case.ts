import { canonicalAddress } from '../licensing/ip-addresses';
import { parseKeyHint, canonicalKey, keyDigests } from '../licensing/core/keys';
import { isMarked, requireLicenseNamed } from '../licensing/licenses';
import { OperatorError } from '../licensing/operator-error';
import type { Db } from '../store/engine/database';
import { findKeys, resolveKey } from '../store/licenses/license-keys';
import { findLicense, findLicenseByReference, type License } from '../store/licenses/licenses';
import { findOrdersNumbered } from '../store/orders/orders';
import { inSnapshot } from '../store/engine/transaction';
import { explainReference } from './explain-license';
import { explainOrder } from './explain-orders';
import { finding } from './findings';
import type { Finding } from './finding-model';
import { support } from '../texts/operators/en/support';
import { sentenceOf } from './sentences';
import { findLicensesByNearEmail, findLicensesNamed } from './named-licenses';
import {
  openAddressCase,
  openHintCase,
  openLicenseCase,
  openListCase,
  openLoggedCase,
  openNearEmailCase,
  openOrderCase,
  openUnknownKeyCase,
  type AskedKey,
  type CaseOptions,
  type SupportCase,
} from './support-case';

declare module '../licensing/operator-error' {
  interface Refusals {
    support: { reason: 'nothing-found' };
  }
}

/**
 * Tries the meanings of a text in this order: IP address, licence id, key, other names of licences, which are listed if
 * there are several; then a shop's order, the access log, a misspelt e-mail, the end of a key, an unknown key.
 */
export function openCase(db: Db, text: string, options: CaseOptions): Promise<SupportCase> {
  // One snapshot makes the findings of several statements agree.
  return inSnapshot(db, (trx) => openMeaning(trx, text.trim(), options));
}

async function openMeaning(db: Db, written: string, options: CaseOptions): Promise<SupportCase> {
  const address = canonicalAddress(written.replace(/^\[(.*)\]$/, '$1'));
  if (address !== undefined) return openAddressCase(db, address, options);
  const key = canonicalKey(written);
  if (key === '')
    throw new OperatorError(
      'There is nothing to look for. Give a key, an e-mail address, an order or a site.',
    );
  if (isMarked(written)) {
    const named = await requireLicenseNamed(db, written);
    return openLicenseCase(db, named, options, { asked: await findAsked(db, named, options.keyId) });
  }
  const isNumber = /^\d{1,15}$/.test(written);
  const numbered = isNumber ? await findLicense(db, Number(written)) : undefined;
  if (numbered) return openNumberCase(db, numbered, written, options);
  const meant = await resolveKey(db, keyDigests(key));
  const license = meant && (await findLicense(db, meant.licenseId));
  if (license) return openLicenseCase(db, license, options, { asked: { by: 'key', text: meant.keyDigest } });
  const named = await findLicensesNamed(db, written, options.now);
  const [only, ...others] = named;
  if (only && others.length > 0) return openListCase(named);
  const end = parseKeyHint(written);
  if (only) {
    const asked: AskedKey | undefined =
      only.by === 'hint' && end !== undefined ? { by: 'hint', text: end } : undefined;
    return openLicenseCase(db, only.license, options, { asked });
  }
  const ordered = await openOrderCase(db, written, options);
  if (ordered) return ordered;
  const logged = await openLoggedCase(db, written, options);
  if (logged) return logged;
  const near = await findLicensesByNearEmail(db, written);
  const [nearest] = near;
  if (nearest) return near.length === 1 ? openNearEmailCase(db, nearest, options) : openListCase(near);
  const unknownEnd = end === undefined ? undefined : await openHintCase(db, end, options);
  if (unknownEnd) return unknownEnd;
  if (isNumber)
    throw new OperatorError(sentenceOf(support, finding('UNKNOWN_KEY', {})), {
      facts: { reason: 'nothing-found' },
    });
  return openUnknownKeyCase(db, key, options);
}

/** Finds a key of the licence, as if it had been typed. */
async function findAsked(
  db: Db,
  { id, mainKeyId }: License,
  keyId: number | undefined,
): Promise<AskedKey | undefined> {
  if (keyId === undefined || keyId === mainKeyId) return undefined;
  const [key] = await findKeys(db, [keyId]);
  return key?.licenseId === id ? { by: 'key', text: key.keyDigest } : undefined;
}

const MAX_ORDERS = 5;

/** Opens a licence by its id, with a note about orders that have the same number. */
async function openNumberCase(
  db: Db,
  license: License,
  number: string,
  options: CaseOptions,
): Promise<SupportCase> {
  const found = await openLicenseCase(db, license, options);
  const findings: Finding[] = [];
  const ordered = await findLicenseByReference(db, number);
  if (ordered !== undefined && ordered.id !== license.id) findings.push(explainReference(ordered));
  for (const order of await findOrdersNumbered(db, number, MAX_ORDERS))
    findings.push(...(await explainOrder(db, order)));
  return { ...found, findings: [...found.findings, ...findings] };
}
