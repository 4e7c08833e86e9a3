import { formatTimestamp } from '../base/days';
import { requireHttpsUrl, requireLabel, requireWholeNumber } from '../licensing/fields';
import { requirePlan } from '../licensing/find-or-throw';
import { OperatorError } from '../licensing/operator-error';
import { keepsOrigin, openSealedKey, SealError, sealKey, secretElsewhere } from '../licensing/sealing';
import { jsonOf } from '../base/json';
import type { Db } from '../store/engine/database';
import { isDuplicate } from '../store/engine/errors';
import {
  deleteShop,
  deleteSkus,
  findShop,
  findSkus,
  insertShop,
  insertSku,
  listShops,
  listSkus,
  PLAIN_SHOP,
  setShop,
  setSkuQuantity,
  type Shop,
  type ShopSku,
} from '../store/orders/shops';
import { giveOrders } from '../store/orders/orders';
import { deleteRefusedDays } from '../store/orders/shop-refusals';
import { inTransaction } from '../store/engine/transaction';
import { sealedAsKeyOf } from './catch-up/api-key';
import { listOf } from './catch-up/list';
import { catchUpJson } from './catch-up/standing';
import { orderError, requireShopName } from './message';
import { skuDigest } from './names';
import { ADAPTERS } from './adapters';
import { cleanCopied, copyFault, type SecretLook } from './adapters/secrets';
import { readRules, requireRule, storedRules } from './rules';
import { isPosting, mailOf, MAX_GRACE_DAYS, type ShopKind, type ShopMail } from './shop-kinds';

/** Shops: their kind and secrets, the plans of their article numbers, and the effects of their events. */

export { findShop, listShops, listSkus, type Shop, type ShopSku };

/** The meaning of a quantity of three: three licences, or one licence with three times the slots. */
export const SKU_QUANTITIES = ['licenses', 'slots'] as const;
export type SkuQuantity = (typeof SKU_QUANTITIES)[number];

const MAX_SECRET_BYTES = 500;
const BATCH_SIZE = 500;

interface ShopSettings {
  kind?: ShopKind | undefined;
  /** the secret that the sender signs with */
  secret?: string | undefined;
  test?: boolean | undefined;
  /** null if test orders issue nothing */
  testPlanId?: number | null | undefined;
  /** the name of the `issue` tokens that own its orders */
  token?: string | undefined;
  /** effects by event; missing events keep theirs */
  rules?: Record<string, string> | undefined;
  /** which mails customers get; by default unchanged, at first as the kind requires */
  mail?: ShopMail | undefined;
  /** the key for the sender's API; null removes it */
  apiKey?: string | null | undefined;
  /** the URL of a shop that runs on a website of its own; null if unknown */
  siteUrl?: string | null | undefined;
  /** in days; null for LICENSING_GRACE_DAYS */
  graceDays?: number | null | undefined;
  /** an https URL; null if customers are not notified of failed payments */
  billingUrl?: string | null | undefined;
}

interface ShopContext {
  actor: string;
  now: Date;
  /** LICENSING_KEY_SECRET, which encrypts secrets */
  keySecret: Buffer | undefined;
}

/** Adds a shop. Its secret may follow, because senders show it for an address. @throws OperatorError if the shop exists */
export async function addShop(
  db: Db,
  name: string,
  settings: ShopSettings,
  context: ShopContext,
): Promise<Shop> {
  const earlier = await findShop(db, requireShopName(name));
  // Set up a shop that is only known because it posted orders.
  if (earlier !== undefined && earlier.createdBy !== null) throw exists(name);
  const changes = await requireSettings(db, earlier ?? { ...PLAIN_SHOP, name }, settings, context);
  const made = { ...changes, createdBy: context.actor };
  try {
    if (earlier === undefined) await insertShop(db, { ...PLAIN_SHOP, name, ...made, createdAt: context.now });
    else await setShop(db, earlier.id, made);
  } catch (error) {
    throw isDuplicate(error) ? exists(name) : error;
  }
  return requireShop(db, name);
}

