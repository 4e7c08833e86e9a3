import { formatTimestamp, formatTimestampOrNull } from '../base/days';
import { jsonOf } from '../base/json';
import { listActivations } from '../store/licenses/activations';
import type { Db, Transaction } from '../store/engine/database';
import type { EventAction } from '../store/events';
import {
  countSlotsByKey,
  insertKey,
  listKeys,
  replaceKey,
  setKey,
  type KeyChanges,
  type LicenseKey,
  type NewKey,
} from '../store/licenses/license-keys';
import { setLicense, type LicenseChanges, type LockedLicense } from '../store/licenses/licenses';
import { addDuration } from './durations';
import { generateKey } from './core/keys';
import { removeActivations } from './core/ledger';
import { changeLicense, eventReason, type ChangeContext } from './lifecycle';
import { OperatorError } from './operator-error';
import { storedKey } from './sealing';
import { recordEvents } from './webhook-events';

export { listKeys, type LicenseKey };

/**
 * The keys of a licence (docs/contract.md, 3). Its main key has no limit and no end of its own, and `rekey` replaces
 * it (key rotation). Each change is an event in the licence's history.
 */

/** The maximum number of a licence's keys that have not ended. */
const MAX_KEYS = 1_000;

export interface NewKeyOptions {
  label?: string | null | undefined;
  /** 1 or more; null: the licence's limit */
  activationLimit?: number | null | undefined;
  /** null: it ends with the licence */
  endsAt?: Date | null | undefined;
}

/** A new key in plain text, and its stored form. */
export interface AddedKey {
  key: string;
  stored: LicenseKey;
}

export interface KeyUse {
  key: LicenseKey;
  isMain: boolean;
  /** the slots that it takes */
  used: number;
}

/** Lists a licence's keys with their use, oldest first, including ended keys. */
export async function keysOf(
  db: Db,
  { id, mainKeyId }: Pick<LockedLicense, 'id' | 'mainKeyId'>,
): Promise<KeyUse[]> {
  const [keys, slots] = await Promise.all([listKeys(db, id), countSlotsByKey(db, id)]);
  return keys.map((key) => {
    const isMain = key.id === mainKeyId;
    return { key, isMain, used: slots.get(isMain ? null : key.id) ?? 0 };
  });
}

/** @param secret undefined: the key is not kept */
export function addKey(
  db: Db,
  id: number,
  { label = null, activationLimit = null, endsAt = null }: NewKeyOptions,
  secret: Buffer | undefined,
  context: ChangeContext,
): Promise<AddedKey> {
  return changeKeys(db, id, async (trx, license, keys) => {
    refuseTooMany(keys, license, context);
    refusePast(endsAt, context);
    const added = await insertNew(trx, { licenseId: id, label, activationLimit, endsAt }, secret, context);
    await record(trx, license, 'add-key', context, null, termsOf(added.stored));
    return added;
  });
}

/** Changes a key; undefined keeps a value. @throws OperatorError for an ended or replaced key, or a main key's limit or end */
export function editKey(
  db: Db,
  id: number,
  keyId: number,
  changes: NewKeyOptions,
  context: ChangeContext,
): Promise<LicenseKey> {
  return changeKeys(db, id, async (trx, license, keys) => {
    const key = requireOpenKey(keys, license, keyId, context);
    if (changes.activationLimit !== undefined || changes.endsAt !== undefined) refuseMainKey(license, key);
    refusePast(changes.endsAt, context);
    const changed = { ...key, ...withoutUndefined(changes) };
    await change(trx, keys, changed);
    await record(trx, license, 'edit-key', context, termsOf(key), termsOf(changed));
    return changed;
  });
}

/**
 * Ends a key now. Its slots stay with the licence or are freed, which is also possible later for an ended key.
 * @returns the key, the identifiers that were freed, and whether it worked until now
 */
