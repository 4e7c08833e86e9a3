import { setCustomer } from '../licensing/amend';
import type { Db } from '../store/engine/database';
import { inReadCommitted } from '../store/engine/transaction';
import { lockLicenses } from '../store/licenses/licenses';
import {
  findOrdersOfLicenses,
  listOrderLicenses,
  lockOrder,
  updateOrder,
  type Order,
} from '../store/orders/orders';
import { requireOrderCustomer } from '../orders/message';
import { nameOrderCustomer, type RecordContext } from '../orders/record';

/**
 * Sets the address of an order and of the licences that it issued. If the order had no address, its keys are mailed.
 * Otherwise the seller decides whether to mail them again. @throws OperatorError
 */
export async function setOrderCustomer(
  db: Db,
  order: Order,
  customer: { email: string; name?: string | undefined },
  context: RecordContext,
): Promise<void> {
  const { id, shop, number, customer: former } = order;
  if (former === null) return nameOrderCustomer(db, { shop, order: number }, customer, context);
  const { email, name } = requireOrderCustomer(customer);
  await inReadCommitted(db, async (trx) => {
    await lockOrder(trx, id);
    await updateOrder(trx, id, { customer: email, ...(name !== undefined && { customerName: name }) });
    const issued = (await listOrderLicenses(trx, [id])).filter(({ role }) => role === 'issued');
    const locked = await lockLicenses(
      trx,
      issued.map(({ licenseId }) => licenseId),
    );
    for (const license of locked.values())
      if (license.customer === former && email !== former)
        await setCustomer(trx, license.id, email, { ...context, order: id });
  });
}

/** Mails the keys of orders that waited for a licence's address. @returns whether a mail was queued */
export async function mailOwedKeys(
  db: Db,
  licenseId: number,
  email: string,
  context: RecordContext,
): Promise<boolean> {
  const owed = (await findOrdersOfLicenses(db, [licenseId])).filter(
    ({ role, customer, mail }) => role === 'issued' && customer === null && mail === 'key',
  );
  for (const { shop, number } of owed)
    await nameOrderCustomer(db, { shop, order: number }, { email }, context);
  return owed.length > 0 && context.mailing !== undefined;
}