function exists(name: string): OperatorError {
  return new OperatorError(`A shop ${name} already exists.`, { code: 'CONFLICT', field: 'name' });
}

export async function editShop(
  db: Db,
  name: string,
  settings: ShopSettings,
  context: ShopContext,
): Promise<Shop> {
  const shop = await requireShop(db, name);
  const changes = await requireSettings(db, shop, settings, context);
  await setShop(db, shop.id, { ...changes, createdBy: shop.createdBy ?? context.actor });
  if (changes.owner !== null && changes.owner !== shop.owner)
    while (await giveOrders(db, name, changes.owner, BATCH_SIZE));
  return requireShop(db, name);
}

async function requireSettings(
  db: Db,
  shop: Omit<Shop, 'id' | 'createdBy' | 'createdAt'>,
  {
    kind = shop.kind as ShopKind,
    secret,
    test,
    testPlanId,
    token,
    rules = {},
    mail = shop.mail as ShopMail,
    graceDays = shop.graceDays,
    billingUrl = shop.billingUrl,
    ...access
  }: ShopSettings,
  { keySecret }: ShopContext,
): Promise<
  Pick<Shop, 'kind' | 'secretSealed' | 'isTest' | 'testPlanId' | 'rulesJson' | 'owner' | 'mail'> &
    Pick<Shop, 'apiKeySealed' | 'siteUrl' | 'graceDays' | 'billingUrl'>
> {
  if (typeof testPlanId === 'number') await requirePlan(db, testPlanId);
  const secretSealed = requireSecret(shop, kind, secret, keySecret);
  const changed = Object.entries(rules).map(([event, effect]) => requireRule(event, effect, 'rules'));
  return {
    kind,
    secretSealed,
    ...requireApiAccess(shop, kind, access, keySecret),
    mail,
    graceDays:
      graceDays === null ? null : requireWholeNumber(graceDays, { most: MAX_GRACE_DAYS, field: 'grace' }),
    billingUrl: billingUrl === null ? null : requireHttpsUrl(billingUrl, 'billing_url'),
    isTest: test ?? shop.isTest,
    testPlanId: testPlanId === undefined ? shop.testPlanId : testPlanId,
    owner: token === undefined ? shop.owner : requireOwner(kind, token),
    rulesJson: storedRules({ ...readRules(shop), ...Object.fromEntries(changed) }),
  };
}

/** Checks the owning token. @throws OperatorError for a receiver, which owns its orders itself */
function requireOwner(kind: ShopKind, token: string): string {
  if (kind in ADAPTERS)
    throw orderError('The orders of a receiver come from its messages, not from a token.', 'token');
  return requireLabel(token, 'token');
}

function requireSecret(
  shop: Pick<Shop, 'name' | 'kind' | 'secretSealed'>,
  kind: ShopKind,
  secret: string | undefined,
  keySecret: Buffer | undefined,
): string | null {
  const refused = (message: string) => orderError(message, 'secret');
  if (isPosting(kind)) {
    if (secret !== undefined)
      throw refused(`A shop of the kind "${kind}" posts with a token, and has no secret.`);
    return null;
  }
  if (keySecret === undefined) throw noKeySecret();
  if (secret === undefined) {
    // Another kind of sender needs another secret, and the old one may be invalid for it.
    if (shop.secretSealed !== null && kind !== shop.kind)
      throw refused(`A receiver of the kind "${kind}" needs the secret it signs with.`);
    return shop.secretSealed;
  }
  const text = cleanSecret(kind, secret);
  if (text === '' || Buffer.byteLength(text) > MAX_SECRET_BYTES || /\p{Cc}/u.test(text))
    throw refused(`It must be 1 to ${MAX_SECRET_BYTES} bytes on one line.`);
  const fault = ADAPTERS[kind].secretFault?.(text);
  if (fault !== undefined) throw refused(fault);
  return sealKey(text, sealedFor(shop), keySecret);
}

