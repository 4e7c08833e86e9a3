import type { Db } from '../store/engine/database';
import { listReceiverShops } from '../store/orders/shops';
import { openApiKey } from './catch-up/api-key';
import { ADAPTERS } from './adapters';
import type { ShopAdapter } from './adapters/adapter';
import { ifOpens, openShopSecret, type Shop } from './shops';

export interface KnownReceiver {
  /** a ShopKind (orders/shop-kinds.ts) */
  kind: string;
  adapter: ShopAdapter;
  /** null if none is entered yet; undefined if LICENSING_KEY_SECRET is missing or differs, so that it cannot be opened */
  secret: string | null | undefined;
  /** for the sender's API; undefined if none exists or it cannot be opened */
  apiKey: string | undefined;
}

/** The age at which the list is read again, so that every instance knows a new receiver within two seconds. */
const KEPT_MS = 1_000;

function secretOf(shop: Shop, keySecret: Buffer | undefined): KnownReceiver['secret'] {
  if (shop.secretSealed === null) return null;
  return keySecret && ifOpens(() => openShopSecret(shop, keySecret));
}

/**
 * Caches the receivers, so that an unsigned message causes no database query. The list is read again if a message
 * arrives and the list is a second old. While the database is unavailable, the old list remains in use.
 */
export function createReceiverList(
  db: Db,
  keySecret: Buffer | undefined,
): (name: string) => Promise<KnownReceiver | undefined> {
  let known: Promise<ReadonlyMap<string, KnownReceiver>> | undefined;
  let readAt = -Infinity;

  async function read(): Promise<ReadonlyMap<string, KnownReceiver>> {
    const shops = await listReceiverShops(db);
    return new Map(
      shops.map((shop) => {
        const adapter = ADAPTERS[shop.kind as keyof typeof ADAPTERS];
        const apiKey = ifOpens(() => openApiKey(shop, keySecret));
        return [shop.name, { kind: shop.kind, adapter, secret: secretOf(shop, keySecret), apiKey }];
      }),
    );
  }

  return async (name) => {
    if (performance.now() - readAt >= KEPT_MS) {
      const before = known;
      readAt = performance.now();
      known = read().catch((error: unknown) => {
        if (before === undefined) {
          readAt = -Infinity;
          throw error;
        }
        return before;
      });
    }
    return (await known)?.get(name);
  };
}
