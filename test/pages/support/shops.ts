import { receive } from '../../../src/orders/inbox';
import type { ParsedMessage } from '../../../src/orders/parsed-message';
import { addShop, mapSku } from '../../../src/orders/shops';
import type { Db } from '../../../src/store/engine/database';
import { SHOP, SHOP_NOW, shopSettings } from '../../support/sample-shop';

/** Gives the sample shop a receiver with a message of each kind, an order that issued, and an order that waits. */
export async function giveShops(db: Db): Promise<void> {
  const keySecret = Buffer.from(shopSettings().LICENSING_KEY_SECRET, 'base64');
  const context = { actor: 'operator:root', now: SHOP_NOW, keySecret };
  await addShop(db, 'stripe', { kind: 'stripe', secret: 'whsec_of_the_sample' }, context);
  await addShop(db, 'fair-2026', { test: true }, context);
  await mapSku(
    db,
    'stripe',
    { sku: 'plink_1Q2W3E4R5T6Z7U8I', planId: SHOP.plans.agency25, quantity: 'slots' },
    context,
  );
  const customer = { email: SHOP.studio.email, name: 'Studio Nord' };
  const paid = (number: string, sku: string): ParsedMessage['event'] => ({
    ...{ event: 'paid', at: SHOP_NOW, order: { number }, customer },
    lines: [{ line: '1', sku, quantity: 2 }],
  });
  const messages: Omit<ParsedMessage, 'id'>[] = [
    {
      type: 'checkout.session.completed',
      event: paid('pi_3PqRsTuVwXyZ012345678901', 'plink_1Q2W3E4R5T6Z7U8I'),
    },
    {
      type: 'checkout.session.completed',
      event: paid('pi_3PqRsTuVwXyZ012345678902', 'price_not_mapped_yet'),
    },
    { type: 'payment_intent.succeeded', note: 'unused' },
    {
      type: 'charge.refunded',
      event: { event: 'refunded', at: SHOP_NOW, order: { of: 'pi_of_another_shop' } },
    },
  ];
  for (const [i, message] of messages.entries())
    await receive(
      db,
      'stripe',
      { ...message, id: `evt_${i}` },
      { now: SHOP_NOW, secret: keySecret, graceDays: 3 },
    );
}