/** Checks the access to the sender's API: a key, and the website of a shop that runs on its own. @throws OperatorError */
function requireApiAccess(
  shop: Pick<Shop, 'name' | 'kind' | 'apiKeySealed' | 'siteUrl'>,
  kind: ShopKind,
  { apiKey, siteUrl }: Pick<ShopSettings, 'apiKey' | 'siteUrl'>,
  keySecret: Buffer | undefined,
): Pick<Shop, 'apiKeySealed' | 'siteUrl'> {
  const list = listOf(kind);
  if (typeof apiKey === 'string' && list === undefined)
    throw orderError(`A shop of the kind "${kind}" keeps no list that an API key could read.`, 'api_key');
  if (typeof siteUrl === 'string' && list?.isOnSite !== true)
    throw orderError(`A shop of the kind "${kind}" has no site to ask.`, 'site_url');
  // Drop the key of another kind of sender.
  const before = kind === shop.kind ? shop : { apiKeySealed: null, siteUrl: null };
  const site = siteUrl === undefined ? before.siteUrl : siteUrl && requireSite(siteUrl);
  if (apiKey === undefined && before.apiKeySealed !== null && !keepsOrigin(site, before.siteUrl))
    throw secretElsewhere('api_key');
  if (list === undefined || typeof apiKey !== 'string')
    return { apiKeySealed: apiKey === undefined ? before.apiKeySealed : null, siteUrl: site };
  const text = cleanCopied(apiKey);
  const look = apiKeyLook(kind, apiKey);
  if (look !== undefined) throw orderError(`${KEY_LOOKS[look]} ${list.keyNeeds}`.trim(), 'api_key');
  if (keySecret === undefined) throw noKeySecret();
  return { apiKeySealed: sealKey(text, sealedAsKeyOf(shop), keySecret), siteUrl: site };
}

const KEY_LOOKS = {
  cut: 'It is incomplete: dots, bullets or asterisks hide a part of it.',
  twice: 'Its beginning appears twice.',
  secret: 'It looks like a secret that messages are signed with.',
  public_key: 'It looks like a public key.',
  other: '',
};

/** Returns the kind of a text that cannot be an API key of this sender; undefined if it can. */
export function apiKeyLook(kind: string, copied: string): keyof typeof KEY_LOOKS | undefined {
  const text = cleanCopied(copied);
  const fault = copyFault(text);
  if (fault !== undefined) return fault;
  if (listOf(kind)?.key.test(text) === true) return undefined;
  if (/^(?:whsec|pdl_ntfset)_/.test(text)) return 'secret';
  return /^pk_|^(?:live|test)_[0-9a-f]{27}$/.test(text) ? 'public_key' : 'other';
}

/** Checks a website's URL. @throws OperatorError */
function requireSite(text: string): string {
  const url = new URL(requireHttpsUrl(text, 'site_url'));
  return `${url.origin}${url.pathname}`;
}

function noKeySecret(): OperatorError {
  return new OperatorError(
    'LICENSING_KEY_SECRET is not set: without it a secret cannot be kept. "licensing init" makes one.',
  );
}

type ReceiverKind = keyof typeof ADAPTERS;

/** Extracts the secret from a text that was copied from a sender's settings. */
function cleanSecret(kind: ReceiverKind, copied: string): string {
  const text = copied.trim();
  return ADAPTERS[kind].cleanSecret?.(text) ?? text;
}

/** Returns the kind of a text that cannot be a secret of this sender; undefined if it can. */
export function secretLook(kind: string, copied: string): SecretLook | undefined {
  const known = kind as ReceiverKind;
  return Object.hasOwn(ADAPTERS, kind) ? ADAPTERS[known].secretLook?.(cleanSecret(known, copied)) : undefined;
}

/** Returns the context in which a secret is sealed: it opens only in its shop's row. */
function sealedFor({ name }: Pick<Shop, 'name'>): string {
  return `shop ${name}`;
}

/** Opens the secret that a sender signs with. @throws SealError if it was sealed with another LICENSING_KEY_SECRET */
export function openShopSecret(
  shop: Pick<Shop, 'name' | 'secretSealed'>,
  keySecret: Buffer,
): string | undefined {
  return shop.secretSealed === null
    ? undefined
    : openSealedKey(shop.secretSealed, sealedFor(shop), keySecret);
}

