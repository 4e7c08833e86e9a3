import { chunksOf } from '../base/chunks';
import { containsKey } from '../licensing/core/keys';
import { requireEmail } from '../licensing/customer-email';
import { personOf } from '../mail/customer-profile';
import type { CustomerLanguage } from '../texts/customers/languages';
import { requireLabel } from '../licensing/fields';
import { OperatorError } from '../licensing/operator-error';
import { recordEvents } from '../licensing/webhook-events';
import { queueMail, type Mailing } from '../mail/queue';
import { customerDigest } from '../store/customer-digest';
import {
  deleteProfile,
  findProfile,
  lockProfile,
  setProfile,
  type CustomerProfile,
} from '../store/customer-profiles';
import { findLicenseIdsOf } from '../store/customers';
import type { Db, Transaction } from '../store/engine/database';
import { lockLicenses, moveLicenses } from '../store/licenses/licenses';
import { findOrderIdsOf, moveOrders } from '../store/orders/orders';
import { deleteWaitingMails, moveMails, moveWaitingMails } from '../store/outbox';
import { deleteVisits, findSessionTraces } from '../store/personal-data';
import { moveLinks } from '../store/orders/shop-messages';
import { moveNoticeMails } from '../store/security-notices';
import { inReadCommitted } from '../store/engine/transaction';
import { isKnown } from './customer-address';
import { throwCustomerNotFound, resolveCustomer } from './customer-list';

declare module '../licensing/operator-error' {
  interface Refusals {
    /** `id`: the id of the other customer. */
    privacy: { reason: 'customer-exists'; id: string };
  }
}

/** Changes of a customer's data by a seller: address, language, name and note. A customer changes the language. */

export interface CustomerChanges {
  email?: string | undefined;
  /** null for the language that was last reported */
  language?: CustomerLanguage | null | undefined;
  name?: string | null | undefined;
  /** the seller's note; null removes it */
  note?: string | null | undefined;
  /** if `email` belongs to another customer: true merges both */
  join?: boolean | undefined;
}

export interface CustomerContext {
  actor: string;
  now: Date;
  /** undefined if mail is not set up */
  mailing: Mailing | undefined;
}

export interface ChangedCustomer {
  id: string;
  customer: string;
  name: string | null;
  language: CustomerLanguage | null;
  note: string | null;
  /** the numbers of licences and orders that got the new address */
  moved: { licenses: number; orders: number };
}

/**
 * Changes a customer in one transaction. A new address applies to licences, orders, name, language and waiting mails.
 * It ends the sessions of the old address, notifies both addresses, and is recorded in the history of each licence.
 * @throws OperatorError: NOT_FOUND; CONFLICT (`customer-exists`) if the address belongs to another customer
 */
export async function changeCustomer(
  db: Db,
  idOrAddress: string,
  changes: CustomerChanges,
  context: CustomerContext,
): Promise<ChangedCustomer> {
  const from = await resolveCustomer(db, idOrAddress);
  const to = changes.email === undefined ? from : requireNewAddress(changes.email);
  const { language: chosenLanguage, name, note } = changes;
  const chosen = {
    chosenLanguage,
    chosenName: name && requireLabel(name, 'name'),
    note: note && requireNote(note),
  };
  return inReadCommitted(db, async (trx) => {
    if (!(await isKnown(trx, from))) return throwCustomerNotFound();
    const moved = { licenses: 0, orders: 0 };
    if (to !== from) {
      if (!changes.join && (await isKnown(trx, to)))
        throw new OperatorError('This address belongs to another customer. Merge the two customers?', {
          code: 'CONFLICT',
          field: 'email',
          facts: { reason: 'customer-exists', id: customerDigest(to) },
        });
      Object.assign(moved, await moveCustomer(trx, from, to, context));
    }
    const profile = await lockProfile(trx, to);
    await setProfile(trx, profile.id, chosen);
    const { address, digest } = profile;
    const changed = await findProfile(trx, to);
    return {
      id: digest,
      customer: address,
      ...personOf(changed),
      note: changed?.note ?? null,
      moved,
    };
  });
}

/** The maximum length of a note, which is that of its column. */
const MAX_NOTE_LENGTH = 1_000;