export function endKey(
  db: Db,
  id: number,
  keyId: number,
  { free }: { free: boolean },
  context: ChangeContext,
): Promise<{ key: LicenseKey; freed: string[]; wasOpen: boolean }> {
  return changeKeys(db, id, async (trx, license, keys) => {
    const key = requireKey(keys, license, keyId);
    if (!free) refuseEnded(key, context);
    refuseMainKey(license, key);
    const wasOpen = isKeyActive(key, context.now);
    const ended = { ...key, endsAt: earlier(key.endsAt, context.now) };
    await change(trx, keys, ended);
    if (wasOpen) await record(trx, license, 'end-key', context, termsOf(key), termsOf(ended));
    if (!free) return { key: ended, freed: [], wasOpen };
    const before = await listActivations(trx, id);
    const licenseWithKey = { id, keyDigest: digestOf(keys, license) };
    const identifiers = before.filter((one) => one.keyId === keyId).map(({ identifier }) => identifier);
    const asOperator = { ...context, evenHeld: true };
    await removeActivations(trx, licenseWithKey, identifiers, asOperator, recordEvents);
    const left = new Set((await listActivations(trx, id)).map(({ identifier }) => identifier));
    return {
      key: ended,
      wasOpen,
      freed: before.map(({ identifier }) => identifier).filter((identifier) => !left.has(identifier)),
    };
  });
}

export interface Rekeying {
  /** undefined: the main key */
  keyId?: number | undefined;
  /** the time for which the old key still works, such as `14d`; undefined: it ends at once */
  overlap?: string | undefined;
}

/**
 * Replaces a key with a new one that takes over its label, limit, end and activations. While both work, requests
 * with the old key count as requests with the new one.
 *
 * @param secret undefined: the new key is not kept
 */
export function rekey(
  db: Db,
  id: number,
  { keyId, overlap }: Rekeying,
  secret: Buffer | undefined,
  context: ChangeContext,
): Promise<AddedKey & { oldEndsAt: Date }> {
  return changeKeys(db, id, async (trx, license, keys) => {
    const old = requireOpenKey(keys, license, keyId ?? license.mainKeyId, context);
    if (overlap !== undefined) refuseTooMany(keys, license, context);
    const { label, activationLimit, endsAt } = old;
    const added = await insertNew(trx, { licenseId: id, label, activationLimit, endsAt }, secret, context);
    await replaceKey(trx, id, { from: old.id, to: added.stored.id });
    const oldEndsAt = earlier(
      endsAt,
      overlap === undefined ? context.now : addDuration(context.now, overlap, 'overlap'),
    );
    await setKey(trx, old.id, { endsAt: oldEndsAt });
    await record(
      trx,
      license,
      'rekey',
      context,
      { key_id: old.id, key_hint: old.keyHint },
      {
        key_id: added.stored.id,
        key_hint: added.stored.keyHint,
        ...(overlap !== undefined && { old_key_ends_at: formatTimestamp(oldEndsAt) }),
        ...eventReason(context),
      },
      old.id === license.mainKeyId ? { mainKeyId: added.stored.id } : {},
    );
    return { ...added, oldEndsAt };
  });
}

/** Runs `work` under the licence's lock, with its keys. */
async function changeKeys<T>(
  db: Db,
  id: number,
  work: (trx: Transaction, license: LockedLicense, keys: LicenseKey[]) => Promise<T>,
): Promise<T> {
  let result: T | undefined;
  await changeLicense(db, id, async (trx, license) => {
    result = await work(trx, license, await listKeys(trx, id));
  });
  return result as T;
}

async function insertNew(
  trx: Transaction,
  terms: Pick<NewKey, 'licenseId' | 'label' | 'activationLimit' | 'endsAt'>,
  secret: Buffer | undefined,
  { now }: ChangeContext,
): Promise<AddedKey> {
  const key = generateKey();
  const row: NewKey = { ...storedKey(key, secret), ...terms, createdAt: now };
  return { key, stored: { ...row, id: await insertKey(trx, row), replacedBy: null } };
}

