import { DAY_MS, formatTimestampOrNull } from '../base/days';
import { inBothForms } from '../licensing/core/identifiers';
import { API_PATH, myPageUrl } from '../licensing/api';
import { supportMonth } from '../licensing/durations';
import { adviceLines, securityLines } from '../licensing/changelog';
import { updateSites, updateSiteNames, readCatalogue } from '../licensing/bundles';
import { findEmail } from '../licensing/customer-email';
import { readPerson } from './customer-profile';
import { requireProduct } from '../licensing/find-or-throw';
import { openKey } from '../licensing/issue';
import { findLicense, type License } from '../licensing/licenses';
import { listKeys } from '../licensing/license-keys';
import { OperatorError } from '../licensing/operator-error';
import { SealError } from '../licensing/sealing';
import { isTerminalStatus, liveStatus, paidUntil } from '../licensing/core/states';
import { coversRelease, hasNothingPaid } from '../licensing/core/verdict';
import { withSameFix } from '../licensing/same-fix';
import { readBranches } from '../licensing/updates';
import type { Db } from '../store/engine/database';
import { saveProfile } from '../store/customer-profiles';
import { findLicensesByIds } from '../store/licenses/licenses';
import { findOrder } from '../store/orders/orders';
import type { OutboxRow } from '../store/outbox';
import { findShop } from '../store/orders/shops';
import type { Product } from '../store/catalogue';
import { findReleaseById, listFixLinks, type Release } from '../store/releases';
import { inReadCommitted } from '../store/engine/transaction';
import { findWebhook } from '../store/webhooks';
import { isNoticeType, type MailDetails, type MailRequest, type MailType } from './queue';
import { openReply } from './answers';
import { plainMail, renderMail, type KeyLine, type MailContent, type Values } from './render';
import { CUSTOMERS, type CustomerLanguage } from '../texts/customers/languages';
import { tellStanding } from '../texts/customers/sentences';
import type { MailSettings } from './settings';
import { readMailText, type TextFolders, type TextName } from './texts';
import type { ComposeFailure } from '../texts/operators/failures';

export interface ComposerSettings {
  /** the site's address, which all links in mails to customers begin with */
  publicUrl: string;
  /** the address of the operator's pages */
  operatorUrl: string;
  shopName: string;
  texts: TextFolders;
  keySecret: Buffer | undefined;
  createCode: CreateCode;
}

/** The parts of the configuration that composing mails needs. */
export interface MailConfig {
  mail: MailSettings | undefined;
  publicUrl: string | undefined;
  operatorUrl: string | undefined;
  shopName: string;
  mailTexts: TextFolders;
  keySecret: Buffer | undefined;
}

/** Returns what composing mails needs; undefined if mail is off. */
export function composerOf(config: MailConfig, createCode: CreateCode): ComposerSettings | undefined {
  const { mail, publicUrl, operatorUrl = publicUrl, keySecret, mailTexts: texts } = config;
  if (mail === undefined || publicUrl === undefined || operatorUrl === undefined) return undefined;
  return { publicUrl, operatorUrl, keySecret, createCode, texts, shopName: shopNameOf(config) };
}

/** The data for writing mails, even if none can be sent. */
export interface Letterhead {
  texts: TextFolders;
  shopName: string;
  /** the site's address; if undefined, lines with links are left out */
  publicUrl: string | undefined;
  /** for customers whose own language is unknown */
  language: CustomerLanguage;
}

export function letterheadOf(
  config: Pick<MailConfig, 'mail' | 'publicUrl' | 'shopName' | 'mailTexts'> & {
    mailLanguage: CustomerLanguage;
  },
): Letterhead {
  const { mailTexts: texts, mailLanguage: language, publicUrl } = config;
  return { texts, language, publicUrl, shopName: shopNameOf(config) };
}

/** Returns the name that signs mails: the seller's, otherwise the sender's, otherwise the site's host. */
function shopNameOf({
  mail,
  shopName,
  publicUrl = 'https://localhost',
}: Pick<MailConfig, 'mail' | 'shopName' | 'publicUrl'>): string {
  return shopName || (mail?.from.name ?? new URL(publicUrl).hostname);
}

/**
 * Makes the one-time code of a link. Each attempt to send a link calls it, so that no waiting mail contains a code.
 * @returns undefined if the address is unknown
 */
type CreateCode = (
  codeFor: { kind: 'customer' | 'operator'; email: string },
  now: Date,
) => Promise<string | undefined>;

export interface ComposedMail extends MailContent {
  to: string;
  /** with angle brackets */
  messageId: string;
}

