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
  /** null: it has none yet; undefined: it cannot be opened, because LICENSING_KEY_SECRET is another one now or is not set */
  secret: string | null | undefined;
  /** for its sender's API; undefined: it has none that can be opened */
  apiKey: string | undefined;
}

/** A new receiver works in every instance within two seconds. */
const KEPT_MS = 1_000;

function secretOf(shop: Shop, keySecret: Buffer | undefined): KnownReceiver['secret'] {
  if (shop.secretSealed === null) return null;
  return keySecret && ifOpens(() => openShopSecret(shop, keySecret));
}

/**
 * Knows the receivers, so that a message is verified before the database is asked anything for it. They are read again
 * when a message comes and they are a second old; while the database is away, they count as they were.
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