/** Stores a key's terms. The keys that it replaced get its limit, and end no later than it. */
async function change(
  trx: Transaction,
  keys: LicenseKey[],
  { id, label, activationLimit, endsAt }: LicenseKey,
): Promise<void> {
  await setKey(trx, id, { label, activationLimit, endsAt });
  for (const old of keys.filter(({ replacedBy }) => replacedBy === id)) {
    const changes: KeyChanges = { activationLimit };
    if (endsAt !== null && old.endsAt !== null) changes.endsAt = earlier(old.endsAt, endsAt);
    await setKey(trx, old.id, changes);
  }
}

/** @throws OperatorError if the licence has no such key */
export function requireKey(keys: LicenseKey[], { id }: { id: number }, keyId: number): LicenseKey {
  const key = keys.find((one) => one.id === keyId);
  if (key) return key;
  throw new OperatorError(`Licence ${id} has no key ${keyId}.`, {
    code: 'NOT_FOUND',
    facts: { reason: 'no-key', license: id },
  });
}

function requireOpenKey(
  keys: LicenseKey[],
  license: LockedLicense,
  keyId: number,
  context: ChangeContext,
): LicenseKey {
  const key = requireKey(keys, license, keyId);
  if (key.replacedBy !== null)
    throw new OperatorError(`Key ${keyId} was replaced by key ${key.replacedBy}.`, { code: 'CONFLICT' });
  refuseEnded(key, context);
  return key;
}

function refuseEnded(key: LicenseKey, { now }: ChangeContext): void {
  if (!isKeyActive(key, now))
    throw new OperatorError(`Key ${key.id} ended on ${formatTimestampOrNull(key.endsAt) ?? ''}.`, {
      code: 'CONFLICT',
      facts: { reason: 'key-ended' },
    });
}

function refuseMainKey(license: LockedLicense, key: LicenseKey): void {
  if (key.id === license.mainKeyId)
    throw new OperatorError(
      `Key ${key.id} is the main key of licence ${license.id}. It has the licence's limit and end; rekeying replaces it.`,
      { code: 'CONFLICT', facts: { reason: 'main-key', license: license.id } },
    );
}

function refuseTooMany(keys: LicenseKey[], { id }: LockedLicense, { now }: ChangeContext): void {
  if (keys.filter((key) => isKeyActive(key, now)).length >= MAX_KEYS)
    throw new OperatorError(`Licence ${id} has ${MAX_KEYS} keys, the most that a licence can have.`, {
      code: 'CONFLICT',
    });
}

function refusePast(endsAt: Date | null | undefined, { now }: ChangeContext): void {
  if (endsAt && endsAt <= now)
    throw new OperatorError(`${formatTimestamp(endsAt)} is in the past.`, {
      code: 'INVALID_REQUEST',
      field: 'ends_at',
    });
}

/** Reports whether a key has not ended. */
export function isKeyActive({ endsAt }: Pick<LicenseKey, 'endsAt'>, now: Date): boolean {
  return endsAt === null || endsAt > now;
}

function digestOf(keys: LicenseKey[], { mainKeyId }: LockedLicense): string {
  return keys.find(({ id }) => id === mainKeyId)?.keyDigest ?? '';
}

function earlier(end: Date | null, other: Date): Date {
  return end !== null && end < other ? end : other;
}

function withoutUndefined(changes: NewKeyOptions): Partial<LicenseKey> {
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}

function termsOf(key: LicenseKey): Record<string, unknown> {
  return { key_id: key.id, ...jsonOf(key, 'keyHint', 'label', 'activationLimit', 'endsAt') };
}

/** Writes the event, and raises the licence's revision. @param changes changes of the licence's row */
async function record(
  trx: Transaction,
  { id: licenseId }: LockedLicense,
  action: EventAction,
  { actor, now: at }: ChangeContext,
  before: Record<string, unknown> | null,
  after: Record<string, unknown> | null,
  changes: LicenseChanges = {},
): Promise<void> {
  await setLicense(trx, licenseId, changes);
  await recordEvents(trx, [{ licenseId, at, actor, action, before, after }]);
}