/** `obsolete`: the mail is no longer needed. `failed`: it can never be sent; the code is the reason. */
export type ComposeResult = { mail: ComposedMail } | { obsolete: true } | { failed: ComposeFailure };
/** The time after which a link that could not be sent is obsolete. */
const LINK_LIFETIME_MS = 60 * 60 * 1000;

/** Composes a queued mail from the present data. */
export async function composeMail(
  db: Db,
  row: OutboxRow,
  settings: ComposerSettings,
  now: Date,
): Promise<ComposeResult> {
  const details = (row.detailsJson === null ? {} : JSON.parse(row.detailsJson)) as MailDetails;
  const type = row.type as MailType;
  if (type === 'customer_link' || type === 'operator_link') return composeLink(db, row, type, settings, now);
  if (type === 'webhook_disabled') return composeDisabled(db, row, details, settings);
  if (type === 'order_keys') return composeKeys(db, row, details, settings, now);
  if (type === 'payment_failed') return composeFailedPayment(db, row, details, settings, now);
  if (type === 'answer') return composeAnswer(row, details, settings);
  if (isNoticeType(type)) return composeSecurity(db, row, details, settings, now);
  if (type === 'address_new' || type === 'address_old') return composeAddress(db, row, type, settings);
  const license = row.licenseId === null ? undefined : await findLicense(db, row.licenseId);
  if (license === undefined) return { obsolete: true };
  if (type === 'reminder' && !isStillDue(license, details, now)) return { obsolete: true };
  // Skip a licence that was revoked or cancelled after the mail was queued.
  if (type === 'license_key' && isTerminalStatus(liveStatus(license, now))) return { obsolete: true };
  const to = findEmail(license.customer ?? '');
  if (to === undefined) return { failed: 'NO_CUSTOMER' };
  const spoken = await inTheirLanguage(db, row, to);
  const { text, values } = await contentOf(db, type, license, details, {
    secret: settings.keySecret,
    language: spoken.language as CustomerLanguage,
    now,
  });
  if (text === undefined) return { failed: 'KEY_UNKNOWN' };
  return finish(
    spoken,
    to,
    text,
    { ...(await valuesOf(db, license, spoken, settings)), ...values },
    settings,
  );
}

/** Returns the row with the customer's present language, otherwise its own. */
async function inTheirLanguage(db: Db, row: OutboxRow, address: string): Promise<OutboxRow> {
  const { language } = await readPerson(db, address);
  return { ...row, language: language ?? row.language };
}

async function composeLink(
  db: Db,
  row: OutboxRow,
  type: 'customer_link' | 'operator_link',
  settings: ComposerSettings,
  now: Date,
): Promise<ComposeResult> {
  const { recipient: to } = row;
  if (to === null || now.getTime() - row.createdAt.getTime() >= LINK_LIFETIME_MS) return { obsolete: true };
  const { publicUrl, operatorUrl } = settings;
  const [kind, pages] =
    type === 'customer_link'
      ? (['customer', `${publicUrl}${API_PATH}/pages/my`] as const)
      : (['operator', `${operatorUrl}${API_PATH}/pages`] as const);
  const code = await settings.createCode({ kind, email: to }, now);
  if (code === undefined) return { obsolete: true };
  const values = { link: `${pages}/enter/${code}` };
  if (type === 'operator_link') return finish(row, to, type, values, settings);
  // Store the language now instead of at the request, whose duration would reveal known addresses.
  await inReadCommitted(db, (trx) => saveProfile(trx, to, { language: row.language }, row.createdAt));
  return finish(await inTheirLanguage(db, row, to), to, type, values, settings);
}

/** Composes the notice of a security release, unless the release was withdrawn or the licence stopped in the meantime. */
async function composeSecurity(
  db: Db,
  row: OutboxRow,
  { release_id: releaseId = 0 }: MailDetails,
  settings: ComposerSettings,
  now: Date,
): Promise<ComposeResult> {
  const license = row.licenseId === null ? undefined : await findLicense(db, row.licenseId);
  const release = await findNoticed(db, releaseId);
  if (license === undefined || release === undefined) return { obsolete: true };
  if (STOPPED.includes(liveStatus(license, now)) || hasNothingPaid(license, now)) return { obsolete: true };
  const to = findEmail(license.customer ?? '');
  if (to === undefined) return { failed: 'NO_CUSTOMER' };
  // The seller may have given ended licences the security releases after the mail was queued.
  const isCovered =
    (row.type === 'security_release' && release.id === releaseId) ||
    coversRelease(license, release, now, await readBranches(db, release.productId));
  const product = await requireProduct(db, release.productId);
  const values = {
    ...securityValues(product, release, settings.publicUrl),
    renew_url: (await requireProduct(db, license.product.id)).renewUrl ?? undefined,
  };
  const text = isCovered ? 'security_release' : 'security_notice';
  return finish(await inTheirLanguage(db, row, to), to, text, values, settings);
}