/** Opens a sealed text; undefined if it was sealed with another LICENSING_KEY_SECRET. */
export function ifOpens<T>(open: () => T): T | undefined {
  try {
    return open();
  } catch (error) {
    if (error instanceof SealError) return undefined;
    throw error;
  }
}

/** Reports whether a receiver's secret can be opened. */
export function canOpenSecret(
  shop: Pick<Shop, 'name' | 'secretSealed'>,
  keySecret: Buffer | undefined,
): boolean {
  return keySecret !== undefined && ifOpens(() => openShopSecret(shop, keySecret)) !== undefined;
}

declare module '../licensing/operator-error' {
  interface Refusals {
    orders:
      | { reason: 'no-shop' | 'no-order' | 'no-unmatched' }
      | { reason: 'unmatched-done' | 'pays-nothing' | 'other-order'; unmatched: number }
      | { reason: 'no-keys' | 'no-address'; order: number };
  }
}

/** Returns a shop. @throws OperatorError (404) */
export async function requireShop(db: Db, name: string): Promise<Shop> {
  const shop = /^[a-z0-9_-]+$/.test(name) ? await findShop(db, name) : undefined;
  if (shop !== undefined) return shop;
  throw new OperatorError(
    'There is no such shop. A shop is known once it is added, or has posted an order.',
    { code: 'NOT_FOUND', facts: { reason: 'no-shop' } },
  );
}

/** Removes a shop with its secret, article map and rules. Its orders and their licences stay. */
export async function removeShop(db: Db, name: string): Promise<Shop> {
  const shop = await requireShop(db, name);
  await inTransaction(db, async (trx) => {
    await deleteShop(trx, shop);
    await deleteRefusedDays(trx, shop.name);
  });
  return shop;
}

/**
 * Maps an article to a plan, in addition to the plans that it is already mapped to. Then call `runWaiting`.
 * @returns the entry; `isNew` is false if it existed
 */
export async function mapSku(
  db: Db,
  name: string,
  { sku, planId, quantity }: { sku: string; planId: number; quantity: SkuQuantity },
  { now }: { now: Date },
): Promise<{ entry: ShopSku; isNew: boolean }> {
  const shop = await requireShop(db, name);
  const article = requireLabel(sku, 'sku');
  await requirePlan(db, planId);
  const awaited = skuDigest(shop.name, article);
  const find = async () => (await findSkus(db, [awaited])).find((entry) => entry.planId === planId);
  const earlier = await find();
  if (earlier === undefined)
    try {
      await insertSku(db, { shop: shop.name, sku: article, awaited, planId, quantity, createdAt: now });
    } catch (error) {
      if (!isDuplicate(error)) throw error;
    }
  else if (earlier.quantity !== quantity) await setSkuQuantity(db, earlier.id, quantity);
  return { entry: (await find()) as ShopSku, isNew: earlier === undefined };
}

/** Removes an article from the map. @throws OperatorError (404) if it is not mapped */
export async function unmapSku(db: Db, name: string, sku: string): Promise<void> {
  const shop = await requireShop(db, name);
  if ((await deleteSkus(db, skuDigest(shop.name, sku.trim()))) === 0)
    throw new OperatorError(`Shop ${name} has no such article in its map.`, { code: 'NOT_FOUND' });
}

export function shopJson(shop: Shop) {
  return {
    id: shop.id,
    name: shop.name,
    kind: shop.kind,
    verifies: shop.secretSealed !== null,
    test: shop.isTest,
    test_plan_id: shop.testPlanId,
    token: shop.owner,
    rules: readRules(shop),
    mail: mailOf(shop),
    has_api_key: shop.apiKeySealed !== null,
    site_url: shop.siteUrl,
    catch_up: catchUpJson(shop),
    grace: shop.graceDays,
    billing_url: shop.billingUrl,
    created_at: formatTimestamp(shop.createdAt),
  };
}

export function skuJson(entry: ShopSku) {
  return jsonOf(entry, 'id', 'sku', 'planId', 'quantity', 'createdAt');
}
