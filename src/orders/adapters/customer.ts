import { requireOrderCustomer, type OrderMessage } from '../message';

/**
 * Who bought, as far as it can be stored: an order is not lost for an address that cannot be.
 * @param named the name, or its parts
 */
export function customerOf(
  email: string | undefined,
  named?: string | (string | undefined)[],
  language?: string,
): OrderMessage['customer'] {
  if (email === undefined) return undefined;
  const name = [named].flat().filter(Boolean).join(' ') || undefined;
  for (const customer of [
    { email, name, language },
    { email, language },
  ])
    try {
      return requireOrderCustomer(customer);
    } catch {
      // Then without the name, or not at all.
    }
  return undefined;
}