/**
 * Finds the release that a notice is about. If it was withdrawn, a notified one with the same fix replaces it: its notice
 * skipped the customers whose mail was still waiting.
 */
async function findNoticed(db: Db, releaseId: number): Promise<Release | undefined> {
  const told = await findReleaseById(db, releaseId);
  if (told === undefined || told.state === 'published') return told;
  const other = withSameFix(await listFixLinks(db, told.productId), releaseId).find(
    ({ state, security, notifiedAt }) => state === 'published' && security && notifiedAt !== null,
  );
  return other && findReleaseById(db, other.id);
}

/** The maximum number of lines from the changelog. A mail is read at a glance; the customer's page has the rest. */
const MAX_LINES = 20;

/** Returns the values for the notice of a security release. @param publicUrl if undefined, the mail has no link */
export function securityValues(
  { name, supportUrl }: Product,
  { version, changelog, cve, advisory }: Release,
  publicUrl: string | undefined,
): Values {
  const list = (lines: string[]) => (lines.length === 0 ? undefined : lines);
  return {
    product: name,
    version,
    cve: cve.length === 0 ? undefined : cve.join(', '),
    advisory: list(adviceLines(advisory)),
    fixed: list(securityLines(changelog).slice(0, MAX_LINES)),
    support_url: supportUrl ?? undefined,
    my_url: publicUrl === undefined ? undefined : myPageUrl(publicUrl),
  };
}

/** Composes the mail about a new address. It does not name the other address, which may belong to a stranger. */
async function composeAddress(
  db: Db,
  row: OutboxRow,
  type: 'address_new' | 'address_old',
  settings: ComposerSettings,
): Promise<ComposeResult> {
  const { recipient: to, licenseId } = row;
  if (to === null) return { obsolete: true };
  const license = licenseId === null ? undefined : await findLicense(db, licenseId);
  const { support_url, my_url } = license
    ? await valuesOf(db, license, row, settings)
    : { support_url: undefined, my_url: myPageUrl(settings.publicUrl) };
  return finish(await inTheirLanguage(db, row, to), to, type, { support_url, my_url }, settings);
}

/** Composes a seller's reply, with its text unchanged. */
function composeAnswer(
  { recipient: to, messageId, language }: OutboxRow,
  details: MailDetails,
  { keySecret, publicUrl, shopName: shop }: ComposerSettings,
): ComposeResult {
  if (to === null) return { obsolete: true };
  const text = openAnswerOrNone(details, keySecret);
  if (text === undefined) return { failed: 'ANSWER_UNKNOWN' };
  const content = plainMail(text, { shop, language: language as CustomerLanguage });
  return { mail: { ...content, to, messageId: idOf(messageId, publicUrl) } };
}

function openAnswerOrNone(details: MailDetails, secret: Buffer | undefined) {
  try {
    return openReply(details, secret);
  } catch (error) {
    if (error instanceof SealError) return undefined;
    throw error;
  }
}

/** Composes the mail about a disabled webhook receiver. It omits the receiver's URL, which may contain a secret. */
async function composeDisabled(
  db: Db,
  row: OutboxRow,
  { webhook_id: id = 0 }: MailDetails,
  settings: ComposerSettings,
): Promise<ComposeResult> {
  const webhook = await findWebhook(db, id);
  if (webhook === undefined || row.recipient === null || webhook.disabledAt === null)
    return { obsolete: true };
  const values = {
    name: webhook.description ?? new URL(webhook.url).host,
    link: `${settings.operatorUrl}${API_PATH}/pages/webhooks/${id}`,
  };
  return finish(row, row.recipient, 'webhook_disabled', values, settings);
}

const STOPPED: readonly string[] = ['suspended', 'cancelled', 'revoked'];

