import { openSealedKey } from '../../licensing/sealing';
import type { Shop } from '../../store/orders/shops';

/** So that a sealed key opens only in its shop's row, and only as its key. */
export function sealedAsKeyOf({ name }: Pick<Shop, 'name'>): string {
  return `API key of shop ${name}`;
}

/** @throws SealError when it was sealed with another LICENSING_KEY_SECRET */
export function openApiKey(
  shop: Pick<Shop, 'name' | 'apiKeySealed'>,
  secret: Buffer | undefined,
): string | undefined {
  if (shop.apiKeySealed === null || secret === undefined) return undefined;
  return openSealedKey(shop.apiKeySealed, sealedAsKeyOf(shop), secret);
}
