import type { Link } from './sold';
import { setCustomer, changePlan, setLimit } from '../licensing/amend';
import { issueOrdered } from '../licensing/issue';
import { changeState, setEnd, type ChangeContext } from '../licensing/lifecycle';
import { setAllReturned } from '../store/licenses/licenses';
import type { Transaction } from '../store/engine/database';
import { saveProfile } from '../store/customer-profiles';
import {
  insertOrderEvent,
  insertOrderLicenses,
  insertOrderLines,
  updateOrder,
  setOrderEvent,
  setOrderLicense,
  setOrderLine,
} from '../store/orders/orders';
import { deleteUnmatched, insertUnmatchedOnce } from '../store/orders/unmatched';
import type { Change, Ref } from './decision';
import type { Draft } from './draft';
import type { RecordContext } from './facts';
import { noteFailedPayment } from './failed-payments';
import { queueKeys } from './key-mails';

/** Writes a decision about an order. Nothing is judged here. */

export interface Applied {
  /** returns the id of a row that the decision added; for other rows their own id */
  idOf: (ref: Ref) => number;
  /** the new licences' keys, by licence id */
  keys: Map<number, string>;
}

interface Writing extends Applied {
  trx: Transaction;
  draft: Draft;
  ids: Map<Ref, number>;
  context: RecordContext;
}

export async function applyDecision(
  trx: Transaction,
  { draft, changes }: { draft: Draft; changes: Change[] },
  context: RecordContext,
): Promise<Applied> {
  const ids = new Map<Ref, number>();
  const idOf = (ref: Ref) => (ref < 0 ? (ids.get(ref) as number) : ref);
  const writing: Writing = { trx, draft, context, ids, idOf, keys: new Map() };
  for (let i = 0; i < changes.length;) {
    // Write consecutive lines, or consecutive links to licences, in one statement.
    const { type } = changes[i] as Change;
    const end =
      type === 'add_line' || type === 'link'
        ? changes.findIndex((one, j) => j > i && one.type !== type)
        : i + 1;
    const next = end === -1 ? changes.length : end;
    const some = changes.slice(i, next);
    if (type === 'add_line') await addLines(writing, some as Of<'add_line'>[]);
    else if (type === 'link') await addLinks(writing, some as Of<'link'>[]);
    else await apply(writing, some[0] as Change);
    i = next;
  }
  return writing;
}

type Of<Type extends Change['type']> = Extract<Change, { type: Type }>;

function addIds({ ids }: Writing, some: { id: Ref }[], added: number[]): void {
  some.forEach(({ id }, i) => ids.set(id, added[i] as number));
}

async function addLines(writing: Writing, some: Of<'add_line'>[]): Promise<void> {
  const rows = some.map(({ line }) => line);
  addIds(writing, some, await insertOrderLines(writing.trx, rows));
}

async function addLinks(writing: Writing, some: Of<'link'>[]): Promise<void> {
  const { trx, idOf } = writing;
  const rows = some.map(({ link: { plans, ...link } }) => ({
    ...link,
    lineId: idOf(link.lineId),
    licenseId: idOf(link.licenseId),
    plansJson: JSON.stringify(plans),
  }));
  addIds(writing, some, await insertOrderLicenses(trx, rows));
}

async function issue(writing: Writing, { licenses, planId, limit, end }: Of<'issue'>): Promise<void> {
  const { trx, context, keys } = writing;
  const { customer, owner } = writing.draft.order;
  const issued = await issueOrdered(
    trx,
    {
      planId,
      references: licenses.map(({ reference }) => reference),
      activationLimit: limit,
      customer: customer ?? undefined,
      issuedBy: owner ?? undefined,
      ...end,
    },
    context.actor,
    context.secret,
    context.now,
  );
  addIds(
    writing,
    licenses,
    issued.map(({ license }) => license.id),
  );
  for (const { license, key } of issued) if (key !== undefined) keys.set(license.id, key);
}

async function apply(writing: Writing, change: Change): Promise<unknown> {
  const { trx, draft, context, idOf } = writing;
  const { order } = draft;
  const because = (reason?: string): ChangeContext => ({
    actor: context.actor,
    now: context.now,
    order: order.id,
    reason,
  });
  switch (change.type) {
    case 'set_order':
      return updateOrder(trx, order.id, change.changes);
    case 'tell_profile':
      return saveProfile(trx, change.email, { name: change.name, language: change.language }, change.at);
    case 'name_customer':
      return setCustomer(trx, change.license, change.email, because());
    case 'set_line':
      return setOrderLine(trx, idOf(change.id), change.changes);
    case 'issue':
      return issue(writing, change);
    case 'set_link':
      return setOrderLicense(trx, idOf(change.id), linkColumns(change.changes));
    case 'set_end':
      return setEnd(trx, idOf(change.license), change.end, {
        ...because(change.reason),
        isRenewal: change.isRenewal,
      });
    case 'change_plan':
      return changePlan(trx, idOf(change.license), change.planId, {
        ...because(change.reason),
        otherProduct: true,
      });
    case 'set_limit':
      return setLimit(trx, idOf(change.license), change.limit, because(change.reason));
    case 'set_returned':
      return setAllReturned(trx, idOf(change.license), change.allReturned);
    case 'suspend':
    case 'reinstate':
    case 'cancel':
      return changeState(trx, idOf(change.license), change.type, because(change.reason));
    case 'add_event':
      return insertOrderEvent(trx, change.event);
    case 'set_event':
      return setOrderEvent(trx, change.id, change.changes);
    case 'keep_unmatched':
      return insertUnmatchedOnce(trx, {
        shop: order.shop,
        orderId: order.id,
        messageId: null,
        digest: change.digest,
        event: change.event,
        reason: change.reason,
        at: change.at,
      });
    case 'drop_unmatched':
      return deleteUnmatched(trx, change.ids);
    case 'mail_keys':
      return (
        context.mailing && queueKeys(trx, order, change.licenses.map(idOf), context.mailing, context.now)
      );
    case 'note_failed_payment':
      return noteFailedPayment(trx, order, { ...change, licenses: change.licenses.map(idOf) }, context);
    case 'add_line':
    case 'link':
  }
}

function linkColumns({ state, plans }: Partial<Pick<Link, 'state' | 'plans'>>) {
  const columns: { state?: Link['state']; plansJson?: string } = {};
  if (state !== undefined) columns.state = state;
  if (plans !== undefined) columns.plansJson = JSON.stringify(plans);
  return columns;
}