/** Composes the mail with the keys of an order's licences, except licences that were stopped in the meantime. */
async function composeKeys(
  db: Db,
  row: OutboxRow,
  { license_ids: ids = [] }: MailDetails,
  settings: ComposerSettings,
  now: Date,
): Promise<ComposeResult> {
  const { recipient } = row;
  const licenses = (await findLicensesByIds(db, ids))
    .filter(({ status }) => !STOPPED.includes(status))
    .sort((a, b) => a.id - b.id);
  const [first] = licenses;
  if (first === undefined || recipient === null) return { obsolete: true };
  const spoken = await inTheirLanguage(db, row, recipient);
  const { sentences } = CUSTOMERS[spoken.language as CustomerLanguage];
  const keys: KeyLine[] = [];
  for (const license of licenses) {
    const key = revealKey(license, settings.keySecret);
    if (key === undefined) return { failed: 'KEY_UNKNOWN' };
    const { product, plan } = license;
    const endsAt = paidUntil(license);
    const hasEnded = liveStatus(license, now) === 'expired';
    const end =
      endsAt !== null && (hasEnded || endsAt > now) ? `, ${sentences.runs({ endsAt, hasEnded })}` : '';
    keys.push({ what: `${product.name} (${plan.name})${end}`, key });
  }
  const products = [...new Set(licenses.map(({ product }) => product.name))].join(', ');
  const { support_url, my_url } = await valuesOf(db, first, spoken, settings);
  const support_until = await supportOfAll(db, licenses, spoken.language as CustomerLanguage);
  const values = { products, support_url, my_url, support_until, keys: '' };
  return finish(spoken, recipient, 'order_keys', values, settings, keys);
}

function supportOf(
  { supportUntil }: Pick<Product, 'supportUntil'>,
  language: CustomerLanguage,
): string | undefined {
  return supportUntil === null ? undefined : supportMonth(supportUntil, CUSTOMERS[language].language);
}

/** Returns the end of the support period of an order's products, by name if there are several. */
async function supportOfAll(
  db: Db,
  licenses: License[],
  language: CustomerLanguage,
): Promise<string | undefined> {
  const ids = [...new Set(licenses.map(({ product }) => product.id))];
  const products = await Promise.all(ids.map((id) => requireProduct(db, id)));
  const ends = products.flatMap((product) => {
    const end = supportOf(product, language);
    return end === undefined ? [] : [ids.length === 1 ? end : `${product.name}: ${end}`];
  });
  return ends.length === 0 ? undefined : ends.join(', ');
}

/** Composes the mail about a failed payment, with the page where to pay. It is obsolete once the payment has arrived. */
async function composeFailedPayment(
  db: Db,
  row: OutboxRow,
  { license_ids: ids = [], end }: MailDetails,
  settings: ComposerSettings,
  now: Date,
): Promise<ComposeResult> {
  const order = row.orderId === null ? undefined : await findOrder(db, { id: row.orderId });
  const billingUrl = order && (await findShop(db, order.shop))?.billingUrl;
  const licenses = (await findLicensesByIds(db, ids)).filter(({ status }) => !STOPPED.includes(status));
  const unpaid = licenses
    .filter((license) => (formatTimestampOrNull(paidUntil(license)) ?? '') <= (end ?? ''))
    .sort((a, b) => a.id - b.id);
  const [first] = unpaid;
  if (order === undefined || !billingUrl || first === undefined) return { obsolete: true };
  const to = findEmail(order.customer ?? '');
  if (to === undefined) return { failed: 'NO_CUSTOMER' };
  const spoken = await inTheirLanguage(db, row, to);
  const { day } = CUSTOMERS[spoken.language as CustomerLanguage].language;
  const { support_url, my_url } = await valuesOf(db, first, spoken, settings);
  const paid = paidUntil(first);
  const values = {
    products: [...new Set(unpaid.map(({ product }) => product.name))].join(', '),
    billing_url: billingUrl,
    paid_until: paid === null ? undefined : day(paid),
    ends: isAhead(first.expiresAt, now) ? day(first.expiresAt) : undefined,
    support_url,
    my_url,
  };
  return finish(spoken, to, 'payment_failed', values, settings);
}

/** Reports whether a reminder still applies: the licence does not renew automatically, and its end has not changed. */
function isStillDue(license: License, { days_before, end }: MailDetails, now: Date): boolean {
  if (license.renewsItself) return false;
  const status = liveStatus(license, now);
  const isFit = status === 'active' || (days_before === 0 && status === 'expired');
  return isFit && formatTimestampOrNull(license.expiresAt) === end;
}

