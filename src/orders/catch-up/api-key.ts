import { openSealedKey } from '../../licensing/sealing';
import type { Shop } from '../../store/orders/shops';

/** Returns the context in which a key is sealed: it opens only in its shop's row, and only as an API key. */
export function sealedAsKeyOf({ name }: Pick<Shop, 'name'>): string {
  return `API key of shop ${name}`;
}

/** Opens a shop's API key. @throws SealError if it was sealed with another LICENSING_KEY_SECRET */
export function openApiKey(
  shop: Pick<Shop, 'name' | 'apiKeySealed'>,
  secret: Buffer | undefined,
): string | undefined {
  if (shop.apiKeySealed === null || secret === undefined) return undefined;
  return openSealedKey(shop.apiKeySealed, sealedAsKeyOf(shop), secret);
}