function requireNote(text: string): string | null {
  const note = text.replaceAll('\r\n', '\n').trim();
  const refuse = (message: string) => new OperatorError(message, { code: 'INVALID_REQUEST', field: 'note' });
  if (Array.from(note).length > MAX_NOTE_LENGTH || !note.isWellFormed() || /[^\P{Cc}\n\t]/u.test(note))
    throw refuse(`It must be at most ${MAX_NOTE_LENGTH} characters.`);
  if (containsKey(note)) throw refuse('It must not contain a licence key.');
  return note === '' ? null : note;
}

function requireNewAddress(text: string): string {
  return requireLabel(requireEmail(text, 'email'), 'email');
}

/** Moves a customer. It locks orders, customers and then licences, each by id, like all code that locks several of them. */
async function moveCustomer(
  trx: Transaction,
  from: string,
  to: string,
  context: CustomerContext,
): Promise<ChangedCustomer['moved']> {
  let orders = await moveOrdersOf(trx, from, to);
  const profiles = new Map<string, CustomerProfile>();
  for (const address of [from, to].sort()) profiles.set(address, await lockProfile(trx, address));
  // Move the orders again that were recorded before the customer was locked.
  orders += await moveOrdersOf(trx, from, to);
  const ids = await findLicenseIdsOf(trx, from);
  let licenses = 0;
  for (const some of chunksOf(ids)) licenses += await moveSome(trx, some, from, to, context);
  await moveLinks(trx, from, to);
  await moveWaitingMails(trx, 'order_keys', from, to);
  await deleteWaitingMails(trx, 'customer_link', from);
  // End sessions by mail: another person may read the old address's mails. Sessions by key continue, as the key is valid.
  await deleteVisits(trx, await findSessionTraces(trx, [from], [], []));
  const [theirs, others] = [profiles.get(from), profiles.get(to)] as [CustomerProfile, CustomerProfile];
  await deleteProfile(trx, from);
  await setProfile(trx, others.id, joined(theirs, others));
  if (context.mailing !== undefined) {
    const { language } = personOf(theirs);
    const mail = { now: context.now, language: language ?? context.mailing.language };
    const licenseId = ids[0] ?? null;
    await queueMail(trx, { type: 'address_old', email: from, licenseId }, mail);
    await queueMail(trx, { type: 'address_new', email: to, licenseId }, mail);
  }
  await moveMails(trx, from, to);
  return { licenses, orders };
}

async function moveOrdersOf(trx: Transaction, from: string, to: string): Promise<number> {
  const ids = await findOrderIdsOf(trx, from);
  for (const some of chunksOf(ids)) await moveOrders(trx, some, from, to);
  return ids.length;
}

async function moveSome(
  trx: Transaction,
  ids: number[],
  from: string,
  to: string,
  { actor, now }: CustomerContext,
): Promise<number> {
  const locked = [...(await lockLicenses(trx, ids)).values()].filter(({ customer }) => customer === from);
  const own = locked.map(({ id }) => id);
  if (own.length === 0) return 0;
  await moveLicenses(trx, own, to);
  await moveNoticeMails(trx, own, from, to);
  await recordEvents(
    trx,
    own.map((licenseId) => ({
      licenseId,
      at: now,
      actor,
      action: 'set-customer',
      // Keep the former address in the history, so that it is still recognised as this customer's (`findFormer`).
      before: { customer: from },
      after: { customer: to, moved: true },
    })),
  );
  return own.length;
}

/** Merges two customers. The remaining address's own choices come first; of reported data, the latest counts. */
function joined(theirs: CustomerProfile, others: CustomerProfile) {
  const isLater = others.toldAt === null || (theirs.toldAt !== null && theirs.toldAt > others.toldAt);
  const [first, second] = isLater ? [theirs, others] : [others, theirs];
  return {
    name: first.name ?? second.name,
    language: first.language ?? second.language,
    toldAt: first.toldAt ?? second.toldAt,
    chosenName: others.chosenName ?? theirs.chosenName,
    chosenLanguage: others.chosenLanguage ?? theirs.chosenLanguage,
    note: joinedNote(others.note, theirs.note),
  };
}

/** Joins two notes, cut to the column's length. */
function joinedNote(first: string | null, second: string | null): string | null {
  const both = [...new Set([first, second])].filter((note) => note !== null).join('\n');
  return both === '' ? null : Array.from(both).slice(0, MAX_NOTE_LENGTH).join('');
}