async function contentOf(
  db: Db,
  type: Extract<MailRequest['type'], 'license_key' | 'reminder' | 'key_changed' | 'site_removed'>,
  license: License,
  { days_before: days, key_id: keyId, site, test_sites: testSites = [] }: MailDetails,
  { secret, language, now }: { secret: Buffer | undefined; language: CustomerLanguage; now: Date },
): Promise<{ text: TextName | undefined; values?: Values }> {
  const { day } = CUSTOMERS[language].language;
  switch (type) {
    case 'license_key': {
      const key = revealKey(license, secret);
      if (key === undefined) return { text: undefined };
      const entries = updateSites(await readCatalogue(db), license.product.id);
      const names = updateSiteNames(entries);
      return {
        text: type,
        values: {
          ...validityOf(license, language, now),
          key,
          support_until: supportOf(await requireProduct(db, license.product.id), language),
          ...(entries.length > 1 ? { entries: names } : { entry: names }),
        },
      };
    }
    case 'reminder':
      return days === 0
        ? { text: 'reminder_ended' }
        : { text: type, values: { days: String(daysLeft(license, now)) } };
    case 'key_changed': {
      const keys = await listKeys(db, license.id);
      const newId = keyId ?? license.mainKeyId;
      const key = keys.find(({ id }) => id === newId);
      const oldEndsAt = keys.find(
        ({ replacedBy, endsAt }) => replacedBy === newId && isAhead(endsAt, now),
      )?.endsAt;
      return {
        text: type,
        values: {
          ...validityOf(license, language, now),
          key_hint: key?.keyHint ?? '-',
          old_key_ends: oldEndsAt ? day(oldEndsAt) : undefined,
        },
      };
    }
    case 'site_removed':
      return {
        text: type,
        values: {
          ...validityOf(license, language, now),
          site: inBothForms(site ?? '-', license.plan.activationType),
          test_sites:
            testSites.length === 0
              ? undefined
              : testSites.map((one) => inBothForms(one, license.plan.activationType)).join(', '),
        },
      };
  }
}

/** Returns the values that tell whether a licence works: one that does not is never valid until a day. */
function validityOf(license: License, language: CustomerLanguage, now: Date): Values {
  const { language: written, sentences } = CUSTOMERS[language];
  const { activationType } = license.plan;
  const paid = paidUntil(license);
  switch (liveStatus(license, now)) {
    case 'active':
      // A subscription that awaits its renewal continues after its paid-through date.
      return isAhead(paid, now) ? {} : { ends: undefined };
    case 'expired':
      return { ends: undefined, ended: paid === null ? undefined : written.day(paid) };
    case 'suspended':
      return {
        ends: undefined,
        suspended: tellStanding(sentences, { code: 'SUSPENDED' }, activationType).sentence,
      };
    default:
      return { ends: undefined };
  }
}

function isAhead(at: Date | null, now: Date): at is Date {
  return at !== null && at > now;
}

/** Returns the days until the licence ends, from now, because the mail may have waited for the mail server. */
function daysLeft({ expiresAt }: License, now: Date): number {
  return Math.ceil(((expiresAt as Date).getTime() - now.getTime()) / DAY_MS);
}

function revealKey(license: License, secret: Buffer | undefined): string | undefined {
  try {
    return openKey(license.id, license, secret);
  } catch (error) {
    if (error instanceof OperatorError || error instanceof SealError) return undefined;
    throw error;
  }
}

async function valuesOf(
  db: Db,
  license: License,
  { language }: OutboxRow,
  settings: ComposerSettings,
): Promise<Values> {
  const { product, plan } = license;
  const paid = paidUntil(license);
  const { renewUrl, supportUrl } = await requireProduct(db, product.id);
  return {
    product: product.name,
    plan: plan.name,
    ends: paid === null ? undefined : CUSTOMERS[language as CustomerLanguage].language.day(paid),
    renew_url: renewUrl ?? undefined,
    support_url: supportUrl ?? undefined,
    my_url: myPageUrl(settings.publicUrl),
  };
}

function finish(
  { language: asked, messageId }: Pick<OutboxRow, 'language' | 'messageId'>,
  to: string,
  text: TextName,
  values: Values,
  { texts, shopName, publicUrl }: Pick<ComposerSettings, 'texts' | 'shopName' | 'publicUrl'>,
  keys: KeyLine[] = [],
): { mail: ComposedMail } {
  const said = { ...values, shop: shopName };
  const language = asked as CustomerLanguage;
  const rendered = renderMail(readMailText(texts, text, language), said, language, keys);
  return { mail: { ...rendered, to, messageId: idOf(messageId, publicUrl) } };
}

function idOf(messageId: string, publicUrl: string): string {
  return `<${messageId}@${new URL(publicUrl).hostname}>`;
}

/** Composes the mail of `licensing mail test`. @param messageId a random text */
export function composeTest(
  to: string,
  { language, messageId }: { language: CustomerLanguage; messageId: string },
  settings: Pick<ComposerSettings, 'texts' | 'shopName' | 'publicUrl'>,
): ComposedMail {
  return finish({ language, messageId }, to, 'test', {}, settings).mail;
}
